-- One tenant's part of Redis: the names of its keys, and what this server remembers about it between calls.
--
-- The remembered part is gone when the server restarts, when a replica takes over and when the library is loaded anew. That is what makes
-- it safe: until `open` has compared Redis with what Postgres has committed, every other function answers `notOpen`, so a Redis that came
-- back empty or old never takes an event. `open` also notes, in the partition itself, on which server it has opened it, and each call looks
-- whether that is still so. A server that is emptied while it runs (FLUSHALL) has no such note, and one that was a replica for a while has
-- that of another: what either remembers counts for nothing.
local contract = require('contract')
local channel, key, limit, outcome = contract.channel, contract.key, contract.limit, contract.outcome

local partition = {}

-- Fields of `meta`. The server is known by its `run_id`, which is another with each start.
local EPOCH, VERSION = 'epoch', 'version'
local SERVER = contract.meta.server
local TRIMMED, PAST = contract.meta.trimmed, contract.meta.past

-- prefix -> partition; one entry for each tenant, so it is as bounded as they are.
local partitions = {}

-- Whether this server is a node of a cluster; nil before the first call.
local is_clustered

-- In a cluster, keys of this partition may be on their way to another master, one by one. No key has the bare prefix as its name: a command
-- on it fails in just that case, before anything has been changed or a key that is gone been taken for one that never was.
local function refuse_half(prefix)
  if is_clustered == nil then
    is_clustered = redis.call('INFO', 'cluster'):find('cluster_enabled:1', 1, true) ~= nil
  end
  if is_clustered then
    redis.call('EXISTS', prefix)
  end
end

local function of(meta_key)
  local prefix = meta_key:sub(1, -#key.meta - 1)
  refuse_half(prefix)
  local part = partitions[prefix]
  if not part then
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
      completions = prefix .. key.completions,
      levels = prefix .. key.levels,
      groups = prefix .. key.groups,
      zones = prefix .. key.zones,
      written = prefix .. channel.written,
      -- Whether the next entry of the ledger is to be told of. As long as nobody has looked, somebody is to.
      is_awaited = true,
      -- How many entries the ledger takes before its length is looked at (ledger.lua).
      room = 0,
      -- The server on which it was opened; nil when it is not open.
      server = nil,
      version = 0,
    }
    partitions[prefix] = part
  end
  return part
end

-- context argument -> its fields; as many as there are versions of the service and of its configuration at one time.
-- `older_contexts` are those of before the cache was last full.
local contexts, older_contexts, contexts_cached = {}, {}, 0

local function take_apart(argument)
  if contexts_cached >= limit.maxCachedContexts then
    contexts, older_contexts, contexts_cached = {}, contexts, 0
  end
  contexts_cached = contexts_cached + 1
  if older_contexts[argument] then
    contexts[argument] = older_contexts[argument]
    return contexts[argument]
  end
  local context, i = {}, 0
  for value in argument:gmatch('[^ ]+') do
    i = i + 1
    context[contract.context[i]] = value
  end
  context.version = tonumber(context.version)
  context.testClock = context.testClock == '1'
  context.maxLedger = tonumber(context.maxLedger)
  contexts[argument] = context
  return context
end

-- The partition and the context of a call (contract.ts, CallContext), or nil and notOpen when it was not opened, or was opened for
-- another database than the caller's. The context is always the first argument.
function partition.compared(keys, args)
  local part = of(keys[1])
  local context = contexts[args[1]] or take_apart(args[1])
  local server = part.server
  if not server or context.epoch ~= part.epoch or redis.call('HGET', part.meta, SERVER) ~= server then
    return nil, { outcome.notOpen }
  end
  return part, context
end

-- The same, and the configuration is the one in force; else nil and the outcome that the caller has to act on first.
function partition.enter(keys, args)
  local part, context = partition.compared(keys, args)
  if part and context.version ~= part.version then
    return nil, { context.version < part.version and outcome.staleConfig or outcome.newerConfig }
  end
  return part, context
end

-- Stream ids are `milliseconds-number`; compares them as two numbers.
local function id_is_below(a, b)
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

-- Tells that this Redis lacks what Postgres has, whoever asks later too, and how many workers hear of it.
local function lacks(part, noted, reply)
  part.server = nil
  if noted then
    -- A library of another version may remember that it was level.
    redis.call('HDEL', part.meta, SERVER)
  end
  reply[#reply + 1] = redis.call('PUBLISH', part.written, '')
  return reply
end

-- What tells that Postgres has been put back to a state that is older than this Redis: the ledger was trimmed in this life further than
-- Postgres has it, or this life began after the one that Postgres knows. Else nil.
local function lost_by_postgres(held, epoch, last_id, trimmed, past)
  if held ~= epoch then
    return past and (' ' .. past .. ' '):find(' ' .. epoch .. ' ', 1, true) and held
  end
  local life, id = (trimmed or ''):match('^(%S+) (%S+)$')
  return life == epoch and id_is_below(last_id, id) and id
end

-- Opens the partition when it is level with Postgres, which has committed up to `lastId` of the ledger of the life `epoch`. An empty
-- partition of which Postgres has committed nothing is given its epoch. `isFinal` says that what a worker read of an earlier server is not
-- going to be committed any more; unless it is, only a partition that is open already is: the others answer notOpen, and 1 if they have
-- the epoch.
local function open(keys, args)
  local position = contract.arg.open
  local epoch, last_id, is_final = args[position.epoch], args[position.lastId], args[position.isFinal] == '1'
  local part = of(keys[1])
  local found = redis.call('HMGET', part.meta, EPOCH, VERSION, SERVER, TRIMMED, PAST)
  local held, version, noted = found[1], found[2], found[3]
  local lost = held and lost_by_postgres(held, epoch, last_id, found[4], found[5])
  if lost then
    return { outcome.ahead, lost }
  end
  if held and held ~= epoch then
    -- A caller with another database is told so, and does not disturb those with the right one.
    return { outcome.foreign, held, redis.call('PUBLISH', part.written, '') }
  end
  local newest = partition.last_ledger_id(part)
  if not held and last_id ~= '0-0' then
    return lacks(part, noted, { outcome.behind, '' })
  end
  if id_is_below(newest, last_id) then
    return lacks(part, noted, { outcome.behind, newest })
  end
  if part.server and part.server == noted and part.epoch == epoch then
    return { outcome.ok }
  end
  if not is_final then
    return { outcome.notOpen, held and 1 or 0 }
  end
  local server = redis.call('INFO', 'server'):match('run_id:(%w+)')
  redis.call('HSET', part.meta, EPOCH, epoch, SERVER, server)
  part.version, part.epoch, part.server, part.room = tonumber(version or 0), epoch, server, 0
  return { outcome.ok }
end

local function ledger_id(keys, args)
  local part, context = partition.enter(keys, args)
  if not part then
    return context
  end
  return { outcome.ok, partition.last_ledger_id(part) }
end

-- Whoever writes the ledger down asks this when it has come to the end, and need not look again until it is told (ledger.lua).
local function await_entries(keys, args)
  local position = contract.arg.awaitEntries
  local part, last_id = of(keys[1]), args[position.lastId]
  local epoch = redis.call('HGET', part.meta, EPOCH)
  if epoch and epoch ~= args[position.epoch] then
    return { outcome.foreign }
  end
  if (not epoch and last_id ~= '0-0') or id_is_below(partition.last_ledger_id(part), last_id) then
    return { outcome.behind }
  end
  -- What is committed is trimmed. If it is still there, whoever wrote it down was killed before that, and it has to be trimmed.
  local has_entries = redis.call('XLEN', part.ledger) > 0
  part.is_awaited = not has_entries
  return { outcome.ok, has_entries and 1 or 0 }
end

-- The next number of the partition's one sequence, on which ties on leaderboards hang.
function partition.next_seq(part)
  return redis.call('HINCRBY', part.meta, 'seq', 1)
end

function partition.register()
  redis.register_function(contract.name .. '_open', open)
  redis.register_function({ function_name = contract.name .. '_awaitEntries', callback = await_entries, flags = { 'no-writes' } })
  redis.register_function({ function_name = contract.name .. '_ledgerId', callback = ledger_id, flags = { 'no-writes' } })
end

return partition
