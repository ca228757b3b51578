-- Commands of the worker: backfilling users into what has become active, the sweep, the end of leaderboard runs.
local contract = require('contract')
local achievements = require('achievements')
local boards = require('boards')
local command = require('command')
local leaderboards = require('leaderboards')
local ledger = require('ledger')
local partition = require('partition')
local settle = require('settle')
local streaks = require('streaks')
local time = require('time')
local transaction = require('transaction')
local outcome = contract.outcome

local OK = { outcome.ok }

-- Backfills one achievement or board, by its no.
local function activate(tx, no, args, position)
  local length = streaks.length(tx)
  local achievement, board = tx.plan.achievements[no], tx.plan.boards[no]
  if achievement and achievements.qualifies(tx, achievement, length) then
    achievements.enter(tx, achievement)
  elseif board and args[position.ranks] == '1' then
    leaderboards.show_rank(tx, board)
  elseif board then
    local value = board.isStreak and length or transaction.get(tx, board.record)[contract.metric.total]
    if value then
      leaderboards.fill(tx, board, value, { since = tonumber(args[position.since]), seq = tonumber(args[position.seq]) })
    end
  end
end

-- Backfills a user into what has become active: achievements that the user already qualifies for, silently, and boards that rank a value
-- that the user already has; with `ranks`, notes the user's ranks on boards that have been backfilled.
-- Arguments: user, entryId, ranks, since, seq, then the no of each object. Replies: ok.
command.of_user('activateFor', { writes = true }, function(tx, args, position)
  if not tx.exists then
    return OK
  end
  for i = position.rest, #args do
    activate(tx, args[i], args, position)
  end
  if #tx.achieved > 0 or #tx.boards > 0 then
    achievements.save(tx)
    transaction.commit(tx, settle.facts(tx, { kind = 'activation', id = args[position.entryId], achieved = tx.achieved }))
  end
  settle.reschedule(tx)
  return OK
end)

-- Settles users in the order given, which decides ties: those behind a user who can't be settled yet wait.
-- Arguments: an entry id and a user of each. Replies: ok; again, unknownZone, ledgerFull.
command.with_plan('settleUsers', function(call, args, position)
  local refused = command.each_user(call, args, position, function(tx)
    if tx.exists then
      settle.reschedule(tx)
    end
  end)
  return refused or OK
end)

-- Takes a sequence number for each user there is, for a backfill: an event gets a later one.
-- Replies: ok, the last number before them, and how many they are.
command.on_partition('reserveSeq', function(call)
  local part = call.part
  local count = tonumber(partition.users(part))
  return { outcome.ok, redis.call('HINCRBY', part.meta, contract.meta.seq, count) - count, count }
end)

-- Settles one user to whom something is due, as far as one call may.
local function settle_due(call, user, entry_id)
  local tx, refusal = command.begin(call, user, entry_id, nil)
  if not refusal then
    settle.reschedule(tx)
  elseif refusal[1] ~= outcome.again then
    return nil, refusal
  end
  return true
end

-- Settles the users to whom something is due, each as a ledger entry, until the budget of the call is spent or no entry id is left. With
-- `upTo`, the test clock moves from one due moment to the next, at most to `upTo`, so several users are settled in the order of time.
-- Arguments: upTo, the ids of entries. Replies: ok, how many users it settled, 1 if no other user is due, and how many segments have ended
-- in which users may still live.
command.with_plan('sweep', function(call, args, position)
  local part = call.part
  if not call.plan.isTimed then
    -- They stay due: streaks, time triggers or anniversaries may be switched on again.
    return { outcome.ok, 0, 1, #part.ended }
  end
  local up_to = tonumber(args[position.upTo])
  local settled = 0
  settle.start_budget()
  for i = position.rest, #args do
    local now = time.now(call)
    local next = redis.call('ZRANGE', part.due, 0, 0, 'WITHSCORES')
    if not next[1] or tonumber(next[2]) > (up_to or now) then
      return { outcome.ok, settled, 1, #part.ended }
    end
    if up_to and tonumber(next[2]) > now then
      redis.call('SET', part.clock, next[2])
    end
    local _, refusal = settle_due(call, next[1], args[i])
    if refusal then
      return refusal
    end
    settled = settled + 1
    if settle.is_spent() then
      break
    end
  end
  return { outcome.ok, settled, 0, #part.ended }
end)

-- Ends a run of a leaderboard: from here on Postgres has the final rankings. The worker calls it 12 hours after the run's last day has
-- ended in UTC. Does nothing when the leaderboard is no longer in the plan.
-- Arguments: leaderboard, run, max, entryId. Replies: ok; ledgerFull.
command.with_plan('finalise', function(call, args, position)
  local board = call.plan.boards[args[position.leaderboard]]
  if not board then
    return OK
  end
  if ledger.is_full(call) then
    return { outcome.ledgerFull }
  end
  local part, no, run, max = call.part, board.no, tonumber(args[position.run]), tonumber(args[position.max])
  local groups_key = part.groups .. no .. ':' .. run
  local groups = redis.call('SMEMBERS', groups_key)
  ledger.append(part, { kind = 'final', id = args[position.entryId], no = no, run = run, max = max, at = time.now(call) })
  if run ~= 0 then
    redis.call('UNLINK', boards.key(part, no, run), groups_key)
    for _, group in ipairs(groups) do
      redis.call('UNLINK', boards.key(part, no, run, group))
    end
  end
  return OK
end)
