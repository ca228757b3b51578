-- Metric totals.
local contract = require('contract')
local decimal = require('decimal')
local limit = contract.limit

local metrics = {}

-- The total after an event, or nil when it would leave the range in which totals are kept.
function metrics.add(before, value)
  local total = decimal.clean((before or 0) + value)
  if math.abs(total) > limit.maxAbsoluteTotal then
    return nil
  end
  return total
end

return metrics
