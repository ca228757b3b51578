-- Points systems: what triggers earn, boosts, cap and floor, levels, and the list of recent awards.
local contract = require('contract')
local boosts = require('boosts')
local decimal = require('decimal')
local filters = require('filters')
local transaction = require('transaction')
local limit, outcome, fact = contract.limit, contract.outcome, contract.awardFact
local place = contract.points
local PROGRESS, HIGHS = contract.metric.progress, contract.metric.highs

local points = {}

-- The highest level whose points are at most `total`, 0 for none. Levels ascend.
local function level_at(levels, total)
  local level = 0
  for i = 1, #levels do
    local at = levels[i]
    if total < at.points then
      break
    end
    level = at.no
  end
  return level
end

-- Counts the user at a level of a system, and no longer at the one before, which is returned. The counts are what level-summary reads.
local function count_level(tx, system, level)
  local before = transaction.get(tx, system.record)[place.level] or 0
  if before ~= level then
    if before ~= 0 then
      redis.call('HINCRBY', tx.part.levels, before, -1)
    end
    if level ~= 0 then
      redis.call('HINCRBY', tx.part.levels, level, 1)
    end
    transaction.change(tx, system.record)[place.level] = level
  end
  return before
end

-- Moves a trigger's progress by the event's value and returns how many multiples of its threshold were passed for the first time. The
-- high-water mark is what keeps anyone from going down and up again over the same multiple. Refuses a sum that is out of range.
local function advance(tx, trigger, value)
  local counts = transaction.change(tx, trigger.record)
  local progress, highs, key = counts[PROGRESS] or transaction.map(counts, PROGRESS), counts[HIGHS], trigger.key
  local before, noted = progress[key] or 0, highs and highs[key]
  local high_before = noted or (before > 0 and before or 0)
  local now = decimal.add(before, value)
  if now > limit.maxAbsoluteTotal or now < -limit.maxAbsoluteTotal then
    return nil, { outcome.totalOutOfRange }
  end
  local high = now > high_before and now or high_before
  progress[key] = now
  if high > now or noted then
    transaction.map(counts, HIGHS)[key] = high
  end
  if high == high_before then
    return 0
  end
  local threshold = trigger.threshold
  return math.floor(high / threshold) - math.floor(high_before / threshold)
end

-- What really can be added: a total stays within 0 and the cap.
local function within(total, cap, earned)
  if earned > 0 then
    return math.max(math.min(earned, cap - total), 0)
  end
  return math.max(earned, -total)
end

-- The state of a system in this transaction: its total, and what has been awarded so far.
local function state_of(tx, system)
  local state = tx.earned[system.no]
  if not state then
    local stored = transaction.get(tx, system.record)[place.total]
    local total = stored or 0
    state = { tx = tx, system = system, had = stored and true or false, before = total, total = total, awards = { nil, nil } }
    tx.earned[system.no] = state
    tx.earned_order[#tx.earned_order + 1] = state
  end
  return state
end

-- Adds what is awarded, unless it is nothing. `when` is that of `award`.
local function add(state, trigger_no, awarded, applied, when)
  if awarded == 0 then
    return
  end
  local tx, list = state.tx, state.awards
  state.total = state.total + awarded
  -- Layout `awardFact`.
  list[#list + 1] = { trigger_no, tx.ordinal, awarded, state.total, applied, when.now, when.day }
  tx.ordinal = tx.ordinal + 1
end

-- Awards `times` times what a trigger gives. `when` has its moment `now` and local day `day`: the transaction, or an occurrence of
-- settle.lua. Returns what was really added.
local function award(state, trigger, times, when)
  local tx, system, day = state.tx, state.system, when.day
  local earned, applied = times * trigger.points, nil
  if trigger.points > 0 then
    if state.active_day ~= day then
      state.active, state.active_day = boosts.active(system, tx, day), day
    end
    if #state.active > 0 then
      applied = boosts.numbers(state.active)
      earned = boosts.apply(state.active, times, trigger.points)
    end
  end
  local awarded = within(state.total, system.cap, earned)
  add(state, trigger.no, awarded, applied or {}, when)
  return awarded
end

-- How often a trigger fires for what the event or call has done. Refuses a sum that is out of range. `event` is nil for a call without one.
local function times_of(tx, trigger, event)
  local kind = trigger.kind
  if kind == 'metric' then
    local wanted = trigger.event
    if #wanted > 0 and not filters.match_event(wanted, event.attributes) then
      return 0
    end
    return advance(tx, trigger, event.value)
  elseif kind == 'streak' then
    return tx.extended and tx.extended_length % trigger.length == 0 and 1 or 0
  elseif kind == 'achievement' then
    return tx.achieved_now[trigger.achievement] and 1 or 0
  end
  return 0
end

-- Pays the creation triggers of a new user. Identification comes before the event or call that carries it (docs/rules/events.md), so what
-- follows in the same call has these points, whatever the order of the triggers.
function points.earn_creation(tx)
  for _, system in ipairs(tx.plan.systems) do
    for _, trigger in ipairs(system.triggers) do
      if trigger.kind == 'user_creation' and filters.match_user(trigger.user, tx) then
        award(state_of(tx, system), trigger, 1, tx)
      end
    end
  end
end

-- Works out what the event or call earns by the triggers of `systems`, the creation of the user apart. Refuses a sum that is out of range
-- (totalOutOfRange), and a trigger with blockIfOutOfPoints that can't be paid (outOfPoints).
function points.earn(tx, systems, event)
  local metric = event and event.metric
  for i = 1, #systems do
    local system = tx.plan.systems[systems[i].at]
    local triggers = systems[i].triggers
    for k = 1, #triggers do
      local trigger = triggers[k]
      local of_metric, wanted = trigger.metric, trigger.user
      if (not of_metric or of_metric == metric) and (#wanted == 0 or filters.match_user(wanted, tx)) then
        local times, refusal = times_of(tx, trigger, event)
        if refusal then
          return nil, refusal
        end
        if times > 0 then
          local state = state_of(tx, system)
          if trigger.blocks and state.total + times * trigger.points < 0 then
            return nil, { outcome.outOfPoints }
          end
          award(state, trigger, times, tx)
        end
      end
    end
  end
  return true
end

-- The award of an adjustment has no trigger.
local NO_TRIGGER = 0

-- The system with a number, which is in the plan.
local function system_of(plan, no)
  for _, system in ipairs(plan.systems) do
    if system.no == no then
      return system
    end
  end
end

-- Adds points by an operator, or takes them: no boost applies. Refuses when cap or floor leave nothing of it (nothingToAdjust).
function points.adjust(tx, no, amount)
  local state = state_of(tx, system_of(tx.plan, no))
  local awarded = within(state.total, state.system.cap, amount)
  if awarded == 0 then
    return nil, { outcome.nothingToAdjust }
  end
  add(state, NO_TRIGGER, awarded, {}, tx)
  return true
end

points.award = award
points.state_of = state_of
points.level_at = level_at
points.count_level = count_level

local DAY_MS = 86400000

-- A UUID as its 16 bytes.
local function bytes_of(id)
  return struct.pack(
    '>I4I2I2I2I2I4',
    tonumber(id:sub(1, 8), 16),
    tonumber(id:sub(10, 13), 16),
    tonumber(id:sub(15, 18), 16),
    tonumber(id:sub(20, 23), 16),
    tonumber(id:sub(25, 28), 16),
    tonumber(id:sub(29, 36), 16)
  )
end

-- The newest awards as elements of the list, the oldest first, in the layout `recentAward`.
local function elements_of(awards, id)
  local elements = { nil, nil }
  for i = math.max(1, #awards - limit.maxAwardsRead + 1), #awards do
    local given, newer = awards[i], awards[i + 1]
    local at, day = given[fact.at], given[fact.day]
    local is_shared = newer and newer[fact.at] == at and newer[fact.day] == day
    local values = cmsgpack.pack(
      not is_shared and day - math.floor(at / DAY_MS),
      given[fact.trigger],
      given[fact.ordinal],
      given[fact.awarded],
      given[fact.total],
      unpack(given[fact.boosts])
    )
    elements[#elements + 1] = is_shared and values or values .. id .. struct.pack(contract.awardMoment, at)
  end
  return elements
end

-- Saves the new totals and the recent awards, and returns the facts of the systems that changed.
function points.save(tx, id)
  local facts, id_bytes = { nil, nil }, tx.id_bytes
  local order = tx.earned_order
  for i = 1, #order do
    local state = order[i]
    if #state.awards > 0 then
      local system = state.system
      transaction.change(tx, system.record)[place.total] = state.total
      id_bytes = id_bytes or bytes_of(id)
      local list = tx.part.awards .. system.key .. ':' .. tx.user
      if redis.call('LPUSH', list, unpack(elements_of(state.awards, id_bytes))) > limit.maxAwardsKept then
        redis.call('LTRIM', list, 0, limit.maxAwardsRead - 1)
      end
      local total, before = state.total, state.before
      local level = level_at(system.levels, total)
      count_level(tx, system, level)
      -- Layout `pointsFact`.
      facts[#facts + 1] = {
        system.no,
        before,
        total,
        level,
        level_at(system.levels, before),
        state.had and before == total,
        state.awards,
      }
    end
  end
  return facts
end

-- Resets what has been earned, after a commit or for a new transaction.
function points.start(tx)
  tx.earned, tx.earned_order = {}, {}
end

return points
