-- Reads. Those of one user settle the user first, so that what is read is true now.
local contract = require('contract')
local boards = require('boards')
local calendar = require('calendar')
local command = require('command')
local decimal = require('decimal')
local leaderboards = require('leaderboards')
local partition = require('partition')
local streaks = require('streaks')
local time = require('time')
local transaction = require('transaction')
local outcome, record = contract.outcome, contract.record

local KNOWN = { exists = true }
local DAY_MS = 86400000

-- Which state of the user a reply is of, as caches of what Postgres has of the user know it (src/history/reader.ts): the epoch, the ledger
-- id of the newest deletion of a user, and the user's revision.
local function revision(tx)
  return tx.part.epoch, partition.deleted(tx.part), tx.core[contract.core.rev]
end

-- Reads everything of a user.
-- Arguments: user, entryId (for settling), completions. Replies: ok, the fields of the user's hash, the packed streak, the counts of
-- completions if `completions` is 1, the number of users, the ledger's newest id, the time and the user's local day; userUnknown.
command.of_user('readUser', KNOWN, function(tx, args, position)
  local part, completions = tx.part, {}
  if args[position.completions] == '1' then
    completions = redis.call('HGETALL', part.completions)
  end
  return {
    outcome.ok,
    redis.call('HGETALL', tx.key),
    cmsgpack.pack(streaks.read_fact(tx) or false),
    completions,
    partition.users(part),
    partition.last_ledger_id(part),
    string.format('%.0f', tx.now),
    tx.day,
  }
end)

-- Reads some records of a user.
-- Arguments: user, entryId (for settling), then the records. Replies: ok and the records, false for one that is not stored; userUnknown.
command.of_user('readRecords', KNOWN, function(tx, args, position)
  return { outcome.ok, redis.call('HMGET', tx.key, unpack(args, position.rest)) }
end)

-- Reads a user's points and newest awards.
-- Arguments: user, entryId (for settling), system, awards (how many). Replies: ok, the total, and the awards; userUnknown.
command.of_user('readPoints', KNOWN, function(tx, args, position)
  local system = args[position.system]
  local total = transaction.get(tx, record.points .. system)[contract.points.total] or 0
  local awards = redis.call('LRANGE', tx.part.awards .. system .. ':' .. tx.user, 0, tonumber(args[position.awards]) - 1)
  return { outcome.ok, string.format('%.0f', total), awards }
end)

-- Reads a user's shown streak.
-- Arguments: user, entryId (for settling). Replies: ok, the packed streak, the packed pauses, the user's local day, and `revision`;
-- userUnknown.
command.of_user('readStreak', KNOWN, function(tx)
  local pauses = tx.core[contract.core.pauses] or {}
  return { outcome.ok, cmsgpack.pack(streaks.read_fact(tx) or false), cmsgpack.pack(pauses), tx.day, revision(tx) }
end)

-- Reads the shown streaks of several users, each settled.
-- Arguments: an entry id and a user of each. Replies: ok and the packed streaks, false for an unknown user; again, unknownZone.
command.with_plan('readStreaks', function(call, args, position)
  local facts = {}
  local refused = command.each_user(call, args, position, function(tx)
    facts[#facts + 1] = tx.exists and streaks.read_fact(tx) or false
  end)
  return refused or { outcome.ok, cmsgpack.pack(facts) }
end)

-- Replies: ok, the counts of completions, and the number of users.
command.reading('readCounts', function(call)
  return { outcome.ok, redis.call('HGETALL', call.part.completions), partition.users(call.part) }
end)

-- The run that a day is in: the first for a day before it, the last for one after it. 0 for a board that does not repeat.
local function run_of(board, day)
  return board.unit and calendar.run(board, math.max(math.min(day, board.last or day), board.first)) or 0
end

-- The user's member on a run of a board, and the group, by what the user's record stores; nil when there is none.
local function stored_member(part, user, board, run)
  local blob = redis.call('HGET', part.user .. user, board.record)
  local places = blob and cmsgpack.unpack(blob)[board.placesAt]
  return leaderboards.stored_member(places and places[board.key], run, user)
end

-- The place of the first row of a page, from 0: with a user, counted from that user's rank; nil for a user who has none.
local function first_of_page(part, entry, args, position)
  local from, user = tonumber(args[position.offset]), args[position.user]
  if user == '' then
    return from
  end
  local member = stored_member(part, user, entry.board, entry.run)
  local rank = member and boards.participant_rank(entry, member)
  return rank and from + rank - 1 or nil
end

-- The run and group of a board that a call names, and the time. An empty run is the one that the UTC date is in.
local function named_entry(call, args, position)
  local board, group, now = call.plan.boards[args[position.leaderboard]], args[position.group], time.now(call)
  local run = tonumber(args[position.run]) or run_of(board, math.floor(now / DAY_MS))
  return boards.entry(call.part, board, run, group ~= '' and group or nil), now
end

-- Reads a page of a board, down to the last participant. With a user, the offset counts from that user's rank, and a user who has none gets
-- no rows.
-- Arguments: leaderboard, run (empty for the one that the UTC date is in), group (empty for none), offset, limit, user (empty for none).
-- Replies: ok, the time, the run, the place of the first row, from 0, and the rows: users and values, packed, and names, packed.
command.reading_with_plan('readBoard', function(call, args, position)
  local entry, now = named_entry(call, args, position)
  local from = first_of_page(call.part, entry, args, position)
  local count = from and math.min(tonumber(args[position.limit]), entry.board.max - from) or 0
  local page, names = {}, {}
  if count > 0 then
    page, names = boards.page(call.part, entry, from, count)
  end
  return { outcome.ok, string.format('%.0f', now), entry.run, from or 0, cmsgpack.pack(page), cmsgpack.pack(names) }
end)

-- Reads the places of users in a group of a board.
-- Arguments: leaderboard, run (empty for the one that the UTC date is in), group (empty for none), then users. Replies: ok, the time, the
-- run, and for each of the users who is a participant in this group, packed: the user, the name (false for none), the rank, and the value.
command.reading_with_plan('readPlaces', function(call, args, position)
  local entry, now = named_entry(call, args, position)
  local places = {}
  for i = position.rest, #args do
    local user = args[i]
    local member, group = stored_member(call.part, user, entry.board, entry.run)
    local rank = member and group == entry.group and boards.participant_rank(entry, member)
    if rank then
      local name = redis.call('HGET', call.part.user .. user, record.name)
      places[#places + 1] = { user, name, rank, decimal.text(boards.value(entry, member)) }
    end
  end
  return { outcome.ok, string.format('%.0f', now), entry.run, cmsgpack.pack(places) }
end)

-- Reads how the values of a run of a board are distributed: of all users who have one, also of those beyond the limit of participants. A
-- board that is not in the plan, because it is inactive, has none.
-- Arguments: leaderboard, run, group (empty for none), then values. Replies: ok, the number of users, the lowest, the middle (of two, the
-- lower one) and the highest value, false for none, and for each of the values how many are below it.
command.reading_with_plan('readDistribution', function(call, args, position)
  local board, group = call.plan.boards[args[position.leaderboard]], args[position.group]
  if not board then
    return { outcome.ok, 0, false, false, false, {} }
  end
  local entry = boards.entry(call.part, board, tonumber(args[position.run]), group ~= '' and group or nil)
  return { outcome.ok, boards.distribution(entry, { unpack(args, position.rest) }) }
end)

-- Reads one user's rank and value on a board, the user settled.
-- Arguments: user, entryId (for settling), leaderboard, run (empty for the one that the user's local date is in). Replies: ok, rank and
-- value (false for none), the time, the run, and `revision`; userUnknown.
command.of_user('readPlace', KNOWN, function(tx, args, position)
  local board = tx.plan.boards[args[position.leaderboard]]
  local run = tonumber(args[position.run]) or run_of(board, tx.day)
  local member, group = stored_member(tx.part, tx.user, board, run)
  local rank, value
  if member then
    local entry = boards.entry(tx.part, board, run, group)
    rank = boards.participant_rank(entry, member)
    value = rank and decimal.text(boards.value(entry, member))
  end
  return { outcome.ok, rank or false, value or false, string.format('%.0f', tx.now), run, revision(tx) }
end)
