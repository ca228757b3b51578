-- Achievements: what an event or a call completes, and everything that hangs on that, however deep.
--
-- What a user has completed is one record, a map from the achievement's no (as text) to the moment. Sums of matching events stand with
-- their metric.
local contract = require('contract')
local calendar = require('calendar')
local decimal = require('decimal')
local filters = require('filters')
local transaction = require('transaction')
local core, limit, outcome, place, record = contract.core, contract.limit, contract.outcome, contract.metric, contract.record

local achievements = {}

function achievements.completed(tx)
  return transaction.get(tx, record.achievements)
end

local function can_complete(tx, achievement)
  return achievement.active and not achievements.completed(tx)[achievement.key] and filters.match_user(achievement.user, tx)
end

-- Whether the user now has everything that a composite needs; true only once in a transaction. `tx.checked` has how many of its
-- prerequisites were found completed, so a transaction reads each of them once, however many it completes.
local function has_all(tx, composite)
  local completed, needs, at = achievements.completed(tx), composite.needs, tx.checked[composite.key] or 0
  if at == #needs then
    return false
  end
  while needs[at + 1] and completed[needs[at + 1]] do
    at = at + 1
  end
  tx.checked[composite.key] = at
  return at == #needs
end

local function complete(tx, achievement)
  achievements.completed(tx)[achievement.key] = tx.now
  tx.achieved[#tx.achieved + 1] = achievement.no
  tx.achieved_now[achievement.no] = true
end

-- Completes the composites whose last prerequisite this transaction has completed, however deep.
function achievements.follow(tx)
  local i = 0
  while i < #tx.achieved do
    i = i + 1
    for _, key in ipairs(tx.plan.achievements[tostring(tx.achieved[i])].neededBy) do
      local composite = tx.plan.achievements[key]
      if has_all(tx, composite) and can_complete(tx, composite) then
        complete(tx, composite)
      end
    end
  end
end

-- Adds the event to the sums of the achievements that filter by event attributes. Refuses a sum that is out of range.
function achievements.sum(tx, metric, value, attributes)
  local list = metric.summed
  for i = 1, #list do
    local achievement = list[i]
    local wanted = achievement.event
    if #wanted == 0 or filters.match_event(wanted, attributes) then
      local sums = transaction.map(transaction.change(tx, achievement.record), place.sums)
      local sum = decimal.add(sums[achievement.key] or 0, value)
      if sum > limit.maxAbsoluteTotal or sum < -limit.maxAbsoluteTotal then
        return nil, { outcome.totalOutOfRange }
      end
      sums[achievement.key] = sum
    end
  end
  return true
end

-- What the achievement counts in the record of its metric: the total, or the sum of its matching events.
local function amount(counts, achievement)
  if achievement.isSummed then
    local sums = counts[place.sums]
    return sums and sums[achievement.key] or 0
  end
  return counts[place.total] or 0
end

-- The metric achievements that the user's totals now reach.
function achievements.by_metric(tx, metric)
  local list = metric.counted
  if #list == 0 then
    return
  end
  local completed, counts = achievements.completed(tx), transaction.get(tx, metric.record)
  for i = 1, #list do
    local achievement = list[i]
    -- Most of what users reach they have completed before.
    if not completed[achievement.key] and amount(counts, achievement) >= achievement.value and can_complete(tx, achievement) then
      complete(tx, achievement)
    end
  end
end

-- The streak achievements that a length reaches.
function achievements.by_streak(tx, length)
  for _, key in ipairs(tx.plan.streakAchievements) do
    local achievement = tx.plan.achievements[key]
    if length >= achievement.length and can_complete(tx, achievement) then
      complete(tx, achievement)
    end
  end
end

-- The local day on which a user with a sign-up date completes an anniversary achievement: of 29 February, the 28th in a common year.
local function anniversary(tx, achievement)
  return calendar.add_months(tx.core[core.signUpDay], 12 * achievement.years)
end

-- The first day after `after`, up to `last`, on which the user is still to complete an anniversary achievement; nil for none.
function achievements.next_anniversary(tx, after, last)
  if not tx.core[core.signUpDay] then
    return nil
  end
  local first
  for _, key in ipairs(tx.plan.anniversaries) do
    local day = anniversary(tx, tx.plan.achievements[key])
    if day > after and day <= last and (not first or day < first) and not achievements.completed(tx)[key] then
      first = day
    end
  end
  return first
end

-- Completes the anniversary achievements of the days after `after` up to today, and the composites that follow.
function achievements.by_anniversary(tx, after)
  for _, key in ipairs(tx.plan.anniversaries) do
    local achievement = tx.plan.achievements[key]
    local day = anniversary(tx, achievement)
    if day > after and day <= tx.day and can_complete(tx, achievement) then
      complete(tx, achievement)
    end
  end
  achievements.follow(tx)
end

-- Completes an achievement because a call says so, and the composites that follow. Refuses one that the user has (alreadyCompleted) or
-- can't complete (notCompletable): it is locked, or its filters do not match.
function achievements.by_call(tx, achievement)
  if achievements.completed(tx)[achievement.key] then
    return nil, { outcome.alreadyCompleted }
  elseif not can_complete(tx, achievement) then
    return nil, { outcome.notCompletable }
  end
  complete(tx, achievement)
  achievements.follow(tx)
  return true
end

-- Whether the user qualifies for an achievement that has just become active.
function achievements.qualifies(tx, achievement, streak_length)
  if not can_complete(tx, achievement) then
    return false
  end
  if achievement.kind == 'metric' then
    return amount(transaction.get(tx, achievement.record), achievement) >= achievement.value
  elseif achievement.kind == 'streak' then
    return streak_length >= achievement.length
  elseif achievement.kind == 'anniversary' then
    -- A move west can have brought the user back to the day before.
    local reached = math.max(tx.day, tx.core[core.settledDay] or tx.created_day)
    return tx.core[core.signUpDay] and anniversary(tx, achievement) <= reached
  end
  return achievement.kind == 'achievement' and has_all(tx, achievement)
end

-- Completes an achievement for which the user qualifies, and the composites that follow.
function achievements.enter(tx, achievement)
  complete(tx, achievement)
  achievements.follow(tx)
end

-- Saves and counts what this transaction has completed.
function achievements.save(tx)
  if #tx.achieved == 0 then
    return
  end
  transaction.change(tx, record.achievements)
  for _, no in ipairs(tx.achieved) do
    redis.call('HINCRBY', tx.part.completions, no, 1)
  end
end

return achievements
