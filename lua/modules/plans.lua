-- Compiled configurations (src/plan/compile.ts), unpacked once per server and kept under their hash.
local contract = require('contract')
local partition = require('partition')
local limit = contract.limit

local plans = {}

-- `older` are those of before the cache was last full: with more tenants than it holds, those in use stay.
local cache, older, cached = {}, {}, 0

-- The unpacked plan with this hash, or nil when Redis does not hold it.
function plans.get(part, hash)
  local plan = cache[hash]
  if plan then
    return plan
  end
  plan = older[hash]
  if not plan then
    local blob = redis.call('GET', part.plan .. hash)
    if not blob then
      return nil
    end
    plan = cmsgpack.unpack(blob)
  end
  if cached >= limit.maxCachedPlans then
    cache, older, cached = {}, cache, 0
  end
  cache[hash] = plan
  cached = cached + 1
  return plan
end

-- How a call that goes by the configuration begins: the partition, the plan and the context; nil and the outcome that the caller has to
-- act on.
function plans.enter(keys, args)
  local part, context = partition.enter(keys, args)
  if not part then
    return nil, context
  end
  local plan = plans.get(part, context.plan)
  if not plan then
    return nil, { contract.outcome.unknownPlan }
  end
  return part, plan, context
end

return plans
