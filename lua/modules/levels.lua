-- How many users have each level of a points system. Every user is counted at the level noted with the user, which every award keeps right
-- (points.lua). When the levels themselves change, the worker counts everybody anew (src/jobs/levels.ts); until it has, the counts
-- are not those of the levels in force, and readers are told so.
local contract = require('contract')
local commands = require('commands')
local partition = require('partition')
local plans = require('plans')
local points = require('points')
local settle = require('settle')
local transaction = require('transaction')
local outcome = contract.outcome

local levels = {}

-- In the hash of counts, beside the numbers of levels: what everybody has been counted by. Empty once that is no longer in force.
local DEFINITION = contract.levelsDefinition

local function system_of(plan, no)
  for _, system in ipairs(plan.systems) do
    if system.no == no then
      return system
    end
  end
  return nil
end

-- A new plan with other levels: what everybody has been counted by is no longer what is in force.
function levels.expire(part, plan)
  for _, system in ipairs(plan.systems) do
    local counted_by = redis.call('HGET', part.levels, DEFINITION .. system.no)
    if counted_by and counted_by ~= system.levelsAre then
      redis.call('HSET', part.levels, DEFINITION .. system.no, '')
    end
  end
end

-- Counts a user at the level that the user now has.
local function relevel(keys, args)
  local position = contract.arg.relevel
  local tx, first = commands.begin(keys, args, position, args[position.entryId])
  if not tx then
    return first
  end
  local system = system_of(tx.plan, tonumber(args[position.system]))
  local total = system and transaction.get(tx, system.record)[contract.points.total]
  if not tx.exists or not total then
    return { outcome.ok }
  end
  local level = points.level_at(system.levels, total)
  local before = points.count_level(tx, system, level)
  if before ~= level or tonumber(args[position.stored]) ~= level then
    transaction.change(tx, system.record)
    local entry = settle.facts(tx, { kind = 'activation', id = args[position.entryId] })
    entry.points = { { system.no, total, total, level, before, true, {} } }
    transaction.commit(tx, entry)
  end
  return { outcome.ok }
end

local function levels_counted(keys, args)
  local position = contract.arg.levelsCounted
  local part, plan = plans.enter(keys, args)
  if not part then
    return plan
  end
  local system = system_of(plan, tonumber(args[position.system]))
  if system and system.levelsAre == args[position.definition] then
    redis.call('HSET', part.levels, DEFINITION .. system.no, system.levelsAre)
  end
  return { outcome.ok }
end

-- What everybody has been counted by (false for never), the counts of the listed levels, the number of users, and the newest ledger id.
local function read_levels(keys, args)
  local position = contract.arg.readLevels
  local part, context = partition.enter(keys, args)
  if not part then
    return context
  end
  local counts = redis.call('HMGET', part.levels, DEFINITION .. args[position.system], unpack(args, position.rest))
  local counted_by = table.remove(counts, 1)
  local users = redis.call('HGET', part.meta, 'users') or '0'
  return { outcome.ok, counted_by, counts, users, partition.last_ledger_id(part) }
end

function levels.register()
  local name = contract.name
  redis.register_function(name .. '_relevel', relevel)
  redis.register_function(name .. '_levelsCounted', levels_counted)
  redis.register_function({ function_name = name .. '_readLevels', callback = read_levels, flags = { 'no-writes' } })
end

return levels
