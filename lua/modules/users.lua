-- Users: what a caller sent of them, and what becomes of it.
local contract = require('contract')
local leaderboards = require('leaderboards')
local points = require('points')
local streaks = require('streaks')
local time = require('time')
local turn = require('turn')
local field = contract.field

local users = {}

-- Fields in which nothing stored and an empty text mean the same: the caller has cleared them.
local clearable = { [field.tz] = true, [field.deviceTokens] = true }

-- The fields that a user's profile is made of, apart from attributes and preferences for notifications.
local profile_fields = {
  [field.created] = true,
  [field.createdDay] = true,
  [field.updated] = true,
  [field.name] = true,
  [field.email] = true,
  [field.tz] = true,
  [field.subscribeToEmails] = true,
  [field.deviceTokens] = true,
  [field.control] = true,
  [field.streakPreferences] = true,
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
  return { fields = fields, values = values, stored = {} }, first + 2 * count
end

-- Whether the patch asks for e-mails to a user who ends up without an address.
function users.lacks_email(one)
  local patch = one.patch
  if not patch or patch.values[field.subscribeToEmails] ~= '1' then
    return false
  end
  return not (patch.values[field.email] or one.row[field.email])
end

-- The local day that the patch's time zone makes it; that of the turn when it has none. Nil and an outcome when the zone is not known.
function users.day_after_patch(one)
  local zone = one.patch and one.patch.values[field.tz]
  if not zone then
    return one.day
  end
  return time.today(one.part, one.context.zones, zone ~= '' and zone or one.plan.zone, one.now)
end

local function is_control(plan, user)
  if plan.controlRatio <= 0 then
    return '0'
  end
  local share = tonumber(redis.sha1hex(user):sub(1, 8), 16) / 4294967296
  return share < plan.controlRatio and '1' or '0'
end

local function create(one, day)
  local now = string.format('%d', one.now)
  turn.put(one, field.created, now)
  local day_text = string.format('%d', day)
  turn.put(one, field.createdDay, day_text)
  turn.put(one, field.newestDay, day_text)
  turn.put(one, field.subscribeToEmails, '1')
  turn.put(one, field.control, is_control(one.plan, one.user))
  one.exists, one.created, one.created_day = now, true, day
end

-- Lays the patch over the user, creating a new one, who is paid for that; `day` is the local day in the zone that the user then has.
-- Remembers what was stored before, and whether the profile and the attributes have changed.
function users.apply(one, day)
  local changed = not one.exists
  if changed then
    create(one, day)
  end
  local patch = one.patch
  for _, name in ipairs(patch and patch.fields or {}) do
    local before, after = one.row[name], patch.values[name]
    local nothing_to_clear = clearable[name] and not before and after == ''
    if before ~= after and not nothing_to_clear then
      patch.stored[name] = before or false
      if name == field.tz and not one.created then
        streaks.move(one, turn.zone(one), after)
      end
      turn.put(one, name, after)
      changed = true
    end
  end
  if one.day ~= day then
    one.day = day
    streaks.settle(one)
  end
  if changed then
    turn.put(one, field.updated, string.format('%d', one.now))
  end
  one.profile_changed = changed
  if one.created then
    points.earn_creation(one)
  end
end

-- What a change of profile does beyond the profile; call when nothing refuses any more and what has happened is on the boards.
function users.keep(one)
  if one.created then
    redis.call('HINCRBY', one.part.meta, 'users', 1)
  elseif one.profile_changed and one.patch then
    leaderboards.regroup(one)
  end
end

-- The whole profile of a user as it will be after the commit, from field to text.
function users.profile(one)
  local all = redis.call('HGETALL', one.key)
  local profile = {}
  local function take(name, value)
    local start = name:sub(1, #field.attribute)
    if profile_fields[name] or start == field.attribute or start == field.notification then
      profile[name] = value
    end
  end
  for i = 1, #all, 2 do
    take(all[i], all[i + 1])
  end
  for name, value in pairs(one.dirty) do
    take(name, tostring(value))
  end
  return profile
end

return users
