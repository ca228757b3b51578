-- Reads. Those of one user settle the user first, so that what is read is true now.
local contract = require('contract')
local boards = require('boards')
local calendar = require('calendar')
local command = require('command')
local leaderboards = require('leaderboards')
local partition = require('partition')
local settle = require('settle')
local streaks = require('streaks')
local outcome, record = contract.outcome, contract.record

local KNOWN = { exists = true }

-- Reads everything of a user.
-- Arguments: user, entryId (for settling), system, awards, completions. Replies: ok, the fields of the user's hash, the newest `awards`
-- awards of `system` (none when it is empty), the packed streak, the counts of completions if `completions` is 1, the number of users, the
-- ledger's newest id, the time and the user's local day; userUnknown.
command.of_user('readUser', KNOWN, function(tx, args, position)
  local part, system, awards, completions = tx.part, args[position.system], {}, {}
  if system ~= '' then
    awards = redis.call('LRANGE', part.awards .. system .. ':' .. tx.user, 0, tonumber(args[position.awards]) - 1)
  end
  if args[position.completions] == '1' then
    completions = redis.call('HGETALL', part.completions)
  end
  return {
    outcome.ok,
    redis.call('HGETALL', tx.key),
    awards,
    cmsgpack.pack(streaks.fact(tx) or false),
    completions,
    partition.users(part),
    partition.last_ledger_id(part),
    string.format('%.0f', tx.now),
    tx.day,
  }
end)

-- Reads the shown streaks of several users, each settled. If that is more work than one call may do, it replies again, and the next call
-- finds the first of them settled.
-- Arguments: an entry id and a user of each. Replies: ok and the packed streaks, false for an unknown user; again, unknownZone.
command.with_plan('readStreaks', function(call, args, position)
  local facts = {}
  settle.start_budget()
  for i = position.rest, #args, 2 do
    if settle.is_spent() then
      return { outcome.again }
    end
    local tx, refused = command.begin(call, args[i + 1], args[i], nil)
    if not tx then
      return refused
    end
    facts[#facts + 1] = tx.exists and streaks.fact(tx) or false
  end
  return { outcome.ok, cmsgpack.pack(facts) }
end)

-- Replies: ok, the counts of completions, and the number of users.
command.reading('readCounts', function(call)
  return { outcome.ok, redis.call('HGETALL', call.part.completions), partition.users(call.part) }
end)

-- What the user's record stores of the user's place on a board; nil or false for nothing.
local function stored_place(part, user, args, position)
  local name = args[position.record]
  local blob = redis.call('HGET', part.user .. user, name)
  local places = blob and leaderboards.places_in(name, cmsgpack.unpack(blob))
  return places and places[args[position.leaderboard]]
end

-- Reads a page of a board, down to the last participant. With a user, the offset counts from that user's rank, and a user who has none gets
-- no rows.
-- Arguments: leaderboard, record, max, run, group (empty for none), offset, limit, user (empty for none). Replies: ok and the rows: rank,
-- user, name and value.
command.reading('readBoard', function(call, args, position)
  local part, run, group, user = call.part, args[position.run], args[position.group], args[position.user]
  local key = boards.key(part, args[position.leaderboard], run, group ~= '' and group or nil)
  local from, max = tonumber(args[position.offset]), tonumber(args[position.max])
  if user ~= '' then
    local member = leaderboards.stored_member(stored_place(part, user, args, position), tonumber(run), user)
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
end)

-- Reads one user's rank and value on a board, the user settled.
-- Arguments: user, entryId (for settling), leaderboard, record, max, run (empty for the one that the user's local date is in). Replies: ok,
-- rank and value (false for none), the ledger's newest id, which the history in Postgres must have reached, and the run; userUnknown.
command.of_user('readPlace', KNOWN, function(tx, args, position)
  local no, run = args[position.leaderboard], args[position.run]
  local board = tx.plan.boards[no]
  if run == '' then
    run = board and board.unit and calendar.run(board, math.max(math.min(tx.day, board.last or tx.day), board.first)) or 0
  end
  local member, group = leaderboards.stored_member(stored_place(tx.part, tx.user, args, position), tonumber(run), tx.user)
  local rank, value
  if member then
    local key = boards.key(tx.part, no, run, group)
    rank, value = boards.rank(key, member), redis.call('ZSCORE', key, member)
    if rank and rank > tonumber(args[position.max]) then
      rank, value = nil, nil
    end
  end
  return { outcome.ok, rank or false, value or false, partition.last_ledger_id(tx.part), tonumber(run) }
end)
