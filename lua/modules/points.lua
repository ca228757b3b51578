-- Points systems: what triggers earn, boosts, cap and floor, levels, and the list of recent awards.
local contract = require('contract')
local boosts = require('boosts')
local decimal = require('decimal')
local limit = contract.limit

local points = {}

local function matches_user(trigger, row)
  for _, filter in ipairs(trigger.user) do
    if row[filter.at] ~= filter.value then
      return false
    end
  end
  return true
end

local function matches_event(trigger, attributes)
  for _, filter in ipairs(trigger.event) do
    if attributes[filter.no] ~= filter.value then
      return false
    end
  end
  return true
end

-- The highest level whose points are at most `total`, 0 for none. Levels ascend.
local function level_at(levels, total)
  local level = 0
  for i = 1, #levels do
    if total < levels[i].points then
      break
    end
    level = levels[i].no
  end
  return level
end

-- Moves a trigger's progress by the event's value and returns how many multiples of its threshold were passed for the first time. The
-- high-water mark is what keeps anyone from going down and up again over the same multiple.
local function advance(trigger, row, value, progress)
  local before = tonumber(row[trigger.at] or 0)
  local high_before = tonumber(row[trigger.highAt] or math.max(before, 0))
  local now = decimal.add(before, value)
  local high = math.max(high_before, now)
  progress[#progress + 1] = { no = trigger.no, progress = now, high = high, trigger = trigger }
  return math.floor(high / trigger.threshold) - math.floor(high_before / trigger.threshold), math.abs(now) <= limit.maxAbsoluteTotal
end

-- What really can be added: a total stays within 0 and the cap.
local function within(total, cap, earned)
  if earned > 0 then
    return math.max(math.min(earned, cap - total), 0)
  end
  return math.max(earned, -total)
end

local function award(state, system, trigger, times, event)
  local awarded, applied
  if trigger.points > 0 then
    if not state.active then
      state.active = boosts.active(system, event.user, event.row, event.day)
    end
    if #state.active > 0 then
      applied = {}
      for i, boost in ipairs(state.active) do
        applied[i] = boost.no
      end
      awarded = boosts.apply(state.active, times, trigger.points)
    else
      awarded = times * trigger.points
    end
  else
    awarded = times * trigger.points
  end
  awarded = within(state.total, system.cap, awarded)
  if awarded ~= 0 then
    state.total = state.total + awarded
    local list = state.awards
    list[#list + 1] = { trigger = trigger.no, ordinal = event.awards, awarded = awarded, total = state.total, boosts = applied or {} }
    event.awards = event.awards + 1
  end
end

-- Works out what the event earns in every system that has triggers on its metric. Changes nothing yet. Returns the systems that
-- changed and the progress of the triggers that matched; nil when a sum went out of range.
function points.earn(metric, event)
  local changed, progress = {}, {}
  for _, system in ipairs(metric.systems) do
    local before = tonumber(event.row[system.at] or 0)
    local state = { total = before, awards = {} }
    for _, trigger in ipairs(system.triggers) do
      if matches_event(trigger, event.attributes) and matches_user(trigger, event.row) then
        local times, in_range = advance(trigger, event.row, event.value, progress)
        if not in_range then
          return nil
        end
        if times > 0 then
          award(state, system, trigger, times, event)
        end
      end
    end
    if #state.awards > 0 then
      changed[#changed + 1] = {
        no = system.no,
        before = before,
        total = state.total,
        level = level_at(system.levels, state.total),
        levelBefore = level_at(system.levels, before),
        awards = state.awards,
        system = system,
      }
    end
  end
  return changed, progress
end

-- Adds the new totals and the triggers' progress to `set`, the field-value list of the user's one HSET.
function points.stage(changed, progress, row, set)
  for _, system in ipairs(changed) do
    set[#set + 1] = system.system.field
    set[#set + 1] = string.format('%.0f', system.total)
  end
  for _, moved in ipairs(progress) do
    local trigger = moved.trigger
    set[#set + 1] = trigger.field
    set[#set + 1] = decimal.text(moved.progress)
    if moved.high > moved.progress or row[trigger.highAt] then
      set[#set + 1] = trigger.highField
      set[#set + 1] = decimal.text(moved.high)
    end
    moved.trigger = nil
  end
end

-- Remembers the awards of an event for the user-points call, newest first, and keeps the list bounded.
function points.remember(part, changed, event)
  for _, system in ipairs(changed) do
    local blobs = {}
    for i, one in ipairs(system.awards) do
      blobs[i] = cmsgpack.pack({ id = event.id, at = event.now, award = one })
    end
    local list = part.awards .. system.no .. ':' .. event.user
    if redis.call('LPUSH', list, unpack(blobs)) > limit.maxAwardsKept then
      redis.call('LTRIM', list, 0, limit.maxAwardsRead - 1)
    end
    system.system = nil
  end
end

return points
