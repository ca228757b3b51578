-- A bounded cache of two generations: when the young one is full it becomes the old one, and a value that is used again moves back. So
-- values in use stay, also those that the current call has used already.
local cache = {}

-- Returns `get(key, from)`, which caches what `load(key, from)` returns unless that is nil, and `put(key, value)`.
function cache.new(size, load)
  local young, old, count = {}, {}, 0
  local function put(key, value)
    if count >= size then
      young, old, count = {}, young, 0
    end
    young[key], count = value, count + 1
  end
  local function get(key, from)
    local value = young[key]
    if value == nil then
      value = old[key]
      if value == nil then
        value = load(key, from)
      end
      if value ~= nil then
        put(key, value)
      end
    end
    return value
  end
  return get, put
end

return cache
