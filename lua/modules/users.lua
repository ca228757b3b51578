-- Users: reading what a caller sent of them, creating and changing them.
local contract = require('contract')
local ledger = require('ledger')
local partition = require('partition')
local plans = require('plans')
local time = require('time')
local field, outcome = contract.field, contract.outcome

local users = {}

-- Fields in which nothing stored and an empty text mean the same: the caller has cleared them.
local clearable = { [field.tz] = true, [field.deviceTokens] = true }

-- The fields that a user's profile is made of, apart from attributes.
local profile_fields = {
  [field.created] = true,
  [field.updated] = true,
  [field.name] = true,
  [field.email] = true,
  [field.tz] = true,
  [field.subscribeToEmails] = true,
  [field.deviceTokens] = true,
  [field.control] = true,
}

-- The properties that the caller sent, as a list of fields and a map from field to text; nil when there are none. They are `pairs_count`
-- pairs of arguments from `first` on. The second result is where the arguments after them start.
function users.read_patch(args, pairs_count, first)
  local count = tonumber(pairs_count)
  if count == 0 then
    return nil, first
  end
  local fields, values = {}, {}
  for i = 1, count do
    local name = args[first + 2 * i - 2]
    fields[i] = name
    values[name] = args[first + 2 * i - 1]
  end
  return { fields = fields, values = values }, first + 2 * count
end

-- One HMGET of `fields` and of what is patched. Returns the row of `fields`, with the patch laid over it, and the patch's stored values.
-- A patch that says `subscribeToEmails` needs the e-mail address as well, which comes last.
function users.fetch(key, fields, patch)
  if not patch then
    return redis.call('HMGET', key, unpack(fields))
  end
  local all, count = {}, #fields
  for i = 1, count do
    all[i] = fields[i]
  end
  for i, name in ipairs(patch.fields) do
    all[count + i] = name
  end
  all[#all + 1] = field.email
  local row = redis.call('HMGET', key, unpack(all))
  local stored = {}
  for i, name in ipairs(patch.fields) do
    stored[name] = row[count + i]
  end
  patch.stored, patch.email = stored, row[#all]
  for i = 1, count do
    row[i] = patch.values[fields[i]] or row[i]
  end
  return row
end

-- Whether the patch asks for e-mails to a user who ends up without an address.
function users.lacks_email(patch)
  if not patch or patch.values[field.subscribeToEmails] ~= '1' then
    return false
  end
  return not (patch.values[field.email] or patch.email)
end

local function is_control(plan, user)
  if plan.controlRatio <= 0 then
    return '0'
  end
  local share = tonumber(redis.sha1hex(user):sub(1, 8), 16) / 4294967296
  return share < plan.controlRatio and '1' or '0'
end

-- Adds to `set` what the patch changes, and for a new user what every user has. Returns whether the profile changed.
function users.stage(part, plan, user, exists, patch, now, set)
  local changed = not exists
  if not exists then
    local defaults = { field.created, now, field.subscribeToEmails, '1', field.control, is_control(plan, user) }
    for _, value in ipairs(defaults) do
      set[#set + 1] = value
    end
    redis.call('HINCRBY', part.meta, 'users', 1)
  end
  for _, name in ipairs(patch and patch.fields or {}) do
    local before, after = patch.stored[name], patch.values[name]
    local nothing_to_clear = clearable[name] and not before and after == ''
    if before ~= after and not nothing_to_clear then
      set[#set + 1] = name
      set[#set + 1] = after
      changed = true
    end
  end
  if changed then
    set[#set + 1] = field.updated
    set[#set + 1] = now
  end
  return changed
end

-- The whole profile of a user as it now is, from field to text.
function users.profile(key)
  local all = redis.call('HGETALL', key)
  local profile = {}
  for i = 1, #all, 2 do
    local name = all[i]
    if profile_fields[name] or name:sub(1, #field.attribute) == field.attribute then
      profile[name] = all[i + 1]
    end
  end
  return profile
end

local identify_fields = { field.created, field.rev }

local function refusal(mode, exists, patch)
  if mode == 'create' and exists then
    return outcome.userExists
  end
  if mode == 'update' and not exists then
    return outcome.userUnknown
  end
  return users.lacks_email(patch) and outcome.emailRequired or nil
end

-- Creates or changes a user and answers with the whole profile.
local function identify(keys, args)
  local position = contract.arg.identify
  local part, context = partition.enter(keys, args)
  if not part then
    return context
  end
  local plan = plans.get(part, context.plan)
  if not plan then
    return { outcome.unknownPlan }
  end
  local user = args[position.user]
  local key = part.user .. user
  local patch = users.read_patch(args, args[position.patchPairs], position.rest)
  local row = users.fetch(key, identify_fields, patch)
  local refused = refusal(args[position.mode], row[1], patch)
  if refused then
    return { refused }
  end
  local now = string.format('%.0f', time.now(part, context))
  local set = {}
  if not users.stage(part, plan, user, row[1], patch, now, set) then
    return { outcome.ok, cmsgpack.pack(users.profile(key)) }
  end
  local rev = tonumber(row[2] or 0) + 1
  redis.call('HSET', key, field.rev, rev, unpack(set))
  local profile = users.profile(key)
  ledger.append(part, { kind = 'user', id = args[position.entryId], user = user, at = tonumber(now), rev = rev, profile = profile })
  return { outcome.ok, cmsgpack.pack(profile) }
end

-- Every field of a user, and the newest awards of one points system.
local function read_user(keys, args)
  local position = contract.arg.readUser
  local part, context = partition.enter(keys, args)
  if not part then
    return context
  end
  local user, system = args[position.user], args[position.system]
  local all = redis.call('HGETALL', part.user .. user)
  if #all == 0 then
    return { outcome.userUnknown }
  end
  local awards = {}
  if system ~= '' then
    awards = redis.call('LRANGE', part.awards .. system .. ':' .. user, 0, tonumber(args[position.awards]) - 1)
  end
  return { outcome.ok, all, awards }
end

function users.register()
  redis.register_function(contract.name .. '_identify', identify)
  redis.register_function({ function_name = contract.name .. '_readUser', callback = read_user, flags = { 'no-writes' } })
end

return users
