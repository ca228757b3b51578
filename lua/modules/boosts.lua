-- Which boosts apply to a user on a day, and what they make of what a trigger earned.
local decimal = require('decimal')
local filters = require('filters')

local boosts = {}

local function collect(list, row, day, active)
  for _, boost in ipairs(list) do
    if day >= boost.first and not (boost.last and day > boost.last) and filters.match_user(boost.user, row) then
      active[#active + 1] = boost
    end
  end
end

-- The boosts of a system that are active for this user on a local day: everybody's, the cohorts', and the user's own. Each
-- carries `order`, which compile has counted by falling multiplier, the newest first among equals.
function boosts.active(system, user_id, row, day)
  local active = {}
  collect(system.boosts, row, day, active)
  local own = system.ownBoosts[user_id]
  if own then
    collect(own, row, day, active)
    table.sort(active, function(a, b)
      return a.order < b.order
    end)
  end
  return active
end

-- times * points multiplied by all boosts at once, then rounded as the first of them says. Both are positive integers.
function boosts.apply(active, times, points)
  local factors, scale = { times, points }, 0
  for _, boost in ipairs(active) do
    factors[#factors + 1] = boost.mantissa
    scale = scale + boost.scale
  end
  return decimal.scaled_product(factors, scale, active[1].rounding)
end

return boosts
