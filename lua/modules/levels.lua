-- How many users have each level of a points system. Every user is counted at the level stored with the user, which every award keeps right
-- (points.lua). When the levels themselves change, the worker counts all users anew (src/jobs/levels.ts); until it has, the counts are not
-- those of the active levels, and `readLevels` shows that.
local contract = require('contract')
local command = require('command')
local partition = require('partition')
local points = require('points')
local settle = require('settle')
local transaction = require('transaction')
local outcome = contract.outcome

local levels = {}

-- Field of the hash of counts, with the system's no: the definition by which all users are counted. Empty once it is not the active one.
local DEFINITION = contract.levelsDefinition

local function system_of(plan, no)
  for _, system in ipairs(plan.systems) do
    if system.no == no then
      return system
    end
  end
  return nil
end

-- Marks the counts of systems whose levels another plan defines otherwise.
function levels.expire(part, plan)
  for _, system in ipairs(plan.systems) do
    local counted_by = redis.call('HGET', part.levels, DEFINITION .. system.no)
    if counted_by and counted_by ~= system.levelsAre then
      redis.call('HSET', part.levels, DEFINITION .. system.no, '')
    end
  end
end

-- Counts a user at the level that the user now has. `stored` is the level that Postgres has, 0 for none.
-- Arguments: user, entryId, system, stored. Replies: ok.
command.of_user('relevel', { writes = true }, function(tx, args, position)
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
    -- Layout `pointsFact`.
    entry.points = { { system.no, total, total, level, before, true, {} } }
    transaction.commit(tx, entry)
  end
  return { outcome.ok }
end)

-- Stores that all users are counted by a definition of a system's levels, if it is the active one.
-- Arguments: system, definition. Replies: ok.
command.with_plan('levelsCounted', function(call, args, position)
  local system = system_of(call.plan, tonumber(args[position.system]))
  if system and system.levelsAre == args[position.definition] then
    redis.call('HSET', call.part.levels, DEFINITION .. system.no, system.levelsAre)
  end
  return { outcome.ok }
end)

-- Reads how many users have each level.
-- Arguments: system, the no of each level. Replies: ok, the definition by which all users are counted (false for none yet), the counts, the
-- number of users, and the ledger's newest id.
command.reading('readLevels', function(call, args, position)
  local part = call.part
  local counts = redis.call('HMGET', part.levels, DEFINITION .. args[position.system], unpack(args, position.rest))
  local counted_by = table.remove(counts, 1)
  return { outcome.ok, counted_by, counts, partition.users(part), partition.last_ledger_id(part) }
end)

return levels
