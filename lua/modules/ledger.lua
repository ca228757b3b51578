-- The ledger: one stream entry for each change of state, written in the same atomic step as the change (src/ledger/entry.ts reads it).
local contract = require('contract')

local ledger = {}

-- Whether the ledger is at its limit of entries that Postgres has not committed (the context's maxLedger). Checked before anything is
-- written for a caller. The partition counts how many entries still fit, so the length is read once for contract.limit.ledgerLookEntries
-- entries; not less often, since another version of the library may be appending to the same ledger. `scope` is a call or a user
-- transaction.
function ledger.is_full(scope)
  local part = scope.part
  if part.room > 0 then
    return false
  end
  part.room = math.min(scope.context.maxLedger - redis.call('XLEN', part.ledger), contract.limit.ledgerLookEntries)
  return part.room <= 0
end

-- How many values a function is called with at most: Lua allows 8,000.
ledger.MAX_VALUES = 7000

-- Values one after the other in one, each behind its length in bytes (src/ledger/entry.ts).
local function joined(values, count)
  local parts = {}
  for i = 1, count do
    parts[i] = struct.pack('>I4c0', #values[i], values[i])
  end
  return table.concat(parts)
end

-- Appends an entry and returns it packed, as it went into the stream: the response to the caller is made from the same facts. The first
-- `count` items of `changed` are the fields of the user's hash that have changed, each followed by its value: they go into the stream as
-- they are. (Nil for an entry that is not a user's.)
function ledger.append(part, entry, changed, count)
  local blob = cmsgpack.pack(contract.list_entry(entry))
  part.room = part.room - 1
  if not changed then
    redis.call('XADD', part.ledger, '*', 'e', blob)
  elseif count <= ledger.MAX_VALUES then
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
