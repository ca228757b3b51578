-- Users: what a caller sent of them, and what becomes of it.
local contract = require('contract')
local leaderboards = require('leaderboards')
local points = require('points')
local streaks = require('streaks')
local time = require('time')
local turn = require('turn')
local core, field, record = contract.core, contract.field, contract.record

local users = {}

-- Where the properties stand that are not in the record of the profile.
local core_places = {
  [field.created] = core.created,
  [field.createdDay] = core.createdDay,
  [field.tz] = core.tz,
  [field.streakPreferences] = core.streakPreferences,
}
local ATTRIBUTE = field.attribute

-- What is stored of a property, this call's changes included; false or nil for nothing.
function users.property(one, name)
  if core_places[name] then
    return one.core[core_places[name]]
  elseif name == field.name then
    return turn.name(one)
  elseif name:sub(1, #ATTRIBUTE) == ATTRIBUTE then
    return turn.get(one, record.attributes)[name:sub(#ATTRIBUTE + 1)]
  end
  return turn.get(one, record.profile)[name]
end

function users.set_property(one, name, value)
  if core_places[name] then
    one.core[core_places[name]] = value
  elseif name == field.name then
    turn.set_name(one, value)
  elseif name:sub(1, #ATTRIBUTE) == ATTRIBUTE then
    turn.change(one, record.attributes)[name:sub(#ATTRIBUTE + 1)] = value
  else
    turn.change(one, record.profile)[name] = value
  end
end

-- Fields in which nothing stored and an empty text mean the same: the caller has cleared them.
local clearable = { [field.tz] = true, [field.deviceTokens] = true }

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
  return not (patch.values[field.email] or users.property(one, field.email))
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
  local all, profile = one.core, turn.change(one, record.profile)
  all[core.created], all[core.createdDay], all[core.newestDay] = one.now, day, day
  profile[field.subscribeToEmails], profile[field.control] = '1', is_control(one.plan, one.user)
  one.exists, one.created, one.created_day, one.reschedules = one.now, true, day, true
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
    local before, after = users.property(one, name), patch.values[name]
    local nothing_to_clear = clearable[name] and not before and after == ''
    if before ~= after and not nothing_to_clear then
      patch.stored[name] = before or false
      if name == field.tz and not one.created then
        streaks.move(one, turn.zone(one), after)
        one.reschedules = true
      end
      users.set_property(one, name, after)
      changed = true
    end
  end
  if one.day ~= day then
    one.day = day
    streaks.settle(one)
  end
  if changed then
    turn.change(one, record.profile)[field.updated] = string.format('%d', one.now)
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

-- The whole profile of a user as it will be after the commit, from property to text.
function users.profile(one)
  local profile = {}
  for name, value in pairs(turn.get(one, record.profile)) do
    profile[name] = value
  end
  for no, value in pairs(turn.get(one, record.attributes)) do
    profile[ATTRIBUTE .. no] = value
  end
  for name, at in pairs(core_places) do
    local value = one.core[at]
    profile[name] = type(value) == 'number' and string.format('%d', value) or value or nil
  end
  profile[field.name] = turn.name(one) or nil
  return profile
end

return users
