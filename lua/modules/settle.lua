-- What time has done to a user: time triggers that have fired, periods that have passed. Every call about a user settles the user first,
-- and so does the sweep; it makes no difference which of them comes first (docs/rules/time.md).
local contract = require('contract')
local achievements = require('achievements')
local filters = require('filters')
local leaderboards = require('leaderboards')
local ledger = require('ledger')
local points = require('points')
local segments = require('segments')
local streaks = require('streaks')
local time = require('time')
local transaction = require('transaction')
local users = require('users')
local core, limit, outcome = contract.core, contract.limit, contract.outcome

local settle = {}

local HOUR_MS = 3600000

-- The work of settling users in this call, by the estimates of the plan, in µs.
local done_us = 0

-- Adds the occurrences of a time trigger within a span to `list`. Hours are counted from the UTC hour of the user's creation, days from its
-- local day; the moment of a day is its local midnight, or the move that has skipped that.
local function collect(tx, list, timed, span)
  local system, trigger = tx.plan.systems[timed.system], timed.trigger
  if trigger.unit == 'hours' then
    local first = math.floor(tx.exists / HOUR_MS)
    local n = math.floor((span.from_hour - first) / trigger.interval) + 1
    for hour = first + n * trigger.interval, span.to_hour, trigger.interval do
      list[#list + 1] = { now = hour * HOUR_MS, since = hour * HOUR_MS, day = nil, order = #list, system = system, trigger = trigger }
    end
    return
  end
  local moved = tx.core[core.movedAt] or 0
  local first = tx.created_day
  local n = math.floor((span.from_day - first) / trigger.interval) + 1
  for day = first + n * trigger.interval, span.to_day, trigger.interval do
    local at = math.min(time.day_start(tx, transaction.zone(tx), day), tx.now)
    local is_skipped = at < moved
    list[#list + 1] = {
      now = is_skipped and moved or at,
      since = at,
      day = not is_skipped and day or nil,
      order = #list,
      system = system,
      trigger = trigger,
    }
  end
end

-- The part of the time since the user was last settled that this call takes: no more than `plan.settleHours`, in each of which every time
-- trigger may fire.
local function next_span(tx)
  local all = tx.core
  local to_hour = math.floor(tx.now / HOUR_MS)
  local from_hour = all[core.settledHour] or math.floor(tx.exists / HOUR_MS)
  local from_day = all[core.settledDay] or tx.created_day
  local to_day = math.max(tx.day, from_day)
  local most = tx.plan.settleHours
  if to_hour - from_hour > most then
    to_hour = from_hour + most
    local day = time.local_day(tx, transaction.zone(tx), to_hour * HOUR_MS)
    to_day = math.max(math.min(to_day, day or math.floor(to_hour / 24)), from_day)
    return { from_hour = from_hour, to_hour = to_hour, from_day = from_day, to_day = to_day, more = true }
  end
  return { from_hour = from_hour, to_hour = to_hour, from_day = from_day, to_day = to_day, more = false }
end

local function fire(tx, occurrence)
  local trigger = occurrence.trigger
  if occurrence.since <= trigger.since or not filters.match_user(trigger.user, tx) then
    return
  end
  occurrence.day = occurrence.day or time.local_day(tx, transaction.zone(tx), occurrence.now) or tx.day
  local awarded = points.award(points.state_of(tx, occurrence.system), trigger, 1, occurrence)
  if awarded ~= 0 then
    leaderboards.enter_gains(tx, occurrence.system.boards, awarded, occurrence)
  end
end

-- Fires the time triggers of a span. Returns whether there is more to do.
local function fire_triggers(tx)
  local span = next_span(tx)
  if span.to_hour == span.from_hour and span.to_day == span.from_day then
    return false
  end
  local list = {}
  for _, timed in ipairs(tx.plan.timeTriggers) do
    collect(tx, list, timed, span)
  end
  table.sort(list, function(a, b)
    if a.now ~= b.now then
      return a.now < b.now
    end
    return a.order < b.order
  end)
  -- Gains are entered on leaderboards at once.
  if #list > 0 and ledger.is_full(tx) then
    return nil, { outcome.ledgerFull }
  end
  for _, occurrence in ipairs(list) do
    fire(tx, occurrence)
  end
  done_us = done_us + #list * tx.plan.timeAwardWorkUs
  if #list > 0 or span.more then
    tx.core[core.settledHour], tx.core[core.settledDay] = span.to_hour, span.to_day
    tx.settled = true
  end
  return span.more
end

-- Enters the points totals that have changed on the boards that rank them.
local function enter_points(tx)
  local order = tx.earned_order
  for i = 1, #order do
    local state = order[i]
    if #state.awards > 0 then
      leaderboards.enter_totals(tx, state.system.boards, state.had and state.before or nil, state.total)
    end
  end
end

-- Enters the points totals, and the earned points on the boards that rank gains.
local function enter_earned(tx)
  enter_points(tx)
  local order = tx.earned_order
  for i = 1, #order do
    local state = order[i]
    if #state.awards > 0 then
      leaderboards.enter_gains(tx, state.system.boards, state.total - state.before, tx)
    end
  end
end

-- Enters the shown streak on the boards that rank it, if it has changed.
function settle.enter_streak(tx, before)
  local length = streaks.length(tx)
  tx.streak_length = length
  if length ~= before then
    leaderboards.enter_totals(tx, tx.plan.streakBoards, before > 0 and before or nil, length)
  end
end

local function next_trigger(tx)
  local due
  -- A move east can have brought the user to a day whose occurrences are still to come.
  local day = tx.core[core.settledDay] or tx.created_day
  for _, timed in ipairs(tx.plan.timeTriggers) do
    local trigger = timed.trigger
    local at
    if trigger.unit == 'hours' then
      local first = math.floor(tx.exists / HOUR_MS)
      local passed = math.floor((math.floor(tx.now / HOUR_MS) - first) / trigger.interval)
      at = (first + (passed + 1) * trigger.interval) * HOUR_MS
    else
      local passed = math.floor((day - tx.created_day) / trigger.interval)
      at = time.day_start(tx, transaction.zone(tx), tx.created_day + (passed + 1) * trigger.interval)
    end
    due = due and math.min(due, at) or at
  end
  return due
end

-- The local day up to which all that days bring has been done.
local function settled_day(tx)
  return tx.core[core.settledDay] or tx.created_day
end

-- When to look at the user's next anniversary: on the day before, if that is to come. The offset of the zone may not be known yet for a day
-- that is years away.
local function next_anniversary(tx)
  local day = achievements.next_anniversary(tx, settled_day(tx), math.huge)
  return day and time.day_start(tx, transaction.zone(tx), day > tx.day + 1 and day - 1 or day)
end

-- Schedules the user for the sweep: the moment at which time will next do something to the user. Call before the commit.
local function schedule(tx)
  if not tx.plan.isTimed then
    return
  end
  local streak, trigger = streaks.due(tx), nil
  if #tx.plan.timeTriggers > 0 then
    trigger = next_trigger(tx)
  end
  local due = streak and trigger and math.min(streak, trigger) or streak or trigger
  local anniversary = #tx.plan.anniversaries > 0 and next_anniversary(tx)
  due = due and anniversary and math.min(due, anniversary) or due or anniversary or nil
  local text = due and string.format('%d', due) or ''
  if text == transaction.due(tx) then
    return
  end
  transaction.set_due(tx, text)
  if due then
    redis.call('ZADD', tx.part.due, text, tx.user)
  else
    redis.call('ZREM', tx.part.due, tx.user)
  end
end

-- Schedules anew a user to whom nothing has happened although it was due.
function settle.reschedule(tx)
  schedule(tx)
  transaction.write_due(tx)
end

-- Adds what a transaction has found out to its entry.
function settle.facts(tx, entry)
  entry.points = points.save(tx, entry.id)
  entry.boards = tx.boards
  streaks.save(tx)
  entry.streaks = tx.streaks_written or nil
  entry.periods = #tx.periods > 0 and tx.periods or nil
  entry.freezes = tx.freezes_earned > 0 and tx.freezes_earned or nil
  return entry
end

-- What most calls leave empty, and the next one takes over then: Redis runs one call at a time.
local achieved, achieved_now, checked, periods = {}, {}, {}, {}

-- Resets what a transaction has found out, at its begin and after settling has committed.
local function reset(tx)
  points.start(tx)
  leaderboards.start(tx)
  if #achieved > 0 or next(checked) then
    achieved, achieved_now, checked = {}, {}, {}
  end
  if #periods > 0 then
    periods = {}
  end
  tx.achieved, tx.achieved_now, tx.checked, tx.periods, tx.freezes_earned = achieved, achieved_now, checked, periods, 0
  tx.extended, tx.created, tx.settled, tx.streak_changed = false, false, false, false
end

-- Commits the anniversary achievements for which the user qualifies by a new date of signing up: silently, as an entry of its own.
local function backfill_anniversaries(tx, id)
  tx.signed_up = false
  reset(tx)
  for _, key in ipairs(tx.plan.anniversaries) do
    local achievement = tx.plan.achievements[key]
    if achievements.qualifies(tx, achievement) then
      achievements.enter(tx, achievement)
    end
  end
  if #tx.achieved > 0 then
    achievements.save(tx)
    transaction.commit(tx, settle.facts(tx, { kind = 'activation', id = id, achieved = tx.achieved }))
    settle.reschedule(tx)
  end
end

-- Commits what a command has changed, as an entry of its kind: the boards, the new user or profile, the achievements. `streak_before` is
-- the length of the shown streak before. Returns the packed entry.
function settle.commit(tx, entry, streak_before)
  enter_earned(tx)
  settle.enter_streak(tx, streak_before)
  users.save(tx, entry.id)
  achievements.save(tx)
  entry.achieved = tx.achieved
  settle.facts(tx, entry)
  entry.profile = tx.profile_changed and users.profile(tx) or nil
  if tx.reschedules then
    schedule(tx)
  end
  local packed = transaction.commit(tx, entry)
  if tx.signed_up then
    backfill_anniversaries(tx, entry.id)
  end
  return packed
end

-- A call that settles several users starts a budget of work, and leaves the rest to the next call once it is spent.
function settle.start_budget()
  done_us = 0
end

function settle.is_spent()
  return done_us >= limit.callWorkUs
end

-- Does what time has done up to `tx.now` under the plan of the transaction. Returns whether there is more than one call may do.
local function pass_time(tx)
  local _, refusal = streaks.follow_default(tx)
  local more = false
  if not refusal and #tx.plan.timeTriggers > 0 then
    more, refusal = fire_triggers(tx)
  end
  if refusal then
    return nil, refusal
  end
  if not more then
    streaks.settle(tx)
  end
  return more
end

-- Commits what time has done, as an entry of its own.
local function commit_time(tx, id)
  transaction.commit(tx, settle.facts(tx, { kind = 'settle', id = id }))
  done_us = done_us + tx.plan.settleWorkUs
  reset(tx)
end

-- Runs `run(tx, id, what)` at an earlier moment and under the plan of that time. The transaction has them meanwhile: points, leaderboards,
-- streaks and filters take them from it, as they do for an event, which would pay for three more arguments on each of their calls.
local function run_at(tx, plan, now, run, id, what)
  local later_plan, later_now, later_day = tx.plan, tx.now, tx.day
  tx.plan, tx.now = plan, now
  tx.day = time.past_day(tx, transaction.zone(tx), now)
  local value, refusal = run(tx, id, what)
  tx.plan, tx.now, tx.day = later_plan, later_now, later_day
  return value, refusal
end

-- Settles a user up to an anniversary, and completes what the days after `from` bring; an entry for each. Returns whether there is more to
-- settle before it.
local function complete_anniversary(tx, id, from)
  local length = streaks.length(tx)
  local more, refusal = pass_time(tx)
  if refusal then
    return nil, refusal
  end
  if tx.settled or tx.streaks_settled then
    enter_points(tx)
    settle.enter_streak(tx, length)
    commit_time(tx, id)
  end
  if not more then
    tx.core[core.settledDay] = tx.day
    achievements.by_anniversary(tx, from)
    if #tx.achieved > 0 then
      points.earn(tx, tx.plan.systems, nil)
    end
    settle.commit(tx, { kind = 'settle', id = id }, streaks.length(tx))
    done_us = done_us + tx.plan.settleWorkUs
    reset(tx)
  end
  return more
end

-- Settles a user up to the moment at which the first anniversary since began, or the move that skipped it. Returns whether there was one.
local function pass_anniversary(tx, id)
  if #tx.plan.anniversaries == 0 then
    return false
  end
  local from = settled_day(tx)
  local day = achievements.next_anniversary(tx, from, tx.day)
  if not day then
    return false
  elseif ledger.is_full(tx) then
    return nil, { outcome.ledgerFull }
  end
  local at = math.min(math.max(time.day_start(tx, transaction.zone(tx), day), tx.core[core.movedAt] or 0), tx.now)
  local more, refusal = run_at(tx, tx.plan, at, complete_anniversary, id, from)
  if refusal then
    return nil, refusal
  elseif more or achievements.next_anniversary(tx, settled_day(tx), tx.day) then
    return nil, { outcome.again }
  end
  return true
end

-- Takes a user who is settled up to the end of a segment over it: what came before is settled for good, and the next plan is in force.
local function cross(tx, segment)
  local all, before = tx.core, segment.before
  if #before.timeTriggers > 0 or #segment.after.timeTriggers > 0 then
    all[core.settledHour] = math.floor(tx.now / HOUR_MS)
  end
  users.reach_day(tx)
  if #segment.after.anniversaries > 0 then
    all[core.movedAt] = tx.now
  end
  all[core.segment] = segment.next
  tx.plan = segment.after
  local length = all[core.streakDay] and streaks.length(tx) or 0
  streaks.adopt_plan(tx, before)
  settle.enter_streak(tx, length)
end

-- Refuses while the offsets of the zones in which a user without a zone lives before and after the end of a segment are not known.
local function check_zones(tx, segment)
  local own = tx.core[core.tz]
  if own and own ~= '' then
    return true
  end
  local _, refusal = time.today(tx, segment.before.zone, tx.clock)
  if refusal then
    return nil, refusal
  end
  return time.today(tx, segment.after.zone, tx.clock)
end

-- Settles a user at the end of a segment, under its plan, and takes the user over it.
local function settle_segment(tx, id, segment)
  local _, refusal = pass_anniversary(tx, id)
  if refusal then
    return nil, refusal
  end
  local length = streaks.length(tx)
  local more
  more, refusal = pass_time(tx)
  if refusal then
    return nil, refusal
  end
  enter_points(tx)
  settle.enter_streak(tx, length)
  if not more then
    cross(tx, segment)
  end
  commit_time(tx, id)
  if more then
    return nil, { outcome.again }
  end
  return true
end

local function pass_end(tx, id, segment)
  local _, refusal = check_zones(tx, segment)
  if refusal then
    return nil, refusal
  elseif ledger.is_full(tx) then
    return nil, { outcome.ledgerFull }
  end
  return run_at(tx, segment.before, segment.at, settle_segment, id, segment)
end

local function next_end(tx)
  return segments.next_end(tx.part, tx.core[core.segment] or 0, tx.plan)
end

-- Takes a user over the end of the segment that the user lives in (segments.lua). If another has ended since, the next call goes on: each
-- may be as much work as a call may do.
local function pass_ends(tx, id)
  local segment, refusal = next_end(tx)
  if not segment then
    return nil, refusal
  end
  local _
  _, refusal = pass_end(tx, id, segment)
  if refusal then
    return nil, refusal
  end
  segment, refusal = next_end(tx)
  if refusal then
    return nil, refusal
  elseif segment then
    return nil, { outcome.again }
  end
  settle.reschedule(tx)
  return true
end

-- Settles a user up to now, and commits what that changed as an entry of its own. Returns the transaction. Refuses when there is more than
-- one call may do, a plan or a time zone is not known, or the ledger is full.
function settle.run(tx, id)
  reset(tx)
  if not tx.exists then
    return tx
  end
  if (tx.core[core.segment] or 0) < tx.part.segment then
    local _, refusal = pass_ends(tx, id)
    if refusal then
      return nil, refusal
    end
  end
  if not tx.plan.isTimed then
    return tx
  end
  local has_passed, refusal = pass_anniversary(tx, id)
  if refusal then
    return nil, refusal
  end
  local length = streaks.length(tx)
  local more
  more, refusal = pass_time(tx)
  if refusal then
    return nil, refusal
  end
  if tx.settled or tx.streaks_settled then
    if ledger.is_full(tx) then
      return nil, { outcome.ledgerFull }
    end
    enter_points(tx)
    settle.enter_streak(tx, length)
    if not more then
      schedule(tx)
    end
    commit_time(tx, id)
  elseif has_passed then
    settle.reschedule(tx)
  end
  if more then
    return nil, { outcome.again }
  end
  return tx
end

return settle
