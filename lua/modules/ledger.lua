-- The ledger: one stream entry for each change of state, written in the same atomic step as the change (src/ledger/entry.ts reads it).
local ledger = {}

-- Appends an entry and returns it packed, as it went into the stream: the answer to the caller is made from the same facts. `streaks` are
-- the user's, packed for the user's hash already, when they have changed.
function ledger.append(part, entry, streaks)
  local blob = cmsgpack.pack(entry)
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
