-- One tenant's part of Redis: the names of its keys, and the state that this server holds about it between calls.
--
-- That state is lost when the server restarts, when a replica takes over and when the library is loaded anew. This makes it safe: until
-- `open` has compared Redis with what Postgres has committed, every other function replies notOpen, so a Redis that came back empty or
-- old never takes an event. `open` also stores in `meta` on which server it has opened the partition, and each call checks that. A server
-- that was emptied while it ran (FLUSHALL) has no such field, and one that was a replica for a while has another server's: in both cases
-- the state in memory is void.
local contract = require('contract')
local cache = require('cache')
local channel, key, limit, meta, outcome = contract.channel, contract.key, contract.limit, contract.meta, contract.outcome

local partition = {}

-- `meta` key -> partition; one entry for each tenant, so as bounded as tenants are.
local partitions = {}

-- Whether this server is a node of a cluster; nil before the first call.
local is_clustered

-- In a cluster, keys of this partition may be moving to another master, one by one. No key has the bare prefix as its name: a command on it
-- fails in just that case, before anything is changed and before a moved key is mistaken for a missing one.
local function refuse_half(prefix)
  if is_clustered == nil then
    is_clustered = redis.call('INFO', 'cluster'):find('cluster_enabled:1', 1, true) ~= nil
  end
  if is_clustered then
    redis.call('EXISTS', prefix)
  end
end

-- The partition of a `meta` key.
function partition.of(meta_key)
  local part = partitions[meta_key]
  if not part then
    local prefix = meta_key:sub(1, -#key.meta - 1)
    part = {
      prefix = prefix,
      meta = meta_key,
      ledger = prefix .. key.ledger,
      clock = prefix .. key.clock,
      user = prefix .. key.user,
      idempotency = prefix .. key.idempotency,
      awards = prefix .. key.awards,
      board = prefix .. key.board,
      plan = prefix .. key.plan,
      due = prefix .. key.due,
      devices = prefix .. key.devices,
      completions = prefix .. key.completions,
      levels = prefix .. key.levels,
      groups = prefix .. key.groups,
      zones = prefix .. key.zones,
      written = prefix .. channel.written,
      -- Whether the next ledger entry is published. True until a worker has read the ledger to its end.
      is_awaited = true,
      -- The run and key of the latest sorted set of each leaderboard (boards.lua).
      boards = {},
      -- How many entries the ledger takes before its length is checked again (ledger.lua).
      room = 0,
      -- The server on which it was opened; nil while it is not open.
      server = nil,
      version = 0,
      -- The number of the segment of time that runs, and the ended ones that some users may still live in (segments.lua).
      segment = 0,
      ended = {},
    }
    partitions[meta_key] = part
  end
  if is_clustered ~= false then
    refuse_half(part.prefix)
  end
  return part
end

local function parse_context(argument)
  local context, i = {}, 0
  for value in argument:gmatch('[^ ]+') do
    i = i + 1
    context[contract.context[i]] = value
  end
  context.version = tonumber(context.version)
  context.testClock = context.testClock == '1'
  context.maxLedger = tonumber(context.maxLedger)
  return context
end

-- By argument: there are as many as versions of the service and of its configurations at one time.
local context_of = cache.new(limit.maxCachedContexts, parse_context)

-- The current call: its partition, its context (contract.ts, CallContext) and, once loaded, the plan. Redis runs one function at a time, so
-- one table serves all calls.
local call = { part = false, context = false, plan = false }

-- Starts a call. Refuses when the partition is not open, or was opened for another database than the caller's.
function partition.enter_any_version(keys, args)
  local part, context = partition.of(keys[1]), context_of(args[1])
  local server = part.server
  if not server or context.epoch ~= part.epoch or redis.call('HGET', part.meta, meta.server) ~= server then
    return nil, { outcome.notOpen }
  end
  call.part, call.context = part, context
  return call
end

-- The same for a caller whose configuration must be the active one.
function partition.enter(keys, args)
  local entered, refusal = partition.enter_any_version(keys, args)
  if refusal then
    return nil, refusal
  end
  local version, active = entered.context.version, entered.part.version
  if version ~= active then
    return nil, { version < active and outcome.staleConfig or outcome.newerConfig }
  end
  return entered
end

-- Whether a stream id, `milliseconds-number`, is of an earlier entry than another (src/redis/partition.ts does the same:
-- test/rules/vectors.test.ts).
function partition.is_below(a, b)
  local a_ms, a_seq = a:match('^(%d+)-(%d+)$')
  local b_ms, b_seq = b:match('^(%d+)-(%d+)$')
  a_ms, b_ms = tonumber(a_ms), tonumber(b_ms)
  if a_ms ~= b_ms then
    return a_ms < b_ms
  end
  return tonumber(a_seq) < tonumber(b_seq)
end

-- The id of the newest entry that the ledger has ever held, '0-0' for none.
function partition.last_ledger_id(part)
  if redis.call('EXISTS', part.ledger) == 0 then
    return '0-0'
  end
  local info = redis.call('XINFO', 'STREAM', part.ledger)
  for i = 1, #info, 2 do
    if info[i] == 'last-generated-id' then
      return info[i + 1]
    end
  end
  return '0-0'
end

-- The ledger id of the newest deletion of a user in this epoch, '0-0' for none.
function partition.deleted(part)
  return redis.call('HGET', part.meta, meta.deleted) or '0-0'
end

-- How many users there are.
function partition.users(part)
  return redis.call('HGET', part.meta, meta.users) or '0'
end

return partition
