-- Leaderboards: sorted sets of (value, member), where the member starts with the number at which the value was reached.
--
-- Ranks fall with the value. Among equal values Redis orders by member, so the number is counted down from MAX_SEQ and the board is read
-- in reverse: whoever reached the value first is first, exactly, however close in time.
local contract = require('contract')
local ledger = require('ledger')
local partition = require('partition')
local plans = require('plans')
local time = require('time')
local field, outcome = contract.field, contract.outcome

local leaderboards = {}

local MAX_SEQ = 9007199254740991
-- Digits of MAX_SEQ: what a member starts with, before the user's id.
local SEQ_CHARS = 16

local function member(seq, user)
  return string.format('%016.0f', MAX_SEQ - seq) .. user
end

local function rank_of(key, of_member)
  local rank = redis.call('ZREVRANK', key, of_member)
  return rank and rank + 1 or nil
end

-- The value and the user of the last place; nil for an empty board.
local function last_place(key)
  local last = redis.call('ZRANGE', key, 0, 0, 'WITHSCORES')
  if not last[1] then
    return nil
  end
  return tonumber(last[2]), last[1]:sub(SEQ_CHARS + 1)
end

-- Takes the last place off a board, the user's note of being on it included. Returns the user.
local function drop_last(part, key, no)
  local last = redis.call('ZPOPMIN', key)
  local user = last[1]:sub(SEQ_CHARS + 1)
  redis.call('HDEL', part.user .. user, field.boardSeq .. no)
  return user
end

-- Makes room for `value` on a board: whether there is room, and the user who had to leave for it. With room, a value of 0 or more gets
-- in; on a full board a newcomer must beat the last place.
local function make_room(part, key, board, value, participants)
  if participants < board.max then
    return value >= 0
  end
  if value <= last_place(key) then
    return false
  end
  return true, drop_last(part, key, board.no)
end

-- Enters the new value of a user on one board. Returns what changed, or nil when the board did not.
local function place(part, board, event, before, value)
  if value == before or event.day < board.first or (board.last and event.day > board.last) then
    return nil
  end
  local key = part.board .. board.key
  local seq = event.row[board.at]
  local participants = redis.call('ZCARD', key)
  local previous, left
  if seq then
    local old = member(tonumber(seq), event.user)
    previous = rank_of(key, old)
    redis.call('ZREM', key, old)
  else
    local room
    room, left = make_room(part, key, board, value, participants)
    if not room then
      return nil
    end
    participants = left and participants or participants + 1
  end
  event.seq = event.seq or partition.next_seq(part)
  local entered = member(event.seq, event.user)
  redis.call('ZADD', key, string.format('%.15g', value), entered)
  return {
    no = board.no,
    run = board.run,
    seq = event.seq,
    value = value,
    rank = rank_of(key, entered),
    previousRank = previous,
    previousValue = previous and before or nil,
    threshold = participants >= board.max and last_place(key) or 0,
    left = left,
  }
end

-- Enters a new value on all boards that rank by it, and stages the user's place on each in `set`. `before` is nil when there was none.
function leaderboards.enter(part, boards, event, before, value, set, changed)
  for _, board in ipairs(boards) do
    local change = place(part, board, event, before, value)
    if change then
      changed[#changed + 1] = change
      set[#set + 1] = board.field
      set[#set + 1] = string.format('%.0f', change.seq)
    end
  end
end

-- Takes off the boards of a plan whoever is beyond a limit that was lowered. Returns { no, run, users } for each board that had some.
function leaderboards.trim(part, boards)
  local trimmed = {}
  for _, board in pairs(boards) do
    local key = part.board .. board.key
    local excess = redis.call('ZCARD', key) - board.max
    if excess > 0 then
      local users = {}
      for i = 1, excess do
        users[i] = drop_last(part, key, board.no)
      end
      trimmed[#trimmed + 1] = { no = board.no, run = board.run, users = users }
    end
  end
  return trimmed
end

-- Enters a user who already has a value on a board that has become active; a user who is on it, or has no value, is left alone.
local function enter_board(keys, args)
  local position = contract.arg.enterBoard
  local part, context = partition.enter(keys, args)
  if not part then
    return context
  end
  local plan = plans.get(part, context.plan)
  if not plan then
    return { outcome.unknownPlan }
  end
  local board, user = plan.boards[args[position.leaderboard]], args[position.user]
  local user_key = part.user .. user
  local row = redis.call('HMGET', user_key, field.boardSeq .. board.no, board.valueField, field.tz, field.rev)
  if row[1] or not row[2] then
    return { outcome.ok }
  end
  local now = time.now(part, context)
  local day, unknown = time.local_day(part, context.zones, row[3], now)
  if not day then
    return unknown
  end
  local event = { user = user, day = day, row = {} }
  local change = place(part, board, event, nil, tonumber(row[2]))
  if change then
    local rev = tonumber(row[4]) + 1
    redis.call('HSET', user_key, field.boardSeq .. board.no, string.format('%.0f', change.seq), field.rev, rev)
    ledger.append(part, {
      kind = 'place', id = args[position.entryId], user = user, at = now, day = day, rev = rev, boards = { change },
    })
  end
  return { outcome.ok }
end

-- A page of a board: how many are on it, then rank, user, name and value of each row. With a user, the offset counts from that user's
-- place, and a user who is not on the board gets no rows.
local function read_board(keys, args)
  local position = contract.arg.readBoard
  local part, context = partition.enter(keys, args)
  if not part then
    return context
  end
  local no = args[position.leaderboard]
  local key = part.board .. no .. ':' .. args[position.run]
  local from, user = tonumber(args[position.offset]), args[position.user]
  if user ~= '' then
    local seq = redis.call('HGET', part.user .. user, field.boardSeq .. no)
    local rank = seq and rank_of(key, member(tonumber(seq), user))
    if not rank then
      return { outcome.ok, {} }
    end
    from = from + rank - 1
  end
  local count = tonumber(args[position.limit])
  if count == 0 then
    return { outcome.ok, {} }
  end
  local page = redis.call('ZREVRANGE', key, from, from + count - 1, 'WITHSCORES')
  local rows = {}
  for i = 1, #page, 2 do
    local id = page[i]:sub(SEQ_CHARS + 1)
    rows[#rows + 1] = { from + (i + 1) / 2, id, redis.call('HGET', part.user .. id, field.name), page[i + 1] }
  end
  return { outcome.ok, rows }
end

-- One user's place on a board: rank and value (false where there is none), whether the user exists, and the newest ledger id, which the
-- history that Postgres holds must have reached.
local function read_place(keys, args)
  local position = contract.arg.readPlace
  local part, context = partition.enter(keys, args)
  if not part then
    return context
  end
  local no, user = args[position.leaderboard], args[position.user]
  local found = redis.call('HMGET', part.user .. user, field.created, field.boardSeq .. no)
  if not found[1] then
    return { outcome.userUnknown }
  end
  local rank, value
  if found[2] then
    local key, of_member = part.board .. no .. ':' .. args[position.run], member(tonumber(found[2]), user)
    rank, value = rank_of(key, of_member), redis.call('ZSCORE', key, of_member)
  end
  return { outcome.ok, rank or false, value or false, partition.last_ledger_id(part) }
end

function leaderboards.register()
  redis.register_function(contract.name .. '_enterBoard', enter_board)
  redis.register_function({ function_name = contract.name .. '_readBoard', callback = read_board, flags = { 'no-writes' } })
  redis.register_function({ function_name = contract.name .. '_readPlace', callback = read_place, flags = { 'no-writes' } })
end

return leaderboards
