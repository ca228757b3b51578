-- Leaderboards: which of them a change concerns, and the user's rank on each.
--
-- A board is one of three kinds (src/plan/boards.ts). A `total` board ranks a value that the user has anyway: a metric's total, a points
-- total, or the streak. A `grouped` one does so within the group of the user's attributes. A `gain` board ranks what the user gained while
-- it counted: in a run, or inside a window of the day, and may be grouped too.
--
-- The sorted set of a run and group holds every user who has a value, and the participant limit is applied where ranks are read: a user
-- beyond the limit has no rank. So a leaderboard is the best of all users at every moment, and a changed limit needs no work.
--
-- The record of what a leaderboard ranks stores where the user is. For a total board that is the sequence number at which the value was
-- reached, absent while the user has no value. For the others it is the newest runs (at most RUNS), as slots { run, value, seq, group }. A
-- total board of a metric or of points has a slot too while its value is not the total: it was closed for the user when the total changed.
local boards = require('boards')
local calendar = require('calendar')
local contract = require('contract')
local decimal = require('decimal')
local time = require('time')
local transaction = require('transaction')

local leaderboards = {}

-- Positions in a change (src/redis/layout.ts, `boardFact`).
local fact = contract.boardFact

local RUNS = 3
local RUN, VALUE, SEQ, GROUP = 1, 2, 3, 4

local function is_open(board, day)
  return day >= board.first and not (board.last and day > board.last)
end

local function in_window(board, tx, at)
  local now = time.of_day(tx, transaction.zone(tx), at)
  if board.from < board.to then
    return now >= board.from and now < board.to
  end
  return now >= board.from or now < board.to
end

-- The group of the user's attributes, nil for none; the second result is false when the user lacks one of them.
local function current_group(tx, board)
  if not board.breakdown then
    return nil, true
  end
  local group = boards.group(transaction.get(tx, contract.record.attributes), board.breakdown)
  return group, group ~= nil
end

-- Adds a change on an entry to the transaction. The caller sets the places that have something; the others hold false.
local function add_change(tx, entry)
  local change, changes = contract.new_board_fact(), tx.boards
  change[fact.no], change[fact.run], change[fact.group] = entry.board.no, entry.run, entry.group or false
  changes[#changes + 1] = change
  return change
end

-- The user's member with a sequence number. All boards of a transaction share one.
local function member_at(tx, seq)
  if tx.member_seq ~= seq then
    tx.member, tx.member_seq = boards.member(seq, tx.user), seq
  end
  return tx.member
end

-- Enters a value, and notes the change: without ranks for a user beyond the limit.
local function enter(tx, entry, value)
  local board, group = entry.board, entry.group
  local seq = tx.sequence or transaction.seq(tx)
  local old = entry.seq and boards.member(entry.seq, tx.user)
  local previous, rank, threshold, is_new = boards.move(entry, old, member_at(tx, seq), value)
  if is_new and group then
    redis.call('SADD', tx.part.groups .. board.key .. ':' .. entry.run, group)
  end
  local change = add_change(tx, entry)
  change[fact.seq], change[fact.value], change[fact.rank] = seq, value, rank or false
  change[fact.previousRank], change[fact.previousValue] = previous or false, previous and entry.value or false
  change[fact.threshold] = threshold
  return seq
end

-- Takes the user off the board, and notes the change.
local function leave(tx, entry)
  local previous = boards.participant_rank(entry, boards.member(entry.seq, tx.user))
  boards.remove(tx.part, entry, tx.user)
  local change = add_change(tx, entry)
  change[fact.previousRank], change[fact.previousValue] = previous or false, previous and entry.value or false
  change[fact.threshold] = boards.threshold(entry)
end

-- What the record of what a board ranks stores of the user's places, by board.
local function stored_places(tx, board)
  local list, at = transaction.get(tx, board.record), board.placesAt
  return list[at] or transaction.map(list, at)
end

-- Stores the place on a board; nil for none.
local function store_place(tx, board, place)
  transaction.map(transaction.change(tx, board.record), board.placesAt)[board.key] = place
end

-- The user's sequence number and value on a total board, by what is stored of it; `total` is the value unless it says otherwise.
local function total_place(place, total)
  if type(place) == 'table' then
    return place[1][SEQ], place[1][VALUE]
  end
  return place, total
end

-- A total changes from `before` while its board is closed for the user: stores the value that stays on the board.
local function keep_total(tx, board, before)
  local places, no = stored_places(tx, board), board.key
  local seq = places[no]
  if type(seq) == 'number' then
    places[no] = { { 0, before, seq, false } }
    tx.changed[board.record] = true
  end
end

local function enter_total(tx, board, before, value)
  local places, no = stored_places(tx, board), board.key
  local seq, shown = total_place(places[no], before)
  local is_lost = value == 0 and board.isStreak
  if is_lost and not seq then
    return
  end
  local entry = boards.entry(tx.part, board, 0, nil)
  entry.seq, entry.value = seq, shown
  if seq and board.isStreak then
    -- It may be of another streak, which was configured when the board was closed for the user.
    entry.value = boards.value(entry, boards.member(seq, tx.user))
  end
  if is_lost then
    leave(tx, entry)
    places[no] = nil
  else
    places[no] = enter(tx, entry, value)
  end
  tx.changed[board.record] = true
end

-- The slot of a run; a new one, which is not stored yet, when there is none.
local function slot_of(tx, board, run)
  local slots = stored_places(tx, board)[board.key]
  for i = 1, slots and #slots or 0 do
    local slot = slots[i]
    if slot[RUN] == run then
      return slot
    end
  end
  return { run, 0, false, false }
end

-- Stores a slot, the newest run last.
local function store_slot(tx, board, slot)
  local slots = stored_places(tx, board)[board.key] or {}
  local at = #slots
  while at > 0 and slots[at][RUN] > slot[RUN] do
    at = at - 1
  end
  if slots[at] ~= slot then
    table.insert(slots, at + 1, slot)
  end
  if #slots > RUNS then
    table.remove(slots, 1)
  end
  store_place(tx, board, slots)
end

-- Enters a value in a slot. A user who comes from another group leaves that group, and is new in this one.
local function enter_slot(tx, entry, slot, value)
  local board = entry.board
  if slot[SEQ] and (slot[GROUP] or nil) ~= entry.group then
    local left = boards.entry(tx.part, board, slot[RUN], slot[GROUP] or nil)
    left.seq, left.value = slot[SEQ], slot[VALUE]
    leave(tx, left)
  else
    entry.seq, entry.value = slot[SEQ], slot[VALUE]
  end
  slot[VALUE], slot[SEQ], slot[GROUP] = value, enter(tx, entry, value), entry.group or false
  store_slot(tx, board, slot)
end

local function enter_grouped(tx, board, value)
  local group, is_complete = current_group(tx, board)
  if not is_complete then
    return
  end
  local slot = slot_of(tx, board, 0)
  if board.isStreak and value == 0 then
    if slot[SEQ] then
      local entry = boards.entry(tx.part, board, 0, slot[GROUP] or nil)
      entry.seq, entry.value = slot[SEQ], slot[VALUE]
      leave(tx, entry)
      slot[VALUE], slot[SEQ] = 0, false
      store_slot(tx, board, slot)
    end
    return
  end
  enter_slot(tx, boards.entry(tx.part, board, 0, group), slot, value)
end

-- A total has changed from `before` (nil for none) to `value`: enters it on the boards that rank it.
function leaderboards.enter_totals(tx, list, before, value)
  if before == value then
    return
  end
  local day = tx.day
  for i = 1, #list do
    local board = list[i]
    local kind = board.kind
    if kind == 'total' then
      if is_open(board, day) then
        enter_total(tx, board, before, value)
      elseif not board.isStreak then
        keep_total(tx, board, before)
      end
    elseif kind == 'grouped' and is_open(board, day) then
      enter_grouped(tx, board, value)
    end
  end
end

-- The user's sequence number and group on a board that does not repeat.
local function stored_seq(tx, board)
  if board.kind == 'total' then
    return (total_place(stored_places(tx, board)[board.key])), nil
  end
  local slot = slot_of(tx, board, 0)
  return slot[SEQ] or nil, slot[GROUP] or nil
end

-- Enters the value that a user has on a board that does not repeat and has become active, whatever the user's local date is; 0 is no
-- streak. `backfill` has the sequence number that the user gets, `seq`, and the last one before those of this backfill, `since`: a user
-- with a later one has been entered already, by an event or by this backfill. Ranks change while a board is backfilled: none is noted
-- before `leaderboards.show_rank`.
function leaderboards.fill(tx, board, value, backfill)
  local seq = stored_seq(tx, board)
  if seq and seq > backfill.since then
    return
  end
  local first = #tx.boards + 1
  tx.sequence = backfill.seq
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

-- Notes the user's rank on a board that has been backfilled, for the user's history.
function leaderboards.show_rank(tx, board)
  local seq, group = stored_seq(tx, board)
  if not seq then
    return
  end
  local entry, member = boards.entry(tx.part, board, 0, group), boards.member(seq, tx.user)
  local rank = boards.participant_rank(entry, member)
  if rank then
    local change = add_change(tx, entry)
    change[fact.seq], change[fact.value], change[fact.rank] = seq, boards.value(entry, member), rank
    change[fact.threshold] = boards.threshold(entry)
  end
end

-- Adds a gain to the boards that rank gains; `when` has its moment `now` and local day `day` (the transaction, or an occurrence of
-- settle.lua). Gaining nothing enters a user who is new there.
function leaderboards.enter_gains(tx, list, gained, when)
  for i = 1, #list do
    local board = list[i]
    if board.kind == 'gain' and is_open(board, when.day) and (not board.from or in_window(board, tx, when.now)) then
      local group, is_complete = nil, true
      if board.breakdown then
        group, is_complete = current_group(tx, board)
      end
      if is_complete then
        local run = board.unit and calendar.run(board, when.day) or 0
        local slot = slot_of(tx, board, run)
        if gained ~= 0 or not slot[SEQ] then
          enter_slot(tx, boards.entry(tx.part, board, run, group), slot, decimal.add(slot[VALUE], gained))
        end
      end
    end
  end
end

-- Whether the patch has changed one of the attributes that a board is broken down by.
local function has_moved(tx, board)
  for _, name in ipairs(board.breakdown) do
    if tx.patch.stored[contract.field.attribute .. name] ~= nil then
      return true
    end
  end
  return false
end

-- The user's attributes have changed: moves the user, with the value, from the old group's board to the new one's, where nothing else in
-- the transaction has done so.
function leaderboards.regroup(tx)
  for _, board in ipairs(tx.plan.brokenDown) do
    local group, is_complete = current_group(tx, board)
    if is_complete and has_moved(tx, board) and is_open(board, tx.day) then
      local run = board.unit and calendar.run(board, tx.day) or 0
      local slot = slot_of(tx, board, run)
      local value
      if board.kind == 'gain' then
        value = slot[SEQ] and slot[VALUE]
      elseif board.isStreak then
        value = tx.streak_length > 0 and tx.streak_length
      else
        value = transaction.get(tx, board.record)[contract.metric.total] or nil
      end
      if value and (slot[GROUP] or nil) ~= group then
        enter_slot(tx, boards.entry(tx.part, board, run, group), slot, value)
      end
    end
  end
end

-- Removes a deleted user from a run or group of a board, of which the plan need not know any more; users below move up.
function leaderboards.remove(tx, place)
  local entry = boards.entry(tx.part, { key = place.no }, place.run, place.group)
  entry.seq = place.seq
  boards.remove(tx.part, entry, tx.user)
end

-- Where the records that store places have them, by the start of the record's name.
local places_at = {
  [contract.record.metric] = contract.metric.places,
  [contract.record.points] = contract.points.places,
  [contract.record.streakPlaces] = contract.streakPlaces.places,
}

-- The places that an unpacked record stores, by the board's no as text; nil or false for none.
function leaderboards.places_in(name, stored)
  local at = places_at[name:match('^%a%-') or name]
  return at and stored[at]
end

-- Removes a deleted user from all places that a record stores.
function leaderboards.remove_stored(tx, places)
  for no, place in pairs(places) do
    if type(place) == 'number' then
      leaderboards.remove(tx, { no = no, run = 0, group = nil, seq = place })
    else
      for _, slot in ipairs(place) do
        if slot[SEQ] then
          leaderboards.remove(tx, { no = no, run = slot[RUN], group = slot[GROUP] or nil, seq = slot[SEQ] })
        end
      end
    end
  end
end

-- The member that the user has on a run of a board, by what is stored of the board, and the group; nil when there is none.
function leaderboards.stored_member(place, run, user)
  if type(place) == 'number' then
    return boards.member(place, user)
  end
  for _, slot in ipairs(place or {}) do
    if slot[RUN] == run and slot[SEQ] then
      return boards.member(slot[SEQ], user), slot[GROUP] or nil
    end
  end
  return nil
end

function leaderboards.start(tx)
  tx.boards = { nil, nil, nil, nil }
end

return leaderboards
