-- Metric totals.
local contract = require('contract')
local decimal = require('decimal')
local limit, outcome = contract.limit, contract.outcome

local metrics = {}

-- The total after an event. Refuses one outside the range in which totals are kept.
function metrics.add(before, value)
  before = before or 0
  local sum = before + value
  -- Before it is rounded: 1e15 and 1 would be 1e15 again.
  if sum > limit.maxAbsoluteTotal or sum < -limit.maxAbsoluteTotal then
    return nil, { outcome.totalOutOfRange }
  end
  return decimal.add(before, value)
end

return metrics
