-- The calls about a user that are no events: identify, complete an achievement, freezes, pauses, restore, and what the worker does in the
-- background: the sweep, and entering users into what has become active.
local contract = require('contract')
local achievements = require('achievements')
local boards = require('boards')
local leaderboards = require('leaderboards')
local ledger = require('ledger')
local partition = require('partition')
local plans = require('plans')
local points = require('points')
local settle = require('settle')
local streaks = require('streaks')
local time = require('time')
local transaction = require('transaction')
local users = require('users')
local outcome = contract.outcome

local commands = {}

-- Begins a read of one user: the partition, the plan, and the user's turn, settled. Nil and the outcome that the caller has to act on.
local function begin_read(keys, args, position, id, patch)
  local part, plan, context = plans.enter(keys, args)
  if not part then
    return nil, plan
  end
  local tx, unknown = transaction.fetch(part, plan, context, args[position.user], plan.records, patch)
  if not tx then
    return nil, unknown
  end
  unknown = settle.run(tx, id)
  if unknown then
    return nil, unknown
  end
  return tx
end

-- Begins a call that may change a user, in the same way: for what it is to change there is room in the ledger.
local function begin(keys, args, position, id, patch)
  local tx, first = begin_read(keys, args, position, id, patch)
  if tx and ledger.is_full(tx.part, tx.context) then
    return nil, { outcome.ledgerFull }
  end
  return tx, first
end

local function known(tx, first)
  if tx and not tx.exists then
    return nil, { outcome.userUnknown }
  end
  return tx, first
end

-- The same two, for a user who must exist.
local function read_known(keys, args, position)
  return known(begin_read(keys, args, position, args[position.entryId]))
end

local function begin_known(keys, args, position)
  return known(begin(keys, args, position, args[position.entryId]))
end

-- Commits a turn of a call as an entry of the given kind.
local function commit(tx, entry, streak_before)
  settle.enter_earned(tx)
  settle.enter_streak(tx, streak_before)
  users.save(tx)
  achievements.save(tx)
  entry.achieved = tx.achieved
  settle.facts(tx, entry)
  entry.profile = tx.profile_changed and users.profile(tx) or nil
  settle.schedule(tx)
  return transaction.commit(tx, entry)
end

-- Lays the caller's patch over the user. Returns what the shown streak was before, or nil and the outcome that refuses it.
local function apply_patch(tx)
  if users.lacks_email(tx) then
    return nil, { outcome.emailRequired }
  end
  local day, unknown = users.day_after_patch(tx)
  if not day then
    return nil, unknown
  end
  local before = streaks.length(tx)
  users.apply(tx, day)
  return before
end

local function mode_refusal(mode, exists)
  if mode == 'create' and exists then
    return outcome.userExists
  end
  return mode == 'update' and not exists and outcome.userUnknown or nil
end

-- Creates or changes a user and answers with the whole profile.
local function identify(keys, args)
  local position = contract.arg.identify
  local patch = users.read_patch(args, args[position.patchPairs], position.rest)
  local tx, first = begin(keys, args, position, args[position.entryId], patch)
  if not tx then
    return first
  end
  local refused = mode_refusal(args[position.mode], tx.exists)
  if refused then
    return { refused }
  end
  local before
  before, first = apply_patch(tx)
  if not before then
    return first
  end
  if not tx.profile_changed then
    return { outcome.ok, cmsgpack.pack(users.profile(tx)) }
  end
  local profile = users.profile(tx)
  commit(tx, { kind = 'user', id = args[position.entryId] }, before)
  return { outcome.ok, cmsgpack.pack(profile) }
end

-- Completes an achievement of which a call says so, for a user who may be new.
local function complete_achievement(keys, args)
  local position = contract.arg.completeAchievement
  local patch = users.read_patch(args, args[position.patchPairs], position.rest)
  local tx, first = begin(keys, args, position, args[position.entryId], patch)
  if not tx then
    return first
  end
  local before
  before, first = apply_patch(tx)
  if not before then
    return first
  end
  local achievement = tx.plan.achievements[args[position.achievement]]
  if achievements.completed(tx)[achievement.key] then
    return { outcome.alreadyCompleted }
  end
  if not achievements.by_call(tx, achievement) then
    return { outcome.notCompletable }
  end
  local refused = points.earn(tx, tx.plan.systems, nil)
  if refused then
    return { refused == 'range' and outcome.totalOutOfRange or outcome.outOfPoints }
  end
  return { outcome.ok, commit(tx, { kind = 'completion', id = args[position.entryId] }, before) }
end

local function set_preferences(keys, args)
  local position = contract.arg.setPreferences
  local tx, first = begin_known(keys, args, position)
  if not tx then
    return first
  end
  local patch = users.read_patch(args, args[position.patchPairs], position.rest)
  for _, name in ipairs(patch and patch.fields or {}) do
    users.set_property(tx, name, patch.values[name])
  end
  if patch then
    tx.profile_changed = true
    commit(tx, { kind = 'user', id = args[position.entryId] }, streaks.length(tx))
  end
  return { outcome.ok, cmsgpack.pack(users.profile(tx)) }
end

local function grant_freeze(keys, args)
  local position = contract.arg.grantFreeze
  local tx, first = begin_known(keys, args, position)
  if not tx then
    return first
  end
  if not tx.plan.streaks then
    return { outcome.streaksDisabled }
  end
  if not streaks.grant_freeze(tx) then
    return { outcome.tooMany }
  end
  commit(tx, { kind = 'streak', id = args[position.entryId] }, streaks.length(tx))
  return { outcome.ok }
end

-- Adds a pause, made of local days.
local function add_pause(keys, args)
  local position = contract.arg.addPause
  local tx, first = begin_known(keys, args, position)
  if not tx then
    return first
  end
  local pause = { id = args[position.entryId], first = tonumber(args[position.first]), last = tonumber(args[position.last]) }
  local refused = streaks.add_pause(tx, pause)
  if refused then
    return { refused }
  end
  commit(tx, { kind = 'streak', id = args[position.entryId], pauses = streaks.pauses(tx) }, streaks.length(tx))
  return { outcome.ok }
end

local function remove_pause(keys, args)
  local position = contract.arg.removePause
  local tx, first = begin_known(keys, args, position)
  if not tx then
    return first
  end
  if not streaks.remove_pause(tx, args[position.pause]) then
    return { outcome.pauseUnknown }
  end
  commit(tx, { kind = 'streak', id = args[position.entryId], pauses = streaks.pauses(tx) }, streaks.length(tx))
  return { outcome.ok }
end

local function restore_streak(keys, args)
  local position = contract.arg.restoreStreak
  local tx, first = begin_known(keys, args, position)
  if not tx then
    return first
  end
  local before = streaks.length(tx)
  local refused = streaks.restore(tx)
  if refused then
    return { refused }
  end
  commit(tx, { kind = 'streak', id = args[position.entryId] }, before)
  return { outcome.ok }
end

-- Enters a user into what has become active: achievements that the user already qualifies for, silently, and boards that rank a value that
-- the user already has; with `ranks`, notes the ranks that the user has on boards that have been filled.
local function activate_for(keys, args)
  local position = contract.arg.activateFor
  local tx, first = begin(keys, args, position, args[position.entryId])
  if not tx or not tx.exists then
    return first or { outcome.ok }
  end
  local before = streaks.length(tx)
  if args[position.rest] == '-1' then
    streaks.reevaluate(tx)
    settle.enter_streak(tx, before)
  end
  local length = streaks.length(tx)
  for i = position.rest, #args do
    local achievement, board = tx.plan.achievements[args[i]], tx.plan.boards[args[i]]
    if achievement and achievements.qualifies(tx, achievement, length) then
      achievements.enter(tx, achievement)
    elseif board and args[position.ranks] == '1' then
      leaderboards.show_rank(tx, board)
    elseif board then
      local value = board.isStreak and length or transaction.get(tx, board.record)[contract.metric.total]
      if value then
        local filling = { since = tonumber(args[position.since]), seq = tonumber(args[position.seq]) }
        leaderboards.fill(tx, board, value, filling)
      end
    end
  end
  if #tx.achieved > 0 or #tx.boards > 0 or tx.streaks_counted then
    achievements.save(tx)
    transaction.commit(tx, settle.facts(tx, { kind = 'activation', id = args[position.entryId], achieved = tx.achieved }))
  end
  settle.reschedule(tx)
  return { outcome.ok }
end

-- Takes as many numbers of the partition's sequence as there are users, for those who are entered on a board that has become active: an
-- event gets a later one. Answers with the last number before them, and how many they are.
local function reserve_seq(keys, args)
  local part, context = partition.enter(keys, args)
  if not part then
    return context
  end
  local count = tonumber(redis.call('HGET', part.meta, 'users') or 0)
  return { outcome.ok, redis.call('HINCRBY', part.meta, 'seq', count) - count, count }
end

-- Settles one user to whom something is due. Returns nil, or the outcome that the caller has to act on.
local function settle_due(part, plan, context, user, id)
  local tx, unknown = transaction.fetch(part, plan, context, user, plan.records, nil)
  if not tx then
    return unknown
  end
  local stopped = settle.run(tx, id)
  if not stopped then
    settle.reschedule(tx)
  elseif stopped[1] ~= outcome.again then
    return stopped
  end
  return nil
end

-- Settles the users to whom something is due, at most as many as there are ids for their entries, each as an entry of its own. Events wait
-- for it, so it ends when it has done enough work (settle.has_done_enough). Answers how many it settled, and whether no other user is
-- due. With `upTo`, the test clock is moved from one moment at which something is due to the next, as far
-- as that, so that what happens to several users happens in the order of time.
local function sweep(keys, args)
  local position = contract.arg.sweep
  local part, plan, context = plans.enter(keys, args)
  if not part then
    return plan
  end
  if not plan.isTimed then
    -- They stay due: streaks or time triggers may be switched on again.
    return { outcome.ok, 0, 1 }
  end
  local up_to = tonumber(args[position.upTo])
  local settled = 0
  settle.begin()
  for i = position.rest, #args do
    local now = time.now(part, context)
    local next = redis.call('ZRANGE', part.due, 0, 0, 'WITHSCORES')
    if not next[1] or tonumber(next[2]) > (up_to or now) then
      return { outcome.ok, settled, 1 }
    end
    if up_to and tonumber(next[2]) > now then
      redis.call('SET', part.clock, next[2])
    end
    local unknown = settle_due(part, plan, context, next[1], args[i])
    if unknown then
      return unknown
    end
    settled = settled + 1
    if settle.has_done_enough() then
      break
    end
  end
  return { outcome.ok, settled, 0 }
end

-- Ends a run of a board 12 hours after its last day has ended in UTC: from here on the final rankings are Postgres'. A run that is not over
-- yet is left alone.
local function finalise(keys, args)
  local position = contract.arg.finalise
  local part, context = partition.enter(keys, args)
  if not part then
    return context
  end
  if ledger.is_full(part, context) then
    return { outcome.ledgerFull }
  end
  local no, run = tonumber(args[position.leaderboard]), tonumber(args[position.run])
  local groups = redis.call('SMEMBERS', part.groups .. no .. ':' .. run)
  ledger.append(part, {
    kind = 'final',
    id = args[position.entryId],
    no = no,
    run = run,
    max = tonumber(args[position.max]),
    at = time.now(part, context),
  })
  if run ~= 0 then
    redis.call('UNLINK', boards.key(part, no, run), part.groups .. no .. ':' .. run)
    for _, group in ipairs(groups) do
      redis.call('UNLINK', boards.key(part, no, run, group))
    end
  end
  return { outcome.ok }
end

-- (While a library is loaded, Redis hides `pairs` and the other globals: one line for each.)
-- Removes idempotency keys that have grown too old. One that another event has used since is left alone.
local function delete_keys(keys, args)
  local part, context = partition.enter(keys, args)
  if not part then
    return context
  end
  for i = contract.arg.deleteKeys.rest, #args, 4 do
    local used_keys, used, id = part.idempotency .. args[i] .. ':' .. args[i + 1], args[i + 2], args[i + 3]
    local stored = redis.call('HGET', used_keys, used)
    if stored and stored:sub(1, #id) == id then
      redis.call('HDEL', used_keys, used)
    end
  end
  return { outcome.ok }
end

function commands.register()
  local name = contract.name
  redis.register_function(name .. '_identify', identify)
  redis.register_function(name .. '_completeAchievement', complete_achievement)
  redis.register_function(name .. '_setPreferences', set_preferences)
  redis.register_function(name .. '_grantFreeze', grant_freeze)
  redis.register_function(name .. '_addPause', add_pause)
  redis.register_function(name .. '_removePause', remove_pause)
  redis.register_function(name .. '_restoreStreak', restore_streak)
  redis.register_function(name .. '_activateFor', activate_for)
  redis.register_function(name .. '_reserveSeq', reserve_seq)
  redis.register_function(name .. '_sweep', sweep)
  redis.register_function(name .. '_finalise', finalise)
  redis.register_function(name .. '_deleteKeys', delete_keys)
end

commands.begin = begin
commands.begin_known = begin_known
commands.read_known = read_known

return commands
