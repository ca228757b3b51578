-- Users: the properties that callers send, and what they change.
local contract = require('contract')
local devices = require('devices')
local leaderboards = require('leaderboards')
local points = require('points')
local streaks = require('streaks')
local time = require('time')
local transaction = require('transaction')
local core, field, outcome, record = contract.core, contract.field, contract.outcome, contract.record

local users = {}

-- The positions in the core of properties that are not in the record of the profile.
local core_places = {
  [field.created] = core.created,
  [field.createdDay] = core.createdDay,
  [field.tz] = core.tz,
  [field.streakPreferences] = core.streakPreferences,
  [field.signUpDay] = core.signUpDay,
}
local ATTRIBUTE = field.attribute
local NONE = {}

-- What is stored of a property, this call's changes included; false or nil for nothing.
function users.property(tx, name)
  if core_places[name] then
    local value = tx.core[core_places[name]]
    return type(value) == 'number' and string.format('%d', value) or value
  elseif name == field.name then
    return transaction.name(tx)
  elseif name:sub(1, #ATTRIBUTE) == ATTRIBUTE then
    return transaction.get(tx, record.attributes)[name:sub(#ATTRIBUTE + 1)]
  end
  return transaction.get(tx, record.profile)[name]
end

function users.set_property(tx, name, value)
  if name == field.signUpDay then
    tx.core[core.signUpDay] = tonumber(value) or false
  elseif core_places[name] then
    tx.core[core_places[name]] = value
  elseif name == field.name then
    transaction.set_name(tx, value)
  elseif name:sub(1, #ATTRIBUTE) == ATTRIBUTE then
    transaction.change(tx, record.attributes)[name:sub(#ATTRIBUTE + 1)] = value
  else
    transaction.change(tx, record.profile)[name] = value
  end
end

-- Fields in which nothing stored and an empty text mean the same: the caller has cleared them.
local clearable = { [field.name] = true, [field.email] = true, [field.tz] = true, [field.deviceTokens] = true, [field.signUpDay] = true }

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
  return { fields = fields, values = values, stored = {} }, first + 2 * count
end

-- Whether the patch subscribes a user to e-mails who ends up without an address.
local function lacks_email(tx)
  local patch = tx.patch
  if not patch or patch.values[field.subscribeToEmails] ~= '1' then
    return false
  end
  local email = patch.values[field.email] or users.property(tx, field.email)
  return not email or email == ''
end

-- The local day in the patch's time zone; the transaction's when the patch has none.
local function day_after_patch(tx)
  local zone = tx.patch and tx.patch.values[field.tz]
  if not zone then
    return tx.day
  end
  return time.today(tx, zone ~= '' and zone or tx.plan.zone, tx.now)
end

-- Whether the patch changes the date of signing up to one after `day`. A stored date may be: a move west puts it there.
local function signs_up_after(tx, day)
  local sent = tx.patch and tx.patch.values[field.signUpDay]
  return sent and sent ~= '' and tonumber(sent) > day and sent ~= users.property(tx, field.signUpDay)
end

local function is_control(plan, user)
  if plan.controlRatio <= 0 then
    return '0'
  end
  local share = tonumber(redis.sha1hex(user):sub(1, 8), 16) / 4294967296
  return share < plan.controlRatio and '1' or '0'
end

local function create(tx, day)
  local all, profile = tx.core, transaction.change(tx, record.profile)
  all[core.created], all[core.createdDay], all[core.newestDay] = tx.now, day, day
  profile[field.subscribeToEmails], profile[field.control] = '1', is_control(tx.plan, tx.user)
  all[core.segment] = tx.part.segment > 0 and tx.part.segment or false
  tx.exists, tx.created, tx.created_day, tx.reschedules = tx.now, true, day, true
end

-- Notes the user's day: all that days bring up to it has been done, under the plan of the transaction.
local function note_day(tx)
  if tx.day > (tx.core[core.settledDay] or tx.created_day) then
    tx.core[core.settledDay] = tx.day
  end
end

-- Notes the user's day before a move, which may lead back to it. What time triggers and anniversaries owe for days that the move skips is
-- dated at the move.
function users.reach_day(tx)
  if #tx.plan.timeTriggers > 0 or #tx.plan.anniversaries > 0 then
    tx.core[core.movedAt] = tx.now
  end
  note_day(tx)
end

-- Notes that the date of signing up changes: anniversaries up to this day are no longer to come (settle.lua completes them).
local function sign_up(tx)
  if not tx.created then
    note_day(tx)
  end
  tx.signed_up, tx.reschedules = true, true
end

-- Applies the patch to the user: a new user is created, and paid for that. Notes what was stored before, and whether the profile has
-- changed. Returns the length of the shown streak before.
function users.apply_patch(tx)
  if not tx.patch and tx.exists then
    return streaks.length(tx)
  end
  if lacks_email(tx) then
    return nil, { outcome.emailRequired }
  end
  local day, refusal = day_after_patch(tx)
  if refusal then
    return nil, refusal
  end
  if signs_up_after(tx, day) then
    return nil, { outcome.signUpDateTooLate }
  end
  local streak_before = streaks.length(tx)
  local changed = not tx.exists
  if changed then
    create(tx, day)
  end
  local patch = tx.patch
  for _, name in ipairs(patch and patch.fields or {}) do
    local before, after = users.property(tx, name), patch.values[name]
    local nothing_to_clear = clearable[name] and not before and after == ''
    if before ~= after and not nothing_to_clear then
      patch.stored[name] = before or false
      if name == field.tz and not tx.created then
        users.reach_day(tx)
        streaks.move(tx, transaction.zone(tx), after)
        tx.reschedules = true
      elseif name == field.signUpDay and #tx.plan.anniversaries > 0 then
        sign_up(tx)
      elseif name == field.deviceTokens then
        tx.devices, refusal = devices.change(tx, before, after)
        if refusal then
          return nil, refusal
        end
      end
      users.set_property(tx, name, after)
      changed = true
    end
  end
  if tx.day ~= day then
    tx.day = day
    streaks.settle(tx)
  end
  if changed then
    transaction.change(tx, record.profile)[field.updated] = string.format('%d', tx.now)
  end
  tx.profile_changed = changed
  if tx.created then
    points.earn_creation(tx)
  end
  return streak_before
end

-- The whole profile of a user as it will be after the commit, from property to text.
function users.profile(tx)
  local profile = {}
  for name, value in pairs(transaction.get(tx, record.profile)) do
    profile[name] = value
  end
  for no, value in pairs(transaction.get(tx, record.attributes)) do
    profile[ATTRIBUTE .. no] = value
  end
  for name in pairs(core_places) do
    profile[name] = users.property(tx, name) or nil
  end
  profile[field.name] = transaction.name(tx) or nil
  return profile
end

-- What a change of profile does beyond the profile. Call when nothing refuses any more, and after what has happened is on the boards. The
-- entries of former owners of devices have the id of the entry that follows them: the write-behind commits them together.
function users.save(tx, id)
  if tx.created then
    redis.call('HINCRBY', tx.part.meta, contract.meta.users, 1)
  elseif tx.profile_changed and tx.patch then
    leaderboards.regroup(tx)
  end
  for _, other in ipairs(tx.devices and devices.save(tx) or NONE) do
    transaction.commit(other, { kind = 'handover', id = id, points = NONE, boards = NONE, profile = users.profile(other) })
  end
end

return users
