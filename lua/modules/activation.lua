-- Switching a tenant to another version of its configuration.
local contract = require('contract')
local leaderboards = require('leaderboards')
local levels = require('levels')
local ledger = require('ledger')
local partition = require('partition')
local time = require('time')
local outcome = contract.outcome

local activation = {}

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
  levels.forget(part, plan)
  local trimmed = leaderboards.trim(part, plan.boards, time.now(part, context))
  -- One entry for each configuration, which Postgres has stored just now: it is not held to the limit of the ledger.
  if #trimmed > 0 then
    ledger.append(part, { kind = 'trim', boards = trimmed })
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
