-- Deleting a user for good: everything that Redis has of the user goes in one call, and the ledger tells Postgres, which follows in the
-- same order. What it takes grows with the configuration alone: the metrics, systems and boards that there are.
local contract = require('contract')
local commands = require('commands')
local leaderboards = require('leaderboards')
local ledger = require('ledger')
local partition = require('partition')
local outcome, record = contract.outcome, contract.record

local deletion = {}

-- Every record of the user's hash but the texts: what the user had under earlier configurations is in it as well.
local function read_hash(key)
  local all, records = redis.call('HGETALL', key), {}
  for i = 1, #all, 2 do
    if all[i] ~= record.name and all[i] ~= record.due then
      records[all[i]] = cmsgpack.unpack(all[i + 1])
    end
  end
  return records
end

-- Takes the user off every board: those that the hash knows, and the places that the caller has found in Postgres.
local function leave_boards(part, user, records, args, first)
  for name, stored in pairs(records) do
    leaderboards.remove_noted(part, user, leaderboards.places_in(name, stored) or {})
  end
  for i = first, #args, 4 do
    local group = args[i + 2]
    leaderboards.remove(part, user, args[i], args[i + 1], group ~= '' and group or nil, tonumber(args[i + 3]))
  end
end

-- Counts down. A count that nobody is left in goes: it is as if there had never been one.
local function decrement(counts, name)
  if redis.call('HINCRBY', counts, name, -1) <= 0 then
    redis.call('HDEL', counts, name)
  end
end

-- Counts the user out wherever users are counted.
local function count_out(part, records)
  redis.call('HINCRBY', part.meta, 'users', -1)
  for no in pairs(records[record.achievements] or {}) do
    decrement(part.completions, no)
  end
  for name, stored in pairs(records) do
    local level = name:sub(1, #record.points) == record.points and stored[contract.points.level] or 0
    if level ~= 0 then
      decrement(part.levels, level)
    end
  end
end

-- Unlinks a user's key of each of the objects, whose numbers are in a text.
local function unlink_each(start, numbers, user)
  for no in numbers:gmatch('%d+') do
    redis.call('UNLINK', start .. no .. ':' .. user)
  end
end

-- Answers with the id of the deletion in the ledger. A user who exists is settled first, as before everything: whether what was due had
-- been done a moment ago makes no difference to others. Of an id without a user, Redis has nothing, but Postgres may. The worker is woken
-- each time: it does not look at the ledgers of archived tenants by itself.
local function delete_user(keys, args)
  local position = contract.arg.deleteUser
  local tx, first = commands.begin(keys, args, position, args[position.entryId])
  if not tx then
    return first
  end
  local part, user = tx.part, tx.user
  if tx.exists then
    local records = read_hash(tx.key)
    leave_boards(part, user, records, args, position.rest)
    count_out(part, records)
    redis.call('ZREM', part.due, user)
    unlink_each(part.idempotency, args[position.metrics], user)
    unlink_each(part.awards, args[position.systems], user)
    redis.call('UNLINK', tx.key)
  end
  part.is_awaited = true
  ledger.append(part, { kind = 'deletion', id = args[position.entryId], user = user, at = tx.now })
  return { outcome.ok, partition.last_ledger_id(part) }
end

function deletion.register()
  redis.register_function(contract.name .. '_deleteUser', delete_user)
end

return deletion
