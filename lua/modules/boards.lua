-- The sorted sets of leaderboards: (value, member), where the member starts with the number at which the value was reached.
--
-- Ranks fall with the value. Among equal values Redis orders by member, so the number is counted down from MAX_SEQ and the board is read
-- in reverse: whoever reached the value first is first, exactly, however close in time.
local boards = {}

local MAX_SEQ = 9007199254740991
-- Digits of MAX_SEQ: what a member starts with, before the user's id.
local SEQ_CHARS = 16

function boards.member(seq, user)
  return string.format('%016.0f', MAX_SEQ - seq) .. user
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

-- The value of the last place; nil for an empty board.
function boards.last_value(key)
  local last = redis.call('ZRANGE', key, 0, 0, 'WITHSCORES')
  return last[1] and tonumber(last[2]) or nil
end

-- Takes the last place off a board and returns its user.
function boards.drop_last(key)
  return boards.user_of(redis.call('ZPOPMIN', key)[1])
end

function boards.add(key, member, value)
  redis.call('ZADD', key, string.format('%.15g', value), member)
  return boards.rank(key, member)
end

-- The value that a newcomer has to beat: that of the last place on a full board, 0 while there is room.
function boards.threshold(key, max, participants)
  return participants >= max and boards.last_value(key) or 0
end

return boards
