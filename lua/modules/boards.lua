-- The sorted sets of leaderboards: (value, member), where the member starts with the number at which the value was reached.
--
-- Ranks fall with the value. Among equal values Redis orders by member, byte by byte, so the number is counted down and the board is read
-- in reverse: whoever reached the value first is first, exactly, however close in time.
local contract = require('contract')
local decimal = require('decimal')

local boards = {}

-- The number in a member (src/redis/contract.ts, memberSeq).
local SHORT, LONG = contract.memberSeq.shortBytes, contract.memberSeq.longBytes
local SHORT_FORMAT, LONG_FORMAT = '>I' .. SHORT, '>I' .. LONG
local MAX_SHORT, MAX_LONG = 256 ^ SHORT - 1, 256 ^ LONG / 2 - 1
local FIRST_LONG = 256 ^ SHORT / 2

function boards.member(seq, user)
  if seq < FIRST_LONG then
    return struct.pack(SHORT_FORMAT, MAX_SHORT - seq) .. user
  end
  return struct.pack(LONG_FORMAT, MAX_LONG - seq) .. user
end

function boards.user_of(member)
  return member:sub((member:byte() >= 128 and SHORT or LONG) + 1)
end

-- The key of one run of a board, and of one group of it where the board is broken down.
function boards.key(part, no, run, group)
  return part.board .. no .. ':' .. run .. (group and ':' .. group or '')
end

-- A member's rank from 1, nil for none.
function boards.rank(key, member)
  local rank = redis.call('ZREVRANK', key, member)
  return rank and rank + 1 or nil
end

-- The last place of a full board: its member and value; nil while there is room. (`lastPlace` is the last place's index, as text.)
local function last_place(key, board)
  local last = redis.call('ZREVRANGE', key, board.lastPlace, board.lastPlace, 'WITHSCORES')
  return last[1], last[2] and tonumber(last[2])
end

-- The value that a newcomer has to beat: that of the last place on a full board, 0 while there is room.
function boards.threshold(key, board)
  local _, value = last_place(key, board)
  return value or 0
end

-- A member's rank within the limit of the board; nil beyond it.
function boards.participant_rank(key, board, member)
  local rank = boards.rank(key, member)
  return rank and rank <= board.max and rank or nil
end

-- Whether a member with a value is not below the last place.
local function reaches(value, member, last, last_value)
  return value > last_value or value == last_value and member >= last
end

-- The rank of a member, which may be missing (nil) or beyond the limit. With many users most are beyond it: the last place says so in less
-- time than a rank takes.
local function rank_before(key, member, last, last_value)
  if last then
    local value = redis.call('ZSCORE', key, member)
    if not value or not reaches(tonumber(value), member, last, last_value) then
      return nil
    end
  end
  return boards.rank(key, member)
end

-- Replaces a user's member (`old`, nil for none) by `new` with a value. Returns the ranks before and after (nil beyond the limit), the
-- threshold after it, and whether the user is new to the set.
function boards.move(key, board, old, new, value)
  local last, last_value = last_place(key, board)
  local previous = old and rank_before(key, old, last, last_value)
  local is_new = not old or redis.call('ZREM', key, old) == 0
  redis.call('ZADD', key, decimal.text(value), new)
  if last and not previous and not reaches(value, new, last, last_value) then
    return nil, nil, last_value, is_new
  end
  local rank = boards.rank(key, new)
  if rank == board.max then
    return previous, rank, value, is_new
  elseif not last and not is_new then
    return previous, rank, 0, is_new
  elseif last and previous and previous < board.max and rank < board.max then
    return previous, rank, last_value, is_new
  end
  return previous, rank < board.max and rank or nil, boards.threshold(key, board), is_new
end

return boards
