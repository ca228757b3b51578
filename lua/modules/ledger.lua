-- The ledger: one stream entry for each change of state, written in the same atomic step as the change (src/ledger/entry.ts reads it).
local contract = require('contract')

local ledger = {}

-- Whether the ledger has as many entries that Postgres has not committed as it may have (`tx.context.maxLedger`). Asked before anything is
-- written for a caller. How many still fit is noted, so that the length is looked at once for contract.limit.ledgerLookEntries entries; it
-- is looked at again that often because another version of the library may be appending to the same ledger.
function ledger.is_full(part, context)
  if part.room > 0 then
    return false
  end
  part.room = math.min(context.maxLedger - redis.call('XLEN', part.ledger), contract.limit.ledgerLookEntries)
  return part.room <= 0
end

-- Lua hands a function at most 8,000 values.
local MAX_VALUES = 7000

-- Values one after the other in one, each behind its length in bytes (src/ledger/entry.ts).
local function joined(values, count)
  local parts = {}
  for i = 1, count do
    parts[i] = struct.pack('>I4c0', #values[i], values[i])
  end
  return table.concat(parts)
end

-- An entry as a list (src/redis/layout.ts, `entry`): what it does not have is false, since cmsgpack would pack a list with holes as a map.
local function listed(entry)
  return {
    contract.entryVersion,
    entry.kind,
    entry.id or false,
    entry.user or false,
    entry.at,
    entry.day or false,
    entry.rev or false,
    entry.points or false,
    entry.boards or false,
    entry.achieved or false,
    entry.profile or false,
    entry.streaks or false,
    entry.periods or false,
    entry.pauses or false,
    entry.freezes or false,
    entry.back or false,
    entry.metric or false,
    entry.value or false,
    entry.total or false,
    entry.same or false,
    entry.attributes or false,
    entry.key or false,
    entry.streak or false,
    entry.no or false,
    entry.run or false,
    entry.max or false,
  }
end

-- Appends an entry and returns it packed, as it went into the stream: the answer to the caller is made from the same facts. The first
-- `count` items of `changed` are the fields of the user's hash that have changed, each followed by its value: they go into the stream as
-- they are. (Nil for an entry that is not a user's.)
function ledger.append(part, entry, changed, count)
  local blob = cmsgpack.pack(listed(entry))
  part.room = part.room - 1
  if not changed then
    redis.call('XADD', part.ledger, '*', 'e', blob)
  elseif count <= MAX_VALUES then
    redis.call('XADD', part.ledger, '*', 'e', blob, unpack(changed, 1, count))
  else
    redis.call('XADD', part.ledger, '*', 'e', blob, '', joined(changed, count))
  end
  if part.is_awaited then
    part.is_awaited = false
    redis.call('PUBLISH', part.written, '')
  end
  return blob
end

return ledger
