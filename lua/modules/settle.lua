-- What time has done to a user: time triggers that have fired, periods that have passed. Every call about a user settles the user first,
-- and so does the sweep; who comes first makes no difference (docs/rules.md, "Time").
local contract = require('contract')
local filters = require('filters')
local leaderboards = require('leaderboards')
local ledger = require('ledger')
local points = require('points')
local streaks = require('streaks')
local time = require('time')
local turn = require('turn')
local core, limit, outcome = contract.core, contract.limit, contract.outcome

local settle = {}

local HOUR_MS = 3600000

-- What this call has done by settling users, by the estimates of the plan, in µs.
local done_us = 0

-- The occurrences of one time trigger after `from` and up to `to`, added to `list`. Hours are counted from the UTC hour of the user's
-- creation, days from the local day of it; a day's moment is its local midnight, or now where a move has skipped that.
local function collect(one, list, system, trigger, span, order)
  if trigger.unit == 'hours' then
    local first = math.floor(one.exists / HOUR_MS)
    local n = math.floor((span.from_hour - first) / trigger.interval) + 1
    for hour = first + n * trigger.interval, span.to_hour, trigger.interval do
      list[#list + 1] = { at = hour * HOUR_MS, day = nil, order = order, system = system, trigger = trigger }
    end
    return
  end
  local first = one.created_day
  local n = math.floor((span.from_day - first) / trigger.interval) + 1
  for day = first + n * trigger.interval, span.to_day, trigger.interval do
    local at = math.min(time.day_start(one.context.zones, turn.zone(one), day), one.now)
    list[#list + 1] = { at = at, day = day, order = order, system = system, trigger = trigger }
  end
end

-- The part of the time since the user was last settled that this call takes: no more than `plan.settleHours`, in each of which every time
-- trigger may fire.
local function next_span(one)
  local all = one.core
  local to_hour = math.floor(one.now / HOUR_MS)
  local from_hour = all[core.settledHour] or math.floor(one.exists / HOUR_MS)
  local from_day = all[core.settledDay] or one.created_day
  local to_day = math.max(one.day, from_day)
  local most = one.plan.settleHours
  if to_hour - from_hour > most then
    to_hour = from_hour + most
    local day = time.local_day(one.part, one.context.zones, turn.zone(one), to_hour * HOUR_MS)
    to_day = math.max(math.min(to_day, day or math.floor(to_hour / 24)), from_day)
    return { from_hour = from_hour, to_hour = to_hour, from_day = from_day, to_day = to_day, more = true }
  end
  return { from_hour = from_hour, to_hour = to_hour, from_day = from_day, to_day = to_day, more = false }
end

local function fire(one, occurrence)
  local trigger = occurrence.trigger
  if occurrence.at <= trigger.since or not filters.match_user(trigger.user, one) then
    return
  end
  local day = occurrence.day or time.local_day(one.part, one.context.zones, turn.zone(one), occurrence.at) or one.day
  local awarded = points.award(one, occurrence.system, trigger, 1, occurrence.at, day)
  if awarded ~= 0 then
    leaderboards.enter_gains(one, occurrence.system.boards, awarded, occurrence.at, day)
  end
end

-- Fires the time triggers of a span. Returns whether there is more to do.
local function fire_triggers(one)
  local span = next_span(one)
  if span.to_hour == span.from_hour and span.to_day == span.from_day then
    return false
  end
  local list = {}
  for order, timed in ipairs(one.plan.timeTriggers) do
    collect(one, list, one.plan.systems[timed.system], timed.trigger, span, order)
  end
  table.sort(list, function(a, b)
    if a.at ~= b.at then
      return a.at < b.at
    end
    return a.order < b.order
  end)
  for _, occurrence in ipairs(list) do
    fire(one, occurrence)
  end
  done_us = done_us + #list * one.plan.timeAwardWorkUs
  if #list > 0 or span.more then
    one.core[core.settledHour], one.core[core.settledDay] = span.to_hour, span.to_day
    one.settled = true
  end
  return span.more
end

-- Enters the points totals that have changed on the boards that rank them.
function settle.enter_points(one)
  for _, state in ipairs(one.earned_order) do
    if #state.awards > 0 then
      leaderboards.enter_totals(one, state.system.boards, state.had and state.before or nil, state.total)
    end
  end
end

-- Enters the points totals, and what the call has earned on the boards that rank gains.
function settle.enter_earned(one)
  settle.enter_points(one)
  for _, state in ipairs(one.earned_order) do
    if #state.awards > 0 then
      leaderboards.enter_gains(one, state.system.boards, state.total - state.before, one.now, one.day)
    end
  end
end

-- Enters the shown streak on the boards that rank it, if it has changed.
function settle.enter_streak(one, before)
  local length = streaks.length(one)
  one.streak_length = length
  if length ~= before then
    leaderboards.enter_totals(one, one.plan.streakBoards, before > 0 and before or nil, length)
  end
end

local function next_trigger(one)
  local due
  -- A move east can have brought the user to a day whose occurrences are still to come.
  local day = one.core[core.settledDay] or one.created_day
  for _, timed in ipairs(one.plan.timeTriggers) do
    local trigger = timed.trigger
    local at
    if trigger.unit == 'hours' then
      local first = math.floor(one.exists / HOUR_MS)
      local passed = math.floor((math.floor(one.now / HOUR_MS) - first) / trigger.interval)
      at = (first + (passed + 1) * trigger.interval) * HOUR_MS
    else
      local passed = math.floor((day - one.created_day) / trigger.interval)
      at = time.day_start(one.context.zones, turn.zone(one), one.created_day + (passed + 1) * trigger.interval)
    end
    due = due and math.min(due, at) or at
  end
  return due
end

-- Notes when time will next do something to the user, for the sweep. Call before the turn is committed.
function settle.schedule(one)
  if not one.plan.isTimed then
    return
  end
  local streak, trigger = streaks.due(one), nil
  if #one.plan.timeTriggers > 0 then
    trigger = next_trigger(one)
  end
  local due = streak and trigger and math.min(streak, trigger) or streak or trigger
  local text = due and string.format('%d', due) or ''
  if text == turn.due(one) then
    return
  end
  turn.set_due(one, text)
  if due then
    redis.call('ZADD', one.part.due, text, one.user)
  else
    redis.call('ZREM', one.part.due, one.user)
  end
end

-- Notes anew when time will next do something, for a user to whom nothing has happened although it was due.
function settle.reschedule(one)
  settle.schedule(one)
  turn.write_due(one)
end

-- What has been found out in a turn, as facts for its entry.
function settle.facts(one, entry)
  entry.points = points.keep(one, entry.id)
  entry.boards = one.boards
  streaks.keep(one)
  entry.streaks = one.streaks_written or nil
  entry.periods = #one.periods > 0 and one.periods or nil
  entry.freezes = one.freezes_earned > 0 and one.freezes_earned or nil
  return entry
end

-- Begins what a turn is to find out, anew.
function settle.start(one)
  points.start(one)
  leaderboards.start(one)
  one.achieved, one.achieved_now, one.checked, one.periods, one.freezes_earned = {}, {}, {}, {}, 0
  one.extended, one.created, one.settled, one.streak_changed = false, false, false, false
end

-- A call that settles several users begins the count of what it does, and leaves the rest to the next call once that is enough.
function settle.begin()
  done_us = 0
end

function settle.has_done_enough()
  return done_us >= limit.callWorkUs
end

-- Settles a user up to now, and commits what that changed as an entry of its own. Returns nil, or the outcome that the caller has to act
-- on: there is more than one call may do, a time zone is not known, or what time has done can't be stored.
function settle.run(one, id)
  settle.start(one)
  if not one.exists or not one.plan.isTimed then
    return nil
  end
  local before = streaks.length(one)
  local unknown = streaks.follow_default(one)
  if unknown then
    return unknown
  end
  local more = #one.plan.timeTriggers > 0 and fire_triggers(one)
  if not more then
    streaks.settle(one)
  end
  if one.settled or one.streaks_settled then
    if ledger.is_full(one.part, one.context) then
      return { outcome.ledgerFull }
    end
    settle.enter_points(one)
    settle.enter_streak(one, before)
    local entry = settle.facts(one, { kind = 'settle', id = id })
    if not more then
      settle.schedule(one)
    end
    turn.commit(one, entry)
    done_us = done_us + one.plan.settleWorkUs
    settle.start(one)
  end
  return more and { outcome.again } or nil
end

return settle
