-- Switching a tenant to another version of its configuration.
local contract = require('contract')
local levels = require('levels')
local ledger = require('ledger')
local partition = require('partition')
local plans = require('plans')
local time = require('time')
local outcome = contract.outcome

local activation = {}

-- The leaderboards of a plan whose participant limit is not that of the plan before, each with the limit that it had.
local function changed_limits(before, plan)
  local changed = {}
  for no, board in pairs(plan.boards) do
    local earlier = before and before.boards[no]
    if earlier and earlier.max ~= board.max then
      changed[#changed + 1] = { no = board.no, before = earlier.max }
    end
  end
  return changed
end

-- Puts a configuration version into force: from here on, calls of older versions are sent back, so that no event is ever counted by
-- rules that have been replaced. The newest version wins, whatever the order in which they arrive.
local function activate(keys, args)
  local position = contract.arg.activate
  local part, context = partition.compared(keys, args)
  if not part then
    return context
  end
  local version, hash = context.version, context.plan
  if version < part.version then
    return { outcome.staleConfig }
  end
  redis.call('SET', part.plan .. hash, args[position.blob])
  local superseded = redis.call('HGET', part.meta, 'plan')
  if superseded and superseded ~= hash then
    redis.call('EXPIRE', part.plan .. superseded, args[position.planTtlS])
  end
  local plan = cmsgpack.unpack(args[position.blob])
  levels.expire(part, plan)
  local changed = superseded and superseded ~= hash and changed_limits(plans.get(part, superseded), plan) or {}
  -- One entry for each configuration, which Postgres has stored just now: it is not held to the limit of the ledger.
  if #changed > 0 then
    ledger.append(part, { kind = 'limits', at = time.now(part, context), boards = changed })
  end
  redis.call('HSET', part.meta, 'version', version, 'plan', hash)
  part.version = version
  redis.call('PUBLISH', args[position.channel], 'config')
  return { outcome.ok }
end

function activation.register()
  redis.register_function(contract.name .. '_activate', activate)
end

return activation
