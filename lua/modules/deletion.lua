-- Deletions: of a user for good, and of idempotency keys that have grown too old.
local contract = require('contract')
local command = require('command')
local devices = require('devices')
local leaderboards = require('leaderboards')
local ledger = require('ledger')
local partition = require('partition')
local used_keys = require('used_keys')
local outcome, record = contract.outcome, contract.record

-- Every record of the user's hash but the texts, also those of earlier configurations.
local function read_hash(key)
  local all, records = redis.call('HGETALL', key), {}
  for i = 1, #all, 2 do
    if all[i] ~= record.name and all[i] ~= record.due then
      records[all[i]] = cmsgpack.unpack(all[i + 1])
    end
  end
  return records
end

-- Removes the user from every board: those of which the hash has the place, and the places that the caller has found in Postgres.
local function leave_boards(tx, records, args, first)
  for name, stored in pairs(records) do
    leaderboards.remove_stored(tx, leaderboards.places_in(name, stored) or {})
  end
  for i = first, #args, 4 do
    local no, run, group, seq = args[i], tonumber(args[i + 1]), args[i + 2], tonumber(args[i + 3])
    leaderboards.remove(tx, { no = no, run = run, group = group ~= '' and group or nil, seq = seq })
  end
end

-- Counts down, and deletes a count of zero: it is as if there had never been one.
local function decrement(counts, name)
  if redis.call('HINCRBY', counts, name, -1) <= 0 then
    redis.call('HDEL', counts, name)
  end
end

-- Counts the user out wherever users are counted.
local function count_out(part, records)
  redis.call('HINCRBY', part.meta, contract.meta.users, -1)
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

-- Deletes a user: everything that Redis has of the user goes in one call, and Postgres follows in the order of the ledger. What the call
-- takes grows with the configuration alone: the metrics, systems and boards that there are. A user who exists is settled first, as before
-- everything, which makes no difference to others. Of an id without a user, Redis has nothing, but Postgres may. The worker is woken each
-- time: it does not poll the ledgers of archived tenants.
-- Arguments: user, entryId, metrics, systems, then leaderboard, run, group and seq of each place. Replies: ok and the ledger's newest id.
command.of_user('deleteUser', { writes = true }, function(tx, args, position)
  local part, user = tx.part, tx.user
  if tx.exists then
    local records = read_hash(tx.key)
    leave_boards(tx, records, args, position.rest)
    count_out(part, records)
    devices.release(part, user, (records[record.profile] or {})[contract.field.deviceTokens])
    redis.call('ZREM', part.due, user)
    unlink_each(part.idempotency, args[position.metrics], user)
    unlink_each(part.idempotency, args[position.systems], user)
    unlink_each(part.awards, args[position.systems], user)
    redis.call('UNLINK', tx.key)
  end
  part.is_awaited = true
  ledger.append(part, { kind = 'deletion', id = args[position.entryId], user = user, at = tx.now })
  local id = partition.last_ledger_id(part)
  redis.call('HSET', part.meta, contract.meta.deleted, id)
  return { outcome.ok, id }
end)

-- Deletes idempotency keys, except those that another event has used since.
-- Arguments: metric or system, user, key and the id, as bytes, of the event or adjustment, of each. Replies: ok.
command.on_partition('deleteKeys', function(call, args, position)
  for i = position.rest, #args, 4 do
    local keys_hash, used, id = used_keys.hash(call.part, args[i], args[i + 1]), args[i + 2], args[i + 3]
    local stored = used_keys.find(keys_hash, used)
    if stored and stored:sub(1, #id) == id then
      redis.call('HDEL', keys_hash, used)
    end
  end
  return { outcome.ok }
end)
