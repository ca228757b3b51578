-- Attribute filters: all of a list must match.
local filters = {}

-- Against what is stored of the user, this call's changes included. A filter is a field of the user's hash and a value.
function filters.match_user(list, row)
  for i = 1, #list do
    local filter = list[i]
    if row[filter.field] ~= filter.value then
      return false
    end
  end
  return true
end

-- Against an event's attributes: attribute no, as text, to value.
function filters.match_event(list, attributes)
  for i = 1, #list do
    local filter = list[i]
    if attributes[filter.no] ~= filter.value then
      return false
    end
  end
  return true
end

return filters
