-- Compiled configurations (src/plan/compile.ts), unpacked once per server and cached by their hash.
local contract = require('contract')
local cache = require('cache')
local partition = require('partition')

local plans = {}

local function load(hash, part)
  local blob = redis.call('GET', part.plan .. hash)
  return blob and cmsgpack.unpack(blob) or nil
end

-- `plans.get(hash, part)`: the unpacked plan with this hash, or nil when Redis does not hold it.
plans.get = cache.new(contract.limit.maxCachedPlans, load)

-- Enters the partition and loads the plan: the call.
function plans.enter(keys, args)
  local call, refusal = partition.enter(keys, args)
  if refusal then
    return nil, refusal
  end
  call.plan = plans.get(call.context.plan, call.part)
  if not call.plan then
    return nil, { contract.outcome.unknownPlan }
  end
  return call
end

return plans
