-- How a command runs: each is registered here with what it needs, and gets it or is not run.
--
-- The one key of every command is the partition's `meta`; its arguments have names in the contract (src/redis/contract.ts, functions), of
-- which the first is the context. The headers of commands list their own replies. Any command may also reply notOpen, staleConfig or
-- newerConfig; one that needs the plan unknownPlan; one about a user unknownZone and again, and ledgerFull if it writes.
local contract = require('contract')
local ledger = require('ledger')
local partition = require('partition')
local plans = require('plans')
local settle = require('settle')
local transaction = require('transaction')
local users = require('users')
local outcome = contract.outcome

local command = {}

local NO_WRITES = { 'no-writes' }

local function register(name, flags, callback)
  redis.register_function({ function_name = contract.name .. '_' .. name, callback = callback, flags = flags })
end

local function of_call(name, flags, enter, run)
  local position = contract.arg[name]
  register(name, flags, function(keys, args)
    local call, refused = enter(keys, args)
    if not call then
      return refused
    end
    return run(call, args, position)
  end)
end

-- Runs `run(keys, args, position)`, also on a partition that is not open.
function command.unchecked(name, flags, run)
  local position = contract.arg[name]
  register(name, flags, function(keys, args)
    return run(keys, args, position)
  end)
end

-- Runs `run(call, args, position)` on an open partition, also under a configuration version that is not the active one.
function command.on_any_version(name, run)
  of_call(name, {}, partition.enter_any_version, run)
end

-- Runs `run(call, args, position)` on an open partition.
function command.on_partition(name, run)
  of_call(name, {}, partition.enter, run)
end

-- The same for a command that writes nothing.
function command.reading(name, run)
  of_call(name, NO_WRITES, partition.enter, run)
end

-- The same with the plan.
function command.reading_with_plan(name, run)
  of_call(name, NO_WRITES, plans.enter, run)
end

-- Runs `run(call, args, position)` with the plan.
function command.with_plan(name, run)
  of_call(name, {}, plans.enter, run)
end

-- A transaction of `user`, settled: nil and the reply that the caller has to act on when that is not possible yet.
function command.begin(call, user, entry_id, patch)
  local tx, refused = transaction.fetch(call, user, call.plan.records, patch)
  refused = refused or settle.run(tx, entry_id)
  if refused then
    return nil, refused
  end
  return tx
end

-- Runs `run(tx, args, position)` for one user, settled. `needs` says what the command needs: `patch` for one whose arguments have a patch,
-- `writes` for room in the ledger, `exists` for a user who exists (else it replies userUnknown).
function command.of_user(name, needs, run)
  command.with_plan(name, function(call, args, position)
    local patch = needs.patch and users.read_patch(args, args[position.patchPairs], position.rest) or nil
    local tx, refused = command.begin(call, args[position.user], args[position.entryId], patch)
    if not tx then
      return refused
    end
    if needs.writes and ledger.is_full(tx) then
      return { outcome.ledgerFull }
    end
    if needs.exists and not tx.exists then
      return { outcome.userUnknown }
    end
    -- Whatever such a command changes may change when time next does something to the user.
    tx.reschedules = true
    return run(tx, args, position)
  end)
end

return command
