-- The ledger: one stream entry for each change of state, written in the same atomic step as the change (src/ledger/entry.ts reads it).
local contract = require('contract')

local ledger = {}

-- Whether the ledger has as many entries that Postgres has not committed as it may have (`one.context.maxLedger`). Asked before anything is
-- written for a caller. How many still fit is noted, so that the length is looked at once for contract.limit.ledgerLookEntries entries; it
-- is looked at again that often because another version of the library may be appending to the same ledger.
function ledger.is_full(part, context)
  if part.room > 0 then
    return false
  end
  part.room = math.min(context.maxLedger - redis.call('XLEN', part.ledger), contract.limit.ledgerLookEntries)
  return part.room <= 0
end

-- Appends an entry and returns it packed, as it went into the stream: the answer to the caller is made from the same facts. `streaks` are
-- the user's, packed for the user's hash already, when they have changed.
function ledger.append(part, entry, streaks)
  local blob = cmsgpack.pack(entry)
  part.room = part.room - 1
  if streaks then
    redis.call('XADD', part.ledger, '*', 'e', blob, 's', streaks)
  else
    redis.call('XADD', part.ledger, '*', 'e', blob)
  end
  if part.is_awaited then
    part.is_awaited = false
    redis.call('PUBLISH', part.written, '')
  end
  return blob
end

return ledger
