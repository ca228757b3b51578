-- The sorted sets of leaderboards: (value, member), where the member starts with the number at which the value was reached.
--
-- Ranks fall with the value. Among equal values Redis orders by member, so the number is counted down from MAX_SEQ and the board is read
-- in reverse: whoever reached the value first is first, exactly, however close in time.
local decimal = require('decimal')

local boards = {}

local MAX_SEQ = 9007199254740991
-- Digits of MAX_SEQ: what a member starts with, before the user's id.
local SEQ_CHARS = 16

function boards.member(seq, user)
  return string.format('%016d', MAX_SEQ - seq) .. user
end

function boards.user_of(member)
  return member:sub(SEQ_CHARS + 1)
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

-- The value of the last place of a full board; nil while there is room. (`lastPlace` is the last place's index, as text.)
function boards.last_value(key, board)
  local last = redis.call('ZREVRANGE', key, board.lastPlace, board.lastPlace, 'WITHSCORES')[2]
  return last and tonumber(last)
end

-- Takes the last place off a board and returns its user.
function boards.drop_last(key)
  return boards.user_of(redis.call('ZPOPMIN', key)[1])
end

function boards.add(key, member, value)
  redis.call('ZADD', key, decimal.text(value), member)
  return boards.rank(key, member)
end

-- The value that a newcomer has to beat: that of the last place on a full board, 0 while there is room.
function boards.threshold(key, board)
  return boards.last_value(key, board) or 0
end

return boards
