-- Batches of events that are on their way in parts, one pipelined after the other: what keeps a part from overtaking one before it that
-- stopped halfway. It is remembered in the server's memory only, and may be forgotten at any time: a part that finds no turn is not done,
-- and its caller sends it again, in a new sending, from where it knows to have come.
local contract = require('contract')
local limit = contract.limit

local sendings = {}

-- sending -> the number of the part that is next.
local next_of, kept = {}, 0

-- Whether it is a part's turn: it is the first, or the one before it has been done to its end. A turn is taken once.
function sendings.take_turn(sending, number)
  if number == 0 then
    return true
  end
  if next_of[sending] ~= number then
    return false
  end
  next_of[sending] = nil
  kept = kept - 1
  return true
end

-- Makes it the turn of the part with this number.
function sendings.go_on(sending, number)
  if kept >= limit.maxBatchSendings then
    next_of, kept = {}, 0
  end
  next_of[sending] = number
  kept = kept + 1
end

return sendings
