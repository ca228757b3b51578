-- Metric totals.
local contract = require('contract')
local decimal = require('decimal')
local limit = contract.limit

local metrics = {}

-- The total after an event, or nil when it would leave the range in which totals are kept.
function metrics.add(before, value)
  before = before or 0
  local sum = before + value
  -- Before it is rounded: 1e15 and 1 would be 1e15 again.
  if sum > limit.maxAbsoluteTotal or sum < -limit.maxAbsoluteTotal then
    return nil
  end
  return decimal.add(before, value)
end

return metrics
