-- The ledger: one stream entry for each change of state, written in the same atomic step as the change (src/ledger/entry.ts reads it).
local ledger = {}

-- Appends an entry and returns it packed, as it went into the stream: the answer to the caller is made from the same facts.
function ledger.append(part, entry)
  local blob = cmsgpack.pack(entry)
  redis.call('XADD', part.ledger, '*', 'e', blob)
  return blob
end

return ledger
