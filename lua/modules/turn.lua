-- One user's turn in a call: what is stored of the user, what has been changed of it so far, and the commit of both.
--
-- A turn is fetched with one HMGET and committed with one HSET and one XADD. Between them everything reads and writes `row`, so that what
-- comes later in a call sees what came before it. Settling may commit in the middle: it has then been true for some time already.
local contract = require('contract')
local ledger = require('ledger')
local time = require('time')
local field = contract.field

local turn = {}

-- Starts a turn of `user`. `fields` are those that the call may need; what is patched of the user (users.read_patch) is fetched with them.
-- Nil and an outcome when the user's time zone is not known for this moment.
function turn.fetch(part, plan, context, user, fields, patch)
  local one = {
    part = part,
    plan = plan,
    context = context,
    user = user,
    key = part.user .. user,
    patch = patch,
    row = {},
    dirty = {},
  }
  local list = fields
  if patch then
    list = {}
    for i = 1, #fields do
      list[i] = fields[i]
    end
    for _, name in ipairs(patch.fields) do
      list[#list + 1] = name
    end
    list[#list + 1] = field.email
  end
  local values = redis.call('HMGET', one.key, unpack(list))
  local row = one.row
  for i = 1, #list do
    row[list[i]] = values[i]
  end
  one.exists = row[field.created]
  one.created_day = tonumber(row[field.createdDay] or nil)
  one.ordinal = 0
  one.now = time.now(part, context)
  local day, unknown = time.local_day(part, context.zones, row[field.tz], one.now)
  if not day then
    return nil, unknown
  end
  one.day = day
  return one
end

-- Changes a field of the user's hash; it is written when the turn is committed.
function turn.put(one, name, value)
  one.row[name] = value
  one.dirty[name] = value
end

-- The next number of the partition's one sequence, one for each commit: ties on leaderboards hang on it.
function turn.seq(one)
  if not one.sequence then
    one.sequence = redis.call('HINCRBY', one.part.meta, 'seq', 1)
  end
  return one.sequence
end

-- Lua hands a function at most 8,000 values, and the largest configuration needs 10,000 here.
local MAX_VALUES = 7000

local function write(key, set)
  for first = 1, #set, MAX_VALUES do
    redis.call('HSET', key, unpack(set, first, math.min(first + MAX_VALUES - 1, #set)))
  end
end

-- Moves the user's newest day on to that of the event and its awards. An entry that counts something for an earlier day says so
-- (src/ledger/days.ts puts the totals of the days after it right); so does one of a user of whom no newest day is known.
local function move_newest_day(one, entry)
  local newest = tonumber(one.row[field.newestDay] or nil)
  local first = entry.kind == 'event' and entry.day or nil
  local last = first
  for _, fact in ipairs(entry.points) do
    for _, award in ipairs(fact.awards) do
      first = math.min(first or award.day, award.day)
      last = math.max(last or award.day, award.day)
    end
  end
  if first and (not newest or first < newest) then
    entry.back = true
  end
  if last and (not newest or last > newest) then
    turn.put(one, field.newestDay, last)
  end
end

-- Writes what has been changed, and the entry that says so. Returns the packed entry.
function turn.commit(one, entry)
  local rev = tonumber(one.row[field.rev] or 0) + 1
  turn.put(one, field.rev, rev)
  entry.user, entry.at, entry.day, entry.rev = one.user, one.now, one.day, rev
  move_newest_day(one, entry)
  local set = {}
  for name, value in pairs(one.dirty) do
    set[#set + 1] = name
    set[#set + 1] = value
  end
  write(one.key, set)
  one.dirty, one.sequence = {}, nil
  return ledger.append(one.part, entry)
end

return turn
