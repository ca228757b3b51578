-- Commands about a whole partition: comparing Redis with Postgres, the active configuration, the clock.
local contract = require('contract')
local command = require('command')
local ledger = require('ledger')
local levels = require('levels')
local partition = require('partition')
local plans = require('plans')
local segments = require('segments')
local time = require('time')
local meta, outcome = contract.meta, contract.outcome

local NO_WRITES, WRITES = { 'no-writes' }, {}

-- Closes a partition that lacks what Postgres has, and wakes the workers; adds to the reply how many have received that.
local function close(part, noted, reply)
  part.server = nil
  if noted then
    -- A library of another version may remember the partition as open.
    redis.call('HDEL', part.meta, meta.server)
  end
  reply[#reply + 1] = redis.call('PUBLISH', part.written, '')
  return reply
end

-- Whether Postgres was put back to an older state than this Redis: Redis was restored after that state (returns its epoch), or its ledger
-- was trimmed in this epoch further than Postgres has it (returns up to where). Else false or nil.
local function lost_by_postgres(found, epoch, last_id)
  local held, trimmed, past = found[1], found[4], found[5]
  if held ~= epoch then
    return past and (' ' .. past .. ' '):find(' ' .. epoch .. ' ', 1, true) and held
  end
  local trimmed_in, id = (trimmed or ''):match('^(%S+) (%S+)$')
  return trimmed_in == epoch and partition.is_below(last_id, id) and id
end

-- Opens the partition if it is in sync with Postgres, which has committed up to `lastId` of the ledger of `epoch`. An empty partition of
-- which Postgres has committed nothing gets the epoch. `isFinal` is 1 when entries that a worker has read of an earlier server can no
-- longer be committed; else only a partition that is open already is opened. The test clock continues from `testClockMs`, empty without
-- one, unless Redis has a later time.
-- Arguments: epoch, lastId, isFinal, testClockMs. Replies: ok; notOpen, and 1 if the partition has the epoch; behind, the newest id and
-- how many workers were woken; foreign, the partition's epoch and how many workers were woken; ahead, and what Postgres lacks (an id or an
-- epoch).
command.unchecked('open', WRITES, function(keys, args, position)
  local epoch, last_id, is_final = args[position.epoch], args[position.lastId], args[position.isFinal] == '1'
  local part = partition.of(keys[1])
  local found = redis.call('HMGET', part.meta, meta.epoch, meta.version, meta.server, meta.trimmed, meta.past, meta.segments)
  local held, version, noted = found[1], found[2], found[3]
  local lost = held and lost_by_postgres(found, epoch, last_id)
  if lost then
    return { outcome.ahead, lost }
  end
  if held and held ~= epoch then
    -- The partition stays open for the callers with the right database.
    return { outcome.foreign, held, redis.call('PUBLISH', part.written, '') }
  end
  local newest = partition.last_ledger_id(part)
  if not held and last_id ~= '0-0' then
    return close(part, noted, { outcome.behind, '' })
  end
  if partition.is_below(newest, last_id) then
    return close(part, noted, { outcome.behind, newest })
  end
  if part.server and part.server == noted and part.epoch == epoch then
    return { outcome.ok }
  end
  if not is_final then
    return { outcome.notOpen, held and 1 or 0 }
  end
  local server = redis.call('INFO', 'server'):match('run_id:(%w+)')
  local reached = tonumber(args[position.testClockMs])
  if reached and reached > tonumber(redis.call('GET', part.clock) or 0) then
    redis.call('SET', part.clock, string.format('%.0f', reached))
  end
  redis.call('HSET', part.meta, meta.epoch, epoch, meta.server, server)
  part.version, part.epoch, part.server, part.room = tonumber(version or 0), epoch, server, 0
  segments.note(part, found[6])
  return { outcome.ok }
end)

-- Called by a worker that has read the ledger to its end: the next entry is then published, so the worker need not poll (ledger.lua).
-- Arguments: epoch, lastId. Replies: ok, and 1 if the ledger has entries; foreign, behind.
command.unchecked('awaitEntries', NO_WRITES, function(keys, args, position)
  local part, last_id = partition.of(keys[1]), args[position.lastId]
  local epoch = redis.call('HGET', part.meta, meta.epoch)
  if epoch and epoch ~= args[position.epoch] then
    return { outcome.foreign }
  end
  if (not epoch and last_id ~= '0-0') or partition.is_below(partition.last_ledger_id(part), last_id) then
    return { outcome.behind }
  end
  -- Committed entries are trimmed. Entries that are still there were committed by a worker that was killed before that: trim them.
  local has_entries = redis.call('XLEN', part.ledger) > 0
  part.is_awaited = not has_entries
  return { outcome.ok, has_entries and 1 or 0 }
end)

-- Replies: ok and the newest id of the ledger.
command.reading('ledgerId', function(call)
  return { outcome.ok, partition.last_ledger_id(call.part) }
end)

-- Replies: ok, the time in milliseconds, and the ledger id of the newest deletion of a user.
command.reading('newestDeletion', function(call)
  return { outcome.ok, string.format('%.0f', time.now(call)), partition.deleted(call.part) }
end)

-- The leaderboards of a plan whose participant limit is not that of the plan before, each with the limit that it had.
local function changed_limits(before, plan)
  local changed = {}
  for no, board in pairs(plan.boards) do
    local earlier = before and before.boards[no]
    if earlier and earlier.max ~= board.max then
      changed[#changed + 1] = { no = board.no, before = earlier.max }
    end
  end
  return changed
end

-- Activates a configuration version: from here on, calls of older versions are sent back, so no event is counted by rules that have been
-- replaced. The newest version wins, whatever the order in which they arrive.
-- Arguments: blob (the plan), planTtlS, channel (on which the switch is published). Replies: ok; staleConfig.
command.on_any_version('activate', function(call, args, position)
  local part, version, hash = call.part, call.context.version, call.context.plan
  -- A library of another version may have activated since.
  local found = redis.call('HMGET', part.meta, meta.version, meta.plan, meta.segments)
  local active, superseded = tonumber(found[1] or 0), found[2]
  part.version = math.max(part.version, active)
  if version < part.version then
    return { outcome.staleConfig }
  end
  segments.note(part, found[3])
  redis.call('SET', part.plan .. hash, args[position.blob])
  local plan = cmsgpack.unpack(args[position.blob])
  if superseded and superseded ~= hash then
    local before, now = plans.get(superseded, part), time.now(call)
    local changed = changed_limits(before, plan)
    -- One entry for each configuration, which Postgres has stored just now: the limit of the ledger does not apply.
    if #changed > 0 then
      ledger.append(part, { kind = 'limits', at = now, boards = changed })
    end
    if version > active and not (before and before.time == plan.time) then
      segments.finish(part, { at = now, version = active, plan = superseded, next = version, ttl = args[position.planTtlS] })
    end
    redis.call('EXPIRE', part.plan .. superseded, args[position.planTtlS])
  end
  levels.expire(part, plan)
  redis.call('HSET', part.meta, meta.version, version, meta.plan, hash)
  part.version = version
  redis.call('PUBLISH', args[position.channel], 'config')
  return { outcome.ok }
end)

-- Replies: ok, the epoch, and the number of the segment that runs; 0 when no user lives in an ended one.
command.reading('readSegments', function(call)
  local part = call.part
  return { outcome.ok, part.epoch, #part.ended > 0 and part.segment or 0, #part.ended }
end)

-- Drops the segments that no user lives in any more, unless the epoch in which this was found out has ended: a restore may have brought
-- back users who live in them.
-- Arguments: upTo, epoch. Replies: ok.
command.on_partition('dropSegments', function(call, args, position)
  if args[position.epoch] == call.part.epoch then
    segments.drop(call.part, tonumber(args[position.upTo]))
  end
  return { outcome.ok }
end)

-- Reads the clock, and moves the test clock forward. The first time that is set may be a moment ago.
-- Arguments: to (empty to read only). Replies: ok and the time in milliseconds; clockBackward and the time.
command.on_partition('clock', function(call, args, position)
  local part, now, to = call.part, time.now(call), tonumber(args[position.to])
  if to then
    if to < now and redis.call('EXISTS', part.clock) == 1 then
      return { outcome.clockBackward, string.format('%.0f', now) }
    end
    redis.call('SET', part.clock, string.format('%.0f', to))
    now = to
  end
  return { outcome.ok, string.format('%.0f', now) }
end)
