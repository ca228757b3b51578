-- How a command runs: each is registered here with what it needs, and gets it or is not run.
--
-- The one key of every command is the partition's `meta`; its arguments have names in the contract (src/redis/contract.ts, functions), of
-- which the first is the context. The headers of commands list their own replies. Any command may also reply notOpen, staleConfig or
-- newerConfig; one that needs the plan unknownPlan; one about a user unknownZone and again, and ledgerFull if it writes.
--
-- Everywhere in lua/, a function that may refuse returns a value and a refusal, which is nil unless it refuses: the reply that the command
-- gives, an outcome and what it carries. Without a value to return, it returns true. Callers look at the refusal only: a value may be nil.
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
    local call, refusal = enter(keys, args)
    if refusal then
      return refusal
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

-- A transaction of `user`, settled.
function command.begin(call, user, entry_id, patch)
  local tx, refusal = transaction.fetch(call, user, call.plan.records, patch)
  if refusal then
    return nil, refusal
  end
  return settle.run(tx, entry_id)
end

-- Runs `run(tx)` for each of several users, settled, in their order: none before those in front of it. `args` end with
-- an entry id and a user of each. Returns nil, or the reply that the caller has to act on: `again` after as much work as
-- one call may do. The next call finds the first of them settled.
function command.each_user(call, args, position, run)
  settle.start_budget()
  for i = position.rest, #args, 2 do
    local tx, refused
    repeat
      if settle.is_spent() then
        return { outcome.again }
      end
      tx, refused = command.begin(call, args[i + 1], args[i], nil)
    until tx or refused[1] ~= outcome.again
    if not tx then
      return refused
    end
    run(tx)
  end
  return nil
end

-- Runs `run(tx, args, position)` for one user, settled. `needs` says what the command needs: `patch` for one whose arguments have a patch,
-- `writes` for room in the ledger, `exists` for a user who exists (else it replies userUnknown).
function command.of_user(name, needs, run)
  command.with_plan(name, function(call, args, position)
    local patch = needs.patch and users.read_patch(args, args[position.patchPairs], position.rest) or nil
    local tx, refusal = command.begin(call, args[position.user], args[position.entryId], patch)
    if refusal then
      return refusal
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
