-- Attribute filters: all of a list must match. A filter is an attribute's no, as text, and a value.
local contract = require('contract')
local transaction = require('transaction')

local filters = {}

local ATTRIBUTES = contract.record.attributes

local function match(list, attributes)
  for i = 1, #list do
    local filter = list[i]
    if attributes[filter.no] ~= filter.value then
      return false
    end
  end
  return true
end

-- Against the user's attributes, this call's changes included.
function filters.match_user(list, tx)
  return #list == 0 or match(list, tx.records[ATTRIBUTES] or transaction.get(tx, ATTRIBUTES))
end

-- Against an event's attributes: attribute no, as text, to value.
filters.match_event = match

return filters
