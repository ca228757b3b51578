-- Achievements: what an event or a call completes, and everything that hangs on that, however deep.
--
-- What a user has completed is one record, a map from the achievement's no (as text) to the moment. Sums of matching events stand with
-- their metric.
local contract = require('contract')
local decimal = require('decimal')
local filters = require('filters')
local turn = require('turn')
local limit, place, record = contract.limit, contract.metric, contract.record

local achievements = {}

function achievements.completed(one)
  return turn.get(one, record.achievements)
end

local function can_complete(one, achievement)
  return achievement.active and not achievements.completed(one)[achievement.key] and filters.match_user(achievement.user, one)
end

-- Whether the user now has everything that a composite needs; true only once in a turn. `one.checked` notes how many of its prerequisites
-- were found completed, so that a turn reads each of them once, however many it completes.
local function has_all(one, composite)
  local completed, needs, at = achievements.completed(one), composite.needs, one.checked[composite.key] or 0
  if at == #needs then
    return false
  end
  while needs[at + 1] and completed[needs[at + 1]] do
    at = at + 1
  end
  one.checked[composite.key] = at
  return at == #needs
end

local function complete(one, achievement)
  achievements.completed(one)[achievement.key] = one.now
  one.achieved[#one.achieved + 1] = achievement.no
  one.achieved_now[achievement.no] = true
end

-- Completes the composites for which something that has been completed in this turn was the last, however deep.
function achievements.follow(one)
  local i = 0
  while i < #one.achieved do
    i = i + 1
    for _, key in ipairs(one.plan.achievements[tostring(one.achieved[i])].neededBy) do
      local composite = one.plan.achievements[key]
      if has_all(one, composite) and can_complete(one, composite) then
        complete(one, composite)
      end
    end
  end
end

-- Adds the event to the sums of the achievements that filter by event attributes. False when a sum goes out of range.
function achievements.sum(one, metric, value, attributes)
  local list = metric.summed
  for i = 1, #list do
    local achievement = list[i]
    if filters.match_event(achievement.event, attributes) then
      local sums = turn.map(turn.change(one, achievement.record), place.sums)
      local sum = decimal.add(sums[achievement.key] or 0, value)
      if sum > limit.maxAbsoluteTotal or sum < -limit.maxAbsoluteTotal then
        return false
      end
      sums[achievement.key] = sum
    end
  end
  return true
end

-- What the achievement counts: the metric's total, or the sum of its matching events.
local function amount(one, achievement)
  local counts = turn.get(one, achievement.record)
  if achievement.isSummed then
    local sums = counts[place.sums]
    return sums and sums[achievement.key] or 0
  end
  return counts[place.total] or 0
end

-- The metric achievements that the user's totals now reach.
function achievements.by_metric(one, metric)
  local list, completed = metric.counted, nil
  for i = 1, #list do
    local achievement = list[i]
    completed = completed or achievements.completed(one)
    -- Most of what users reach they have completed before.
    if not completed[achievement.key] and amount(one, achievement) >= achievement.value and can_complete(one, achievement) then
      complete(one, achievement)
    end
  end
end

-- The streak achievements that a length reaches.
function achievements.by_streak(one, length)
  for _, key in ipairs(one.plan.streakAchievements) do
    local achievement = one.plan.achievements[key]
    if length >= achievement.length and can_complete(one, achievement) then
      complete(one, achievement)
    end
  end
end

-- An achievement of which a call says that it is completed; false when it can't be (locked, filtered, or completed before).
function achievements.by_call(one, achievement)
  if not can_complete(one, achievement) then
    return false
  end
  complete(one, achievement)
  achievements.follow(one)
  return true
end

-- Whether the user qualifies for an achievement that has just become active.
function achievements.qualifies(one, achievement, streak_length)
  if not can_complete(one, achievement) then
    return false
  end
  if achievement.kind == 'metric' then
    return amount(one, achievement) >= achievement.value
  elseif achievement.kind == 'streak' then
    return streak_length >= achievement.length
  end
  return achievement.kind == 'achievement' and has_all(one, achievement)
end

-- Completes an achievement for which the user qualifies, and the composites that follow.
function achievements.enter(one, achievement)
  complete(one, achievement)
  achievements.follow(one)
end

-- Writes down what has been completed in this turn, and counts it.
function achievements.keep(one)
  if #one.achieved == 0 then
    return
  end
  turn.change(one, record.achievements)
  for _, no in ipairs(one.achieved) do
    redis.call('HINCRBY', one.part.completions, no, 1)
  end
end

return achievements
