-- Segments of time. In one segment, what passing time does to users is always the same; it ends with the activation of a configuration that
-- changes this (`time` of the plans: src/plan/compile.ts).
--
-- The core of a user has the number of the segment that the user lives in. Before anything else, settle.lua takes a user over the ends of
-- the segments since, each at its moment and under its own plan. So whatever time did before an activation follows the configuration that
-- was in force then, whenever the user is settled. The worker takes all users over (src/jobs/activations.ts) and then drops the ended ones.
local contract = require('contract')
local ledger = require('ledger')
local partition = require('partition')
local plans = require('plans')
local meta, outcome = contract.meta, contract.outcome
local NO, AT, VERSION, PLAN = contract.segment.no, contract.segment.at, contract.segment.version, contract.segment.plan

local segments = {}

-- Takes what `meta` stores of the segments into the memory of this server.
function segments.note(part, blob)
  local stored = blob and cmsgpack.unpack(blob) or { 0, {} }
  part.segment, part.ended = stored[1], stored[2]
end

local function store(part)
  redis.call('HSET', part.meta, meta.segments, cmsgpack.pack({ part.segment, part.ended }))
end

-- Drops the ended segments before a number.
function segments.drop(part, up_to)
  local kept = {}
  for _, segment in ipairs(part.ended) do
    if segment[NO] >= up_to then
      kept[#kept + 1] = segment
    end
  end
  part.ended = kept
  store(part)
  ledger.append(part, { kind = 'segmentsDropped', no = up_to })
end

-- The name of the plan of an ended segment. Libraries may differ in the layout of plans, so each has its own.
local function plan_name(segment)
  return segment[PLAN] .. '-' .. contract.name
end

-- Ends the segment that runs: at the moment `at`, a configuration is replaced, of which `version` and the `plan` in Redis are given; `next`
-- is the version that replaces it.
function segments.finish(part, ended)
  local segment = { part.segment, ended.at, ended.version, ended.plan, ended.next }
  part.segment = part.segment + 1
  part.ended[#part.ended + 1] = segment
  store(part)
  redis.call('COPY', part.plan .. ended.plan, part.plan .. plan_name(segment))
  redis.call('EXPIRE', part.plan .. plan_name(segment), ended.ttl)
  ledger.append(part, { kind = 'segment', at = ended.at, segment = segment })
  if partition.users(part) == '0' then
    segments.drop(part, part.segment)
  end
end

-- Gives an earlier plan what is always shown as the active one has it: levels, and how many participants leaderboards have.
local function adjust(earlier, plan)
  if earlier.adjusted_to == plan then
    return
  end
  local systems = {}
  for _, system in ipairs(plan.systems) do
    systems[system.no] = system
  end
  local function limit_boards(list)
    for _, board in ipairs(list) do
      local now = plan.boards[board.key]
      if now then
        board.max, board.lastPlace = now.max, now.lastPlace
      end
    end
  end
  for _, system in ipairs(earlier.systems) do
    system.own_levels = system.own_levels or system.levels
    system.levels = systems[system.no] and systems[system.no].levels or system.own_levels
    limit_boards(system.boards)
  end
  limit_boards(earlier.streakBoards)
  earlier.adjusted_to = plan
end

-- The plan of an ended segment. Refuses when Redis does not hold it. `plan` is the active one.
local function plan_of(part, segment, plan)
  local name = plan_name(segment)
  local earlier = plans.get(name, part)
  if not earlier then
    return nil, { outcome.unknownPlan, segment[VERSION], name }
  end
  adjust(earlier, plan)
  return earlier
end

-- The end of the segment that a user lives in, and the plans before and after it; nil when the user lives in the one that runs. Refuses
-- when Redis lacks a plan.
function segments.next_end(part, lives_in, plan)
  for i, segment in ipairs(part.ended) do
    if segment[NO] >= lives_in then
      local before, refusal = plan_of(part, segment, plan)
      local following, after = part.ended[i + 1], plan
      if following and not refusal then
        after, refusal = plan_of(part, following, plan)
      end
      if refusal then
        return nil, refusal
      end
      return { at = segment[AT], next = segment[NO] + 1, before = before, after = after }
    end
  end
  return nil
end

return segments
