-- Reads. Those of one user settle the user first, so that what is read is true now.
local contract = require('contract')
local boards = require('boards')
local calendar = require('calendar')
local commands = require('commands')
local leaderboards = require('leaderboards')
local partition = require('partition')
local plans = require('plans')
local settle = require('settle')
local streaks = require('streaks')
local transaction = require('transaction')
local outcome, record = contract.outcome, contract.record

local reads = {}

-- Every field of a user, the newest awards of one points system, the streak, the counts of completions and of users, the newest ledger id,
-- the moment and the user's local day.
local function read_user(keys, args)
  local position = contract.arg.readUser
  local tx, first = commands.read_known(keys, args, position)
  if not tx then
    return first
  end
  local system, awards = args[position.system], {}
  if system ~= '' then
    awards = redis.call('LRANGE', tx.part.awards .. system .. ':' .. tx.user, 0, tonumber(args[position.awards]) - 1)
  end
  local completions = {}
  if args[position.completions] == '1' then
    completions = redis.call('HGETALL', tx.part.completions)
  end
  return {
    outcome.ok,
    redis.call('HGETALL', tx.key),
    awards,
    cmsgpack.pack(streaks.fact(tx) or false),
    completions,
    redis.call('HGET', tx.part.meta, 'users') or '0',
    partition.last_ledger_id(tx.part),
    string.format('%.0f', tx.now),
    tx.day,
  }
end

-- The shown streaks of several users, each settled: pairs of an entry id and a user. False for an unknown user. Where settling them is much
-- work, the call is made again, and finds the first of them settled.
local function read_streaks(keys, args)
  local position = contract.arg.readStreaks
  local part, plan, context = plans.enter(keys, args)
  if not part then
    return plan
  end
  local facts = {}
  settle.begin()
  for i = position.rest, #args, 2 do
    if settle.has_done_enough() then
      return { outcome.again }
    end
    local tx, unknown = transaction.fetch(part, plan, context, args[i + 1], plan.records, nil)
    if not tx then
      return unknown
    end
    unknown = settle.run(tx, args[i])
    if unknown then
      return unknown
    end
    facts[#facts + 1] = tx.exists and streaks.fact(tx) or false
  end
  return { outcome.ok, cmsgpack.pack(facts) }
end

-- The counts of completions, and of users.
local function read_counts(keys, args)
  local part, context = partition.enter(keys, args)
  if not part then
    return context
  end
  return { outcome.ok, redis.call('HGETALL', part.completions), redis.call('HGET', part.meta, 'users') or '0' }
end

-- The member that a user has on a run of a board, and its group, from the record that notes the place; nil when there is none.
local function member_of(part, no, run, user, name)
  local blob = redis.call('HGET', part.user .. user, name)
  local places = blob and leaderboards.places_in(name, cmsgpack.unpack(blob))
  if not places then
    return nil
  end
  return leaderboards.noted_member(places[no], run, user)
end

-- A page of a board: rank, user, name and value of each row, down to the last place (`max`). With a user, the offset counts from that
-- user's place, and a user who is not on the board gets no rows.
local function read_board(keys, args)
  local position = contract.arg.readBoard
  local part, context = partition.enter(keys, args)
  if not part then
    return context
  end
  local no, run, group = args[position.leaderboard], args[position.run], args[position.group]
  local key = boards.key(part, no, run, group ~= '' and group or nil)
  local from, user, max = tonumber(args[position.offset]), args[position.user], tonumber(args[position.max])
  if user ~= '' then
    local member = member_of(part, no, tonumber(run), user, args[position.record])
    local rank = member and boards.rank(key, member)
    if not rank or rank > max then
      return { outcome.ok, {} }
    end
    from = from + rank - 1
  end
  local count = math.min(tonumber(args[position.limit]), max - from)
  if count <= 0 then
    return { outcome.ok, {} }
  end
  local page = redis.call('ZREVRANGE', key, from, from + count - 1, 'WITHSCORES')
  local rows = {}
  for i = 1, #page, 2 do
    local id = boards.user_of(page[i])
    rows[#rows + 1] = { from + (i + 1) / 2, id, redis.call('HGET', part.user .. id, record.name), page[i + 1] }
  end
  return { outcome.ok, rows }
end

-- One user's place on a board, the user settled: rank and value (false where there is none), the newest ledger id, which the history that
-- Postgres holds must have reached, and the run. An empty run is the one that the user's local date is in.
local function read_place(keys, args)
  local position = contract.arg.readPlace
  local tx, first = commands.read_known(keys, args, position)
  if not tx then
    return first
  end
  local no, run = args[position.leaderboard], args[position.run]
  local board = tx.plan.boards[no]
  if run == '' then
    run = board and board.unit and calendar.run(board, math.max(math.min(tx.day, board.last or tx.day), board.first)) or 0
  end
  local member, group = member_of(tx.part, no, tonumber(run), tx.user, args[position.record])
  local rank, value
  if member then
    local key = boards.key(tx.part, no, run, group)
    rank, value = boards.rank(key, member), redis.call('ZSCORE', key, member)
    if rank and rank > tonumber(args[position.max]) then
      rank, value = nil, nil
    end
  end
  return { outcome.ok, rank or false, value or false, partition.last_ledger_id(tx.part), tonumber(run) }
end

function reads.register()
  local name = contract.name
  redis.register_function(name .. '_readUser', read_user)
  redis.register_function(name .. '_readStreaks', read_streaks)
  redis.register_function(name .. '_readPlace', read_place)
  redis.register_function({ function_name = name .. '_readBoard', callback = read_board, flags = { 'no-writes' } })
  redis.register_function({ function_name = name .. '_readCounts', callback = read_counts, flags = { 'no-writes' } })
end

return reads
