-- The sorted sets of leaderboards: (score, member). The score is made of the value, and the member starts with the sequence number at which
-- the value was reached. All that reads or writes scores is here.
--
-- The first place has the highest score. Among equal scores Redis orders by member, byte by byte, so the number is counted down and the set
-- is read in reverse: the user who reached the value first is first, exactly, however close in time. (src/shared/ranking.ts orders rows of
-- Postgres the same way.)
local contract = require('contract')
local decimal = require('decimal')

local boards = {}

-- The number in a member (src/redis/layout.ts, memberSeq).
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

-- The sorted set of one run of a leaderboard, or of one group of it where the leaderboard is broken down.
function boards.key(part, no, run, group)
  return part.board .. no .. ':' .. run .. (group and ':' .. group or '')
end

local MAX_GROUP_BYTES = contract.limit.maxGroupBytes

-- The start of a text that takes at most so many bytes, without half a character at its end.
local function start_of(text, bytes)
  if #text <= bytes then
    return text
  end
  while bytes > 0 and text:byte(bytes + 1) >= 0x80 and text:byte(bytes + 1) < 0xc0 do
    bytes = bytes - 1
  end
  return text:sub(1, bytes)
end

-- The group of attribute values: each with its length, so that no two combinations are alike; nil when one is missing. Of values too long
-- for an index of Postgres only the starts count. (src/responses/leaderboards.ts does the same: test/rules/vectors.test.ts.)
function boards.group(attributes, breakdown)
  local parts, most = {}, math.floor(MAX_GROUP_BYTES / #breakdown)
  for i, name in ipairs(breakdown) do
    local value = attributes[name]
    if not value then
      return nil
    end
    value = start_of(value, most)
    parts[i] = #value .. ':' .. value
  end
  return table.concat(parts)
end

-- The score of a value as Redis takes it, and the value of a score that Redis replies: the same number, as in src/redis/boards.ts. (A page
-- and a distribution have scores in the place of values, as text: there are too many to make numbers of.)
local score_of = decimal.text

local function value_of(score)
  return tonumber(score)
end

-- (Lua makes a text of a number by way of its decimals, which takes as long as a command.)
local function run_text(run)
  return run == 0 and '0' or string.format('%d', run)
end

-- The sorted set of a run without groups. The partition keeps the latest of each leaderboard, since making one takes as long as a command.
local function key_of_run(part, no, run)
  local kept = part.boards[no]
  if not kept or kept.run ~= run then
    kept = { run = run, key = boards.key(part, no, run_text(run), nil) }
    part.boards[no] = kept
  end
  return kept.key
end

-- A user's entry on one run and group of a leaderboard, which the functions below take: the leaderboard in the plan, the run, the group
-- (nil for none), the key of the sorted set, and the sequence number and value that the user has there (nil for none).
function boards.entry(part, board, run, group)
  local no = board.key
  local key = group and boards.key(part, no, run_text(run), group) or key_of_run(part, no, run)
  return { board = board, run = run, group = group, key = key, seq = nil, value = nil }
end

-- Removes an entry. A group without members is deleted: its name is made of the attributes of those who were in it.
function boards.remove(part, entry, user)
  redis.call('ZREM', entry.key, boards.member(entry.seq, user))
  if entry.group and redis.call('EXISTS', entry.key) == 0 then
    redis.call('SREM', part.groups .. entry.board.key .. ':' .. entry.run, entry.group)
  end
end

-- The last participant of a full board: member and value; nil while there is room. (`lastPlace` is its index, as text.)
local function last_place(entry)
  local index = entry.board.lastPlace
  local last = redis.call('ZREVRANGE', entry.key, index, index, 'WITHSCORES')
  return last[1], last[2] and value_of(last[2])
end

-- The value that a newcomer has to beat: that of the last participant of a full board, 0 while there is room.
function boards.threshold(entry)
  local _, value = last_place(entry)
  return value or 0
end

-- A member's rank within the limit of the board; nil beyond it.
function boards.participant_rank(entry, member)
  local rank = redis.call('ZREVRANK', entry.key, member)
  return rank and rank < entry.board.max and rank + 1 or nil
end

-- A member's value; nil for a member that the set does not have.
function boards.value(entry, member)
  local score = redis.call('ZSCORE', entry.key, member)
  return score and value_of(score)
end

-- Whether a member with a value is not below the last place: the order of the sorted set.
local function reaches(value, member, last, last_value)
  return value > last_value or value == last_value and member >= last
end

-- The rank of a user's member, which may be missing (nil) or beyond the limit. With many users most are beyond it: the last place says so
-- in less time than a rank takes. A user who by the entry's value is a participant is looked up at once.
local function rank_before(entry, member, last, last_value)
  local known = entry.value
  if last and not (known and reaches(known, member, last, last_value)) then
    local value = boards.value(entry, member)
    if not value or not reaches(value, member, last, last_value) then
      return nil
    end
  end
  return boards.participant_rank(entry, member)
end

-- Replaces a user's member (`old`, nil for none) by `new` with a value. Returns the ranks before and after (nil beyond the limit), the
-- threshold after it, and whether the user is new to the set.
function boards.move(entry, old, new, value)
  local key, max = entry.key, entry.board.max
  local last, last_value = last_place(entry)
  local previous = old and rank_before(entry, old, last, last_value)
  local is_new = not old or redis.call('ZREM', key, old) == 0
  redis.call('ZADD', key, score_of(value), new)
  if last and not previous and not reaches(value, new, last, last_value) then
    return nil, nil, last_value, is_new
  end
  local rank = redis.call('ZREVRANK', key, new) + 1
  if rank == max then
    return previous, rank, value, is_new
  elseif not last and not is_new then
    return previous, rank, 0, is_new
  elseif last and previous and previous < max and rank < max then
    return previous, rank, last_value, is_new
  end
  return previous, rank < max and rank or nil, boards.threshold(entry), is_new
end

-- A page of an entry's sorted set, from the place `from`, counted from 0, as two lists: users and values alternating, and the names of the
-- users (false for a user without one). Written for speed: a page may have a thousand rows, and Redis does nothing else in that time.
function boards.page(part, entry, from, count)
  local page, names = redis.call('ZREVRANGE', entry.key, from, from + count - 1, 'WITHSCORES'), {}
  local user_of, call, start, name = boards.user_of, redis.call, part.user, contract.record.name
  for i = 1, #page, 2 do
    local id = user_of(page[i])
    page[i], names[(i + 1) / 2] = id, call('HGET', start .. id, name)
  end
  return page, names
end

-- How the values of an entry's sorted set are distributed, beyond the limit of participants as well: the number of users, the lowest, the
-- middle (of two, the lower one) and the highest value as text, false for none, and for each of `values`, as text, how many are below it.
function boards.distribution(entry, values)
  local key, below = entry.key, {}
  local users = redis.call('ZCARD', key)
  local function value_at(index)
    return redis.call('ZRANGE', key, index, index, 'WITHSCORES')[2] or false
  end
  for i, value in ipairs(values) do
    below[i] = redis.call('ZCOUNT', key, '-inf', '(' .. value)
  end
  return users, value_at(0), value_at(math.floor((users - 1) / 2)), value_at(-1), below
end

return boards
