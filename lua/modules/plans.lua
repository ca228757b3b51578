-- Compiled configurations (src/plan/compile.ts), unpacked once per server and kept under their hash.
local contract = require('contract')
local limit = contract.limit

local plans = {}

local cache, cached = {}, 0

-- The unpacked plan with this hash, or nil when Redis does not hold it.
function plans.get(part, hash)
  local plan = cache[hash]
  if plan then
    return plan
  end
  local blob = redis.call('GET', part.plan .. hash)
  if not blob then
    return nil
  end
  if cached >= limit.maxCachedPlans then
    cache, cached = {}, 0
  end
  plan = cmsgpack.unpack(blob)
  cache[hash] = plan
  cached = cached + 1
  return plan
end

return plans
