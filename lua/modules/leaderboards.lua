-- Leaderboards: which of them a change of a user's concerns, and the user's place on each.
--
-- A board is one of three kinds (src/plan/boards.ts). A `total` board ranks what the user has anyway: a metric's total, a points total, or
-- the streak. A `grouped` one does so within the group of the user's attributes. A `gain` board ranks what the user gained while it
-- counted: in a run, or inside a window of the day, and may be grouped too.
--
-- The sorted set of a run and group holds every user who has a value, and the participant limit is applied where ranks are read: a rank
-- beyond the limit is none. So a leaderboard is the best of all users at every moment, and a changed limit needs no work.
--
-- The record of what a leaderboard ranks notes the user's place. On a total board that is the number at which the value was reached; there
-- is none while the user has no value. For the others it is the newest runs (at most RUNS), each { run, value, seq, group }.
local boards = require('boards')
local calendar = require('calendar')
local contract = require('contract')
local decimal = require('decimal')
local time = require('time')
local transaction = require('transaction')

local leaderboards = {}

-- Places of a change (src/redis/layout.ts, `boardFact`).
local fact = contract.boardFact

local RUNS = 3
local RUN, VALUE, SEQ, GROUP = 1, 2, 3, 4

local function is_open(board, day)
  return day >= board.first and not (board.last and day > board.last)
end

local function in_window(board, tx, at)
  if not board.from then
    return true
  end
  local now = time.of_day(tx.context.zones, transaction.zone(tx), at)
  if board.from < board.to then
    return now >= board.from and now < board.to
  end
  return now >= board.from or now < board.to
end

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

-- The group that the user's attributes put the user in: each value with its length, so that no two combinations are alike. Nil and false
-- when one is missing. (Of values too long for an index of Postgres, only the starts count; src/responses/leaderboards.ts does the same.)
local function current_group(tx, board)
  if not board.breakdown then
    return nil, true
  end
  local attributes = transaction.get(tx, contract.record.attributes)
  local parts, most = {}, math.floor(contract.limit.maxGroupBytes / #board.breakdown)
  for i, name in ipairs(board.breakdown) do
    local value = attributes[name]
    if not value then
      return nil, false
    end
    value = start_of(value, most)
    parts[i] = #value .. ':' .. value
  end
  return table.concat(parts), true
end

-- The key of a run of a board. (Lua makes a text of a number by way of its decimals, which takes as long as a command.)
local function key_of(tx, board, run, group)
  return boards.key(tx.part, board.key, run == 0 and '0' or string.format('%d', run), group)
end

-- Enters a value on a board's sorted set. `seq` is that of the value that the user had there until now, `before`; nil for none. Returns the
-- change; it has no rank for a user beyond the limit.
local function place(tx, board, run, group, seq, before, value)
  local key = key_of(tx, board, run, group)
  local reached = transaction.seq(tx)
  local old = seq and boards.member(seq, tx.user)
  local previous, rank, threshold, is_new = boards.move(key, board, old, boards.member(reached, tx.user), value)
  if is_new and group then
    redis.call('SADD', tx.part.groups .. board.no .. ':' .. run, group)
  end
  return { board.no, run, group or false, reached, value, rank or false, previous or false, previous and before or false, threshold }
end

local function note(tx, change)
  tx.boards[#tx.boards + 1] = change
end

-- Removes a member from a board. A group that nobody is in any more is forgotten: its name is made of the attributes of those who were.
local function remove(part, no, run, group, member)
  local key = boards.key(part, no, run, group)
  redis.call('ZREM', key, member)
  if group and redis.call('EXISTS', key) == 0 then
    redis.call('SREM', part.groups .. no .. ':' .. run, group)
  end
end

-- Takes the user off a board.
local function leave(tx, board, run, group, seq, before)
  local key = key_of(tx, board, run, group)
  local old = boards.member(seq, tx.user)
  local previous = boards.participant_rank(key, board, old)
  remove(tx.part, board.no, run, group, old)
  local threshold = boards.threshold(key, board)
  note(tx, { board.no, run, group or false, false, false, false, previous or false, previous and before or false, threshold })
end

-- The places that the record of what a board ranks notes.
local function places_of(tx, board)
  return transaction.map(transaction.get(tx, board.record), board.placesAt)
end

-- Notes the place on a board; nil for none.
local function note_place(tx, board, noted)
  transaction.map(transaction.change(tx, board.record), board.placesAt)[board.key] = noted
end

local function enter_total(tx, board, before, value)
  local seq = places_of(tx, board)[board.key]
  if board.isStreak and value == 0 then
    if seq then
      leave(tx, board, 0, nil, seq, before)
      note_place(tx, board, nil)
    end
    return
  end
  local change = place(tx, board, 0, nil, seq, before, value)
  note_place(tx, board, change[fact.seq])
  note(tx, change)
end

-- The user's slots of a board, the newest last, and the one of a run; a new one when there is none.
local function slots_of(tx, board, run)
  local slots = places_of(tx, board)[board.key] or {}
  for _, slot in ipairs(slots) do
    if slot[RUN] == run then
      return slots, slot
    end
  end
  local slot = { run, 0, false, false }
  slots[#slots + 1] = slot
  table.sort(slots, function(a, b)
    return a[RUN] < b[RUN]
  end)
  while #slots > RUNS do
    table.remove(slots, 1)
  end
  return slots, slot
end

-- Enters a value in a slot. A user who comes from another group leaves that one, and is a newcomer here.
local function enter_slot(tx, board, slots, slot, group, value)
  local before, seq = slot[VALUE], slot[SEQ] or nil
  if seq and (slot[GROUP] or nil) ~= group then
    leave(tx, board, slot[RUN], slot[GROUP] or nil, seq, before)
    seq = nil
  end
  local change = place(tx, board, slot[RUN], group, seq, before, value)
  slot[VALUE], slot[SEQ], slot[GROUP] = value, change[fact.seq], group or false
  note_place(tx, board, slots)
  note(tx, change)
end

local function enter_grouped(tx, board, value)
  local group, complete = current_group(tx, board)
  if not complete then
    return
  end
  local slots, slot = slots_of(tx, board, 0)
  if board.isStreak and value == 0 then
    if slot[SEQ] then
      leave(tx, board, 0, slot[GROUP] or nil, slot[SEQ], slot[VALUE])
      slot[VALUE], slot[SEQ] = 0, false
      note_place(tx, board, slots)
    end
    return
  end
  enter_slot(tx, board, slots, slot, group, value)
end

-- A total has changed from `before` (nil: there was none) to `value`: enters it on the boards that rank it.
function leaderboards.enter_totals(tx, list, before, value)
  if before == value then
    return
  end
  for i = 1, #list do
    local board = list[i]
    if is_open(board, tx.day) then
      if board.kind == 'total' then
        enter_total(tx, board, before, value)
      elseif board.kind == 'grouped' then
        enter_grouped(tx, board, value)
      end
    end
  end
end

-- The number and the group that are noted of a board that does not repeat.
local function noted_place(tx, board)
  if board.kind == 'total' then
    return places_of(tx, board)[board.key], nil
  end
  local _, slot = slots_of(tx, board, 0)
  return slot[SEQ] or nil, slot[GROUP] or nil
end

-- Enters the value that a user has on a board that does not repeat and has become active, whatever the user's local date is; 0 is no
-- streak. `filling` has the number that the user gets, and the last one before those of this filling, `since`: a user with a later one has
-- been entered already, by an event or by this filling. While a board is being filled ranks pass: none is noted before
-- `leaderboards.show_rank`.
function leaderboards.fill(tx, board, value, filling)
  local seq = noted_place(tx, board)
  if seq and seq > filling.since then
    return
  end
  local first = #tx.boards + 1
  tx.sequence = filling.seq
  if board.kind == 'total' then
    enter_total(tx, board, nil, value)
  elseif board.kind == 'grouped' then
    enter_grouped(tx, board, value)
  end
  tx.sequence = nil
  for i = first, #tx.boards do
    local change = tx.boards[i]
    change[fact.rank], change[fact.previousRank], change[fact.previousValue] = false, false, false
  end
end

-- Notes the rank that the user has on a board that has been filled, for the user's history.
function leaderboards.show_rank(tx, board)
  local seq, group = noted_place(tx, board)
  local key = key_of(tx, board, 0, group)
  local member = seq and boards.member(seq, tx.user)
  local rank = member and boards.participant_rank(key, board, member)
  if rank then
    local value = tonumber(redis.call('ZSCORE', key, member))
    note(tx, { board.no, 0, group or false, seq, value, rank, false, false, boards.threshold(key, board) })
  end
end

-- Something was gained at a moment of a local day: adds it to the boards that rank gains. Gaining nothing enters a user who is new there.
function leaderboards.enter_gains(tx, list, gained, at, day)
  for i = 1, #list do
    local board = list[i]
    if board.kind == 'gain' and is_open(board, day) and in_window(board, tx, at) then
      local group, complete = current_group(tx, board)
      if complete then
        local run = board.unit and calendar.run(board, day) or 0
        local slots, slot = slots_of(tx, board, run)
        if gained ~= 0 or not slot[SEQ] then
          enter_slot(tx, board, slots, slot, group, decimal.add(slot[VALUE], gained))
        end
      end
    end
  end
end

-- Whether the patch of the turn has changed one of the attributes that a board is broken down by.
local function has_moved(tx, board)
  for _, name in ipairs(board.breakdown) do
    if tx.patch.stored[contract.field.attribute .. name] ~= nil then
      return true
    end
  end
  return false
end

-- The user's attributes have changed: moves the user, with the value, from the old group's board to the new one's, where what else has
-- happened in the turn has not done so already.
function leaderboards.regroup(tx)
  for _, board in ipairs(tx.plan.brokenDown) do
    local group, complete = current_group(tx, board)
    if complete and has_moved(tx, board) and is_open(board, tx.day) then
      local run = board.unit and calendar.run(board, tx.day) or 0
      local slots, slot = slots_of(tx, board, run)
      local value
      if board.kind == 'gain' then
        value = slot[SEQ] and slot[VALUE]
      elseif board.isStreak then
        value = tx.streak_length > 0 and tx.streak_length
      else
        value = transaction.get(tx, board.record)[contract.metric.total] or nil
      end
      if value and (slot[GROUP] or nil) ~= group then
        enter_slot(tx, board, slots, slot, group, value)
      end
    end
  end
end

-- Takes a user who is deleted off the place on a run that has this number; whoever was below moves up.
function leaderboards.remove(part, user, no, run, group, seq)
  remove(part, no, run, group, boards.member(seq, user))
end

-- Where the places stand in the records that note some, by how these begin.
local places_at = {
  [contract.record.metric] = contract.metric.places,
  [contract.record.points] = contract.points.places,
  [contract.record.streakPlaces] = contract.streakPlaces.places,
}

-- The places that an unpacked record notes, by the board's no as text; nil or false for none.
function leaderboards.places_in(name, stored)
  local at = places_at[name:match('^%a%-') or name]
  return at and stored[at]
end

-- Takes the user off all places that a record notes, whatever the boards are now.
function leaderboards.remove_noted(part, user, places)
  for no, noted in pairs(places) do
    if type(noted) == 'number' then
      leaderboards.remove(part, user, no, 0, nil, noted)
    else
      for _, slot in ipairs(noted) do
        if slot[SEQ] then
          leaderboards.remove(part, user, no, slot[RUN], slot[GROUP] or nil, slot[SEQ])
        end
      end
    end
  end
end

-- The member that the user has on a run of a board, from the place that is noted, and the group; nil when there is none.
function leaderboards.noted_member(noted, run, user)
  if type(noted) == 'number' then
    return boards.member(noted, user)
  end
  for _, slot in ipairs(noted or {}) do
    if slot[RUN] == run and slot[SEQ] then
      return boards.member(slot[SEQ], user), slot[GROUP] or nil
    end
  end
  return nil
end

function leaderboards.start(tx)
  tx.boards = {}
end

return leaderboards
