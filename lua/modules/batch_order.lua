-- The order of pipelined parts of a batch: a part must not run when the part before it stopped halfway. The state is in the server's
-- memory only and may be lost at any time: a part that is out of turn is not run, and its caller sends it again, in a new batch.
local contract = require('contract')
local limit = contract.limit

local batch_order = {}

-- Batch id -> the number of its next part.
local next_of, held = {}, 0

-- Whether a part may run: it is the first, or the part before it ran to its end. Each part is accepted once.
function batch_order.accept(batch, number)
  if number == 0 then
    return true
  end
  if next_of[batch] ~= number then
    return false
  end
  next_of[batch] = nil
  held = held - 1
  return true
end

-- Lets the part with this number run next.
function batch_order.expect(batch, number)
  if held >= limit.maxOpenBatches then
    next_of, held = {}, 0
  end
  next_of[batch] = number
  held = held + 1
end

return batch_order
