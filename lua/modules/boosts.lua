-- Which boosts apply to a user on a day, and what they make of what a trigger earned.
local decimal = require('decimal')
local filters = require('filters')

local boosts = {}

local function collect(list, tx, day, active)
  for i = 1, #list do
    local boost = list[i]
    if day >= boost.first and not (boost.last and day > boost.last) and filters.match_user(boost.user, tx) then
      active[#active + 1] = boost
    end
  end
end

-- The boosts of a system that are active for this user on a local day: those of all users, of cohorts, and the user's own. Each
-- carries `order`, which compile has counted by falling multiplier, the newest first among equals.
function boosts.active(system, tx, day)
  local active = { nil, nil, product = nil, scale = nil, numbers = nil }
  collect(system.boosts, tx, day, active)
  local own = system.ownBoosts[tx.user]
  if own then
    collect(own, tx, day, active)
    table.sort(active, function(a, b)
      return a.order < b.order
    end)
  end
  return active
end

-- The numbers of active boosts, one list for all awards of the day.
function boosts.numbers(active)
  if not active.numbers then
    local numbers = { nil, nil }
    for i = 1, #active do
      numbers[i] = active[i].no
    end
    active.numbers = numbers
  end
  return active.numbers
end

-- What all active boosts multiply by. Awards of the same day share it, and `active` keeps it for them.
local function product_of(active)
  local factors, scale = { nil, nil }, 0
  for i = 1, #active do
    local boost = active[i]
    factors[i] = boost.mantissa
    scale = scale + boost.scale
  end
  active.product, active.scale = decimal.product(factors), scale
  return active.product
end

-- times * points multiplied by all boosts at once, then rounded as the first of them says. Both are positive integers.
function boosts.apply(active, times, points)
  local product = active.product or product_of(active)
  return decimal.scaled_product({ times, points }, active.scale, active[1].rounding, product)
end

return boosts
