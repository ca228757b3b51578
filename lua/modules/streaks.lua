-- Streaks: three of them for each user, daily, weekly and monthly, all moved by the same streak day (docs/rules/streaks.md).
--
-- They are a list in the core of the user (the names of its places are below), because an event looks at nearly all of it. A period is a
-- number (calendar.lua); 0 stands for none where a period can't be.
local calendar = require('calendar')
local contract = require('contract')
local decimal = require('decimal')
local streak_rules = require('streak_rules')
local transaction = require('transaction')
local time = require('time')
local core, limit, outcome, streak = contract.core, contract.limit, contract.outcome, contract.streak

local streaks = {}

-- Places of all streaks. HOME is the configured zone in which a user without a zone of the user's own lived when the user was last settled;
-- it is absent for UTC, and for users with a zone.
local DAY, FREEZES, EARNED_UP_TO, HOME = core.streakDay, core.freezes, core.earnedUpTo, core.home
-- WEEKS_FROM is the day from which on weeks are those of the configuration; those before it begin on the other day.
local WEEKS_FROM = core.weeksFrom
-- The shifts of the two ways to count weeks (calendar.lua) together: one less the other.
local BOTH_SHIFTS = 7
-- Places of one streak, behind its base. LOST_LENGTH and LOST_STARTED are what a restore brings back; COUNTS is metric no, as
-- text -> change in the period.
local LENGTH, STARTED, LAST, EXTENDED_AT, GRACE = streak.length, streak.started, streak.last, streak.extendedAt, streak.grace
local COUNTED, COUNTS, LOST_LENGTH, LOST_STARTED = streak.counted, streak.counts, streak.lostLength, streak.lostStarted
local NONE = -1

local frequencies = { 'daily', 'weekly', 'monthly' }
-- Where the places of a streak begin: a frequency's place of the core is the one in front of its first.
local base_of = { daily = core.daily, weekly = core.weekly, monthly = core.monthly }
local bases = { core.daily, core.weekly, core.monthly }

-- The shift of the weeks that a day is in.
local function week_shift(all, day, shift)
  local from = all[WEEKS_FROM]
  return from and day < from and BOTH_SHIFTS - shift or shift
end

-- The period that a day is in, for this user.
local function period_of(tx, all, frequency, day)
  return calendar.period(frequency, day, week_shift(all, day, tx.plan.weekShift))
end

-- The first day of a period, for this user.
local function first_day(tx, all, frequency, period)
  local shift = tx.plan.weekShift
  local first, from = calendar.first_day(frequency, period, shift), all[WEEKS_FROM]
  if from and frequency == 'weekly' and first < from then
    return calendar.first_day(frequency, period, BOTH_SHIFTS - shift)
  end
  return first
end

-- What HOME is under a plan for a user with this zone, empty or false for none; false for none too.
local function home(plan, zone)
  local lives_in_default = not zone or zone == ''
  return lives_in_default and plan.zone ~= 'UTC' and plan.zone
end

local function begin(tx, settings, all)
  all[DAY], all[EARNED_UP_TO] = tx.created_day, tx.created_day
  all[FREEZES] = math.min(settings.freezes.initial, settings.freezes.maximum)
  all[HOME] = home(tx.plan, all[core.tz])
  for _, base in pairs(base_of) do
    all[base + LENGTH], all[base + LOST_LENGTH], all[base + EXTENDED_AT], all[base + GRACE] = 0, 0, 0, 0
    all[base + STARTED], all[base + LAST], all[base + COUNTED], all[base + LOST_STARTED] = NONE, NONE, NONE, NONE
  end
  tx.streaks_settled = true
end

-- The core of a transaction, which has the streaks; nil while streaks are not enabled. A user who has none yet gets the initial freezes.
function streaks.of(tx)
  local settings, all = tx.plan.streaks, tx.core
  if not settings or not tx.exists then
    return nil
  end
  if not all[DAY] then
    begin(tx, settings, all)
  end
  return all
end

-- The streaks of a transaction, and the base of the one that the operator has chosen to show; nil while streaks are not enabled.
local function shown_of(tx)
  local all = streaks.of(tx)
  return all, all and base_of[tx.plan.streaks.frequency]
end

function streaks.length(tx)
  local all = streaks.of(tx)
  return all and all[base_of[tx.plan.streaks.frequency] + LENGTH] or 0
end

-- Notes whether the transaction has changed them, before its commit. (The initial freezes are a change too.)
function streaks.save(tx)
  tx.streaks_written = tx.streaks_settled or tx.streaks_counted
  tx.streaks_settled, tx.streaks_counted = false, false
end

-- The user's pauses.
function streaks.pauses(tx)
  return transaction.map(tx.core, core.pauses)
end

-- Whether a pause touches one of the days of a period.
local function is_paused(tx, frequency, period)
  local pauses = streaks.pauses(tx)
  if #pauses == 0 then
    return false
  end
  local first = first_day(tx, tx.core, frequency, period)
  local last = first_day(tx, tx.core, frequency, period + 1) - 1
  for _, pause in ipairs(pauses) do
    if pause.first <= last and pause.last >= first then
      return true
    end
  end
  return false
end

-- Adds the freezes that were earned by the end of a day; `tx.freezes_earned` counts them.
local function earn_freezes(tx, all, up_to)
  local freezes = tx.plan.streaks.freezes
  if up_to <= all[EARNED_UP_TO] then
    return
  end
  local created = tx.created_day
  local times = 0
  if freezes.interval > 0 then
    times = math.floor((up_to - created) / freezes.interval) - math.floor((all[EARNED_UP_TO] - created) / freezes.interval)
  end
  if times > 0 and all[FREEZES] < freezes.maximum then
    local before = all[FREEZES]
    all[FREEZES] = math.min(before + times * freezes.amount, freezes.maximum)
    tx.freezes_earned = tx.freezes_earned + all[FREEZES] - before
  end
  all[EARNED_UP_TO] = up_to
end

local function lose(tx, all, at)
  all[at + LOST_LENGTH], all[at + LOST_STARTED] = all[at + LENGTH], all[at + STARTED]
  all[at + LENGTH], all[at + STARTED], all[at + GRACE] = 0, NONE, 0
  tx.streak_changed = true
end

-- Notes what became of a period, with the length that the streak now has, and when and at which length it was reset in the period.
local function note(tx, frequency, period, how, reset_at)
  local periods, all, at = tx.periods, tx.core, base_of[frequency]
  -- Layout `periodFact`.
  local is_shown = frequency == tx.plan.streaks.frequency
  periods[#periods + 1] = { frequency, period, all[at + LENGTH], how, is_shown, reset_at, reset_at and all[at + LOST_LENGTH] }
end

-- Takes one streak over the periods that have passed without an extension.
local function pass_periods(tx, all, frequency, current)
  local at = base_of[frequency]
  local earned_day = 0
  if all[at + GRACE] > 0 then
    if tx.now < all[at + GRACE] then
      return
    end
    -- What the grace held open is missed when the grace ends.
    earned_day = time.local_day(tx, transaction.zone(tx), all[at + GRACE] - 1) or 0
    all[at + GRACE] = 0
  end
  local freezes = frequency == tx.plan.streaks.frequency
  local off = frequency == 'daily' and streak_rules.days_off(tx)
  while all[at + LENGTH] > 0 and all[at + LAST] < current - 1 do
    local missed = all[at + LAST] + 1
    if freezes then
      local last_day = first_day(tx, all, frequency, missed + 1) - 1
      earn_freezes(tx, all, math.min(math.max(last_day, earned_day), tx.streak_day))
    end
    if is_paused(tx, frequency, missed) then
      all[at + LAST] = missed
      note(tx, frequency, missed, 'pause')
    elseif off and streak_rules.is_off(off, missed) then
      all[at + LAST] = missed
      note(tx, frequency, missed, 'day_off')
    elseif freezes and all[FREEZES] > 0 then
      all[FREEZES] = all[FREEZES] - 1
      all[at + LAST] = missed
      note(tx, frequency, missed, 'freeze')
    else
      lose(tx, all, at)
      note(tx, frequency, missed, 'lost')
    end
  end
end

-- Whether the grace of a streak is over.
local function has_ended_grace(tx, all)
  local now = tx.now
  for i = 1, #bases do
    local grace = all[bases[i] + GRACE]
    if grace > 0 and now >= grace then
      return true
    end
  end
  return false
end

-- Applies the passing of time to the user's streaks. `tx.streaks_settled` is set if anything has changed.
function streaks.settle(tx)
  local all = streaks.of(tx)
  if not all then
    return
  end
  local day = all[DAY]
  if tx.day <= day and not has_ended_grace(tx, all) then
    return
  end
  day = math.max(day, tx.day)
  tx.streak_day = day
  for _, frequency in ipairs(frequencies) do
    pass_periods(tx, all, frequency, period_of(tx, all, frequency, day))
  end
  earn_freezes(tx, all, day)
  all[DAY] = day
  tx.streaks_settled = true
end

-- Whether a streak can be extended in a period: it has not been yet, or it was reset since.
local function is_open(all, at, period)
  return period > all[at + LAST] or all[at + LENGTH] == 0
end

local function extend(tx, frequency, all, current)
  local at = base_of[frequency]
  if all[at + LENGTH] == 0 then
    all[at + STARTED] = current
  else
    for skipped = all[at + LAST] + 1, current - 1 do
      note(tx, frequency, skipped, 'move')
    end
  end
  all[at + LENGTH] = all[at + LENGTH] + 1
  all[at + LAST], all[at + EXTENDED_AT], all[at + GRACE] = current, tx.now, 0
  tx.reschedules = true
  note(tx, frequency, current, 'extended')
  if frequency == tx.plan.streaks.frequency then
    tx.extended, tx.streak_changed = true, true
  end
end

-- Counts an event on a metric and extends the streaks whose conditions are now met. `tx.extended` tells whether the shown one was.
function streaks.count(tx, metric_key, value)
  local all = streaks.of(tx)
  if not all then
    return
  end
  local conditions = streak_rules.conditions(tx)
  local is_condition, metrics = false, conditions.metrics
  for i = 1, #metrics do
    is_condition = is_condition or metrics[i].key == metric_key
  end
  -- The configured conditions are counted for those too who have their own.
  if not is_condition and not tx.plan.streaks.counted[metric_key] then
    return
  end
  local periods = calendar.periods(all[DAY], week_shift(all, all[DAY], tx.plan.weekShift))
  for i = 1, #frequencies do
    local at, current = bases[i], periods[i]
    if all[at + COUNTED] ~= current then
      all[at + COUNTED], all[at + COUNTS] = current, {}
    end
    local counts = all[at + COUNTS]
    counts[metric_key] = decimal.add(counts[metric_key] or 0, value)
    if is_condition and is_open(all, at, current) and streak_rules.are_met(conditions, counts) then
      extend(tx, frequencies[i], all, current)
    end
  end
  tx.streaks_counted = true
end

-- Looks at the counts of the current periods again, after the conditions have changed.
local function reevaluate(tx, all)
  local conditions = streak_rules.conditions(tx)
  for _, frequency in ipairs(frequencies) do
    local at = base_of[frequency]
    local current = period_of(tx, all, frequency, all[DAY])
    if all[at + COUNTED] == current and is_open(all, at, current) and streak_rules.are_met(conditions, all[at + COUNTS] or {}) then
      extend(tx, frequency, all, current)
      tx.streaks_counted = true
    end
  end
end

-- A change of zone: gives every running streak until the end, in the old zone, of the period that it needs next. `zone` is the user's own
-- zone from now on, empty for none, which changes nothing for a user who lived in the default zone before.
function streaks.move(tx, old_zone, zone)
  local all = streaks.of(tx)
  if not all then
    return
  end
  local is_move = old_zone ~= (zone ~= '' and zone or tx.plan.zone)
  for _, frequency in ipairs(frequencies) do
    local at = base_of[frequency]
    if is_move and all[at + LENGTH] > 0 then
      local current = period_of(tx, all, frequency, all[DAY])
      local needed = math.max(all[at + LAST] + 1, current)
      local off = frequency == 'daily' and streak_rules.days_off(tx)
      while off and streak_rules.is_off(off, needed) do
        needed = needed + 1
      end
      all[at + GRACE] = time.day_start(tx, old_zone, first_day(tx, all, frequency, needed + 1))
    end
  end
  all[HOME] = home(tx.plan, zone)
  tx.streaks_settled = true
end

-- Another zone for users who have none of their own is a move for each of them, when the user is next settled: until then the user has
-- lived in the old one, whose offsets have to be known.
function streaks.follow_default(tx)
  local all, own = streaks.of(tx), tx.core[core.tz]
  if not all or (own and own ~= '') or all[HOME] == home(tx.plan, own) then
    return true
  end
  local old_zone = all[HOME] or 'UTC'
  local _, refusal = time.today(tx, old_zone, tx.clock)
  if refusal then
    return nil, refusal
  end
  local day = tx.day
  tx.zone, tx.day = old_zone, time.past_day(tx, old_zone, tx.now)
  streaks.settle(tx)
  tx.zone, tx.day = nil, day
  streaks.move(tx, old_zone, own)
  return true
end

-- Other weeks begin: the one that is running ends when it would have ended, so no day is in two weeks, and no week is cut.
local function change_weeks(tx, all, old_shift)
  local day = math.max(all[DAY], tx.day)
  local running = week_shift(all, day, old_shift)
  if running == tx.plan.weekShift then
    all[WEEKS_FROM] = false
  else
    all[WEEKS_FROM] = calendar.first_day('weekly', calendar.period('weekly', day, running) + 1, running)
  end
end

-- Streaks are enabled, after `before` without them: that time misses no period, and earns no freeze.
local function resume(tx, all, before)
  local day = math.max(all[DAY], tx.day)
  for _, frequency in ipairs(frequencies) do
    local at = base_of[frequency]
    local current = period_of(tx, all, frequency, day)
    if tx.now >= all[at + GRACE] then
      all[at + GRACE] = 0
    end
    if all[at + LENGTH] > 0 and all[at + LAST] < current - 1 then
      for skipped = math.max(all[at + LAST] + 1, current - limit.maxHistoryPeriods), current - 1 do
        note(tx, frequency, skipped, 'move')
      end
      all[at + LAST] = current - 1
    end
  end
  all[DAY], all[EARNED_UP_TO], all[HOME] = day, day, home(before, all[core.tz])
end

local function same_conditions(a, b)
  if a.mode ~= b.mode or #a.metrics ~= #b.metrics then
    return false
  end
  for i = 1, #a.metrics do
    if a.metrics[i].key ~= b.metrics[i].key or a.metrics[i].threshold ~= b.metrics[i].threshold then
      return false
    end
  end
  return true
end

-- The plan of the transaction has just replaced `before`, under which the user is settled up to now.
function streaks.adopt_plan(tx, before)
  if tx.core[DAY] and before.weekShift ~= tx.plan.weekShift then
    change_weeks(tx, tx.core, before.weekShift)
  end
  local all, now = streaks.of(tx), tx.plan.streaks
  if not all then
    return
  end
  if before.streaks then
    all[EARNED_UP_TO] = math.max(all[EARNED_UP_TO], all[DAY])
  else
    resume(tx, all, before)
  end
  streaks.follow_default(tx)
  if not (before.streaks and same_conditions(before.streaks, now)) then
    reevaluate(tx, all)
  end
  tx.streaks_settled = true
end

-- The moment at which one of the streaks will next be touched by time alone; nil when nothing is to come.
function streaks.due(tx)
  local all, due = streaks.of(tx), nil
  if not all then
    return nil
  end
  for _, frequency in ipairs(frequencies) do
    local at = base_of[frequency]
    if all[at + LENGTH] > 0 then
      local first = first_day(tx, all, frequency, all[at + LAST] + 2)
      -- A user who has moved west can have reached the day already.
      local moment = first <= all[DAY] and 0 or time.day_start(tx, transaction.zone(tx), first)
      moment = math.max(moment, all[at + GRACE])
      due = due and math.min(due, moment) or moment
    end
  end
  return due
end

-- Puts the shown streak back to the length that it had when it was last lost. Refuses when there is none, or the running one is longer.
function streaks.restore(tx)
  local all, shown = shown_of(tx)
  if not all then
    return nil, { outcome.streaksDisabled }
  elseif all[shown + LOST_LENGTH] == 0 then
    return nil, { outcome.nothingToRestore }
  elseif all[shown + LENGTH] > all[shown + LOST_LENGTH] then
    return nil, { outcome.longerStreak }
  end
  local frequency, before = tx.plan.streaks.frequency, all[shown + LENGTH]
  local current = period_of(tx, all, frequency, all[DAY])
  -- Without a streak, it was reset in a period that it had been extended in: that is true again.
  local is_extended = all[shown + LAST] == current
  if not is_extended then
    all[shown + LAST] = current - 1
  end
  all[shown + LENGTH], all[shown + STARTED] = all[shown + LOST_LENGTH], all[shown + LOST_STARTED]
  all[shown + LOST_LENGTH], all[shown + LOST_STARTED] = 0, NONE
  if all[shown + LENGTH] ~= before then
    note(tx, frequency, all[shown + LAST], is_extended and before == 0 and 'extended' or 'restored')
  end
  tx.streak_changed, tx.streaks_settled = true, true
  return true
end

-- Ends the shown streak, as a missed period would. LAST stays, so a restore knows whether the current period was extended. Refuses when
-- there is none.
function streaks.reset(tx)
  local all, shown = shown_of(tx)
  if not all then
    return nil, { outcome.streaksDisabled }
  elseif all[shown + LENGTH] == 0 then
    return nil, { outcome.noStreak }
  end
  local frequency = tx.plan.streaks.frequency
  lose(tx, all, shown)
  note(tx, frequency, period_of(tx, all, frequency, all[DAY]), 'lost', tx.now)
  tx.streaks_settled = true
  return true
end

-- One more freeze, beyond the maximum that is earned if need be. Refuses when the user holds as many as can be held.
function streaks.grant_freeze(tx)
  local all = streaks.of(tx)
  if not all then
    return nil, { outcome.streaksDisabled }
  elseif all[FREEZES] >= limit.maxFreezes then
    return nil, { outcome.tooManyFreezes }
  end
  all[FREEZES] = all[FREEZES] + 1
  tx.streaks_settled = true
  return true
end

-- One freeze less. Refuses when the user holds none.
function streaks.take_freeze(tx)
  local all = streaks.of(tx)
  if not all then
    return nil, { outcome.streaksDisabled }
  elseif all[FREEZES] <= 0 then
    return nil, { outcome.noFreeze }
  end
  all[FREEZES] = all[FREEZES] - 1
  tx.streaks_settled = true
  return true
end

-- The place in the list of the pause that has been over for the longest; nil when all of them are current or upcoming.
local function longest_over(pauses, today)
  local found
  for i, pause in ipairs(pauses) do
    if pause.last < today and not (found and pauses[found].last <= pause.last) then
      found = i
    end
  end
  return found
end

-- Adds a pause; where there is no room for one more, the one that has been over for the longest goes. Refuses a pause that starts before
-- today, and one for which there is no room.
function streaks.add_pause(tx, pause)
  local pauses = streaks.pauses(tx)
  if pause.first < tx.day then
    return nil, { outcome.pauseTooEarly }
  end
  if #pauses >= limit.maxPausesPerUser then
    local over = longest_over(pauses, tx.day)
    if not over then
      return nil, { outcome.tooManyPauses }
    end
    table.remove(pauses, over)
  end
  pauses[#pauses + 1] = pause
  return true
end

-- Removes a pause. Refuses when there is none of that id.
function streaks.remove_pause(tx, id)
  local pauses = streaks.pauses(tx)
  for i, pause in ipairs(pauses) do
    if pause.id == id then
      table.remove(pauses, i)
      return true
    end
  end
  return nil, { outcome.pauseUnknown }
end

-- What a response says of the shown streak; nil while streaks are not enabled.
function streaks.fact(tx)
  local all, shown = shown_of(tx)
  if not all then
    return nil
  end
  local frequency = tx.plan.streaks.frequency
  local current = period_of(tx, all, frequency, all[DAY])
  -- Layout `streakFact`.
  local length = all[shown + LENGTH]
  local is_extended = length > 0 and all[shown + LAST] >= current
  local extended_at, extended = all[shown + EXTENDED_AT], tx.extended or false
  local fact = { length, all[shown + STARTED], current, is_extended, extended_at, extended, all[FREEZES], all[WEEKS_FROM] }
  local off = streak_rules.days_off(tx)
  if off then
    fact[contract.streakFact.weeksFrom], fact[contract.streakFact.daysOff] = fact[contract.streakFact.weeksFrom] or false, off
  end
  return fact
end

-- The same of a user who is read, with whether a pause covers the current period.
function streaks.read_fact(tx)
  local fact, place = streaks.fact(tx), contract.streakFact
  if fact and is_paused(tx, tx.plan.streaks.frequency, fact[place.current]) then
    fact[place.weeksFrom], fact[place.daysOff] = fact[place.weeksFrom] or false, fact[place.daysOff] or false
    fact[place.isPaused] = true
  end
  return fact
end

return streaks
