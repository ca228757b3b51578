-- One user's turn in a call: what is stored of the user, what has been changed of it so far, and the commit of both.
--
-- A turn is fetched with one HMGET and committed with one HSET and one XADD, which carries the same fields and values: the ledger has the
-- state byte for byte, and no other list of it exists. Between them everything reads and writes `row`, so that what comes later in a call
-- sees what came before it. Settling may commit in the middle: it has then been true for some time already.
local contract = require('contract')
local decimal = require('decimal')
local ledger = require('ledger')
local time = require('time')
local field = contract.field

local turn = {}

-- What has been changed in the turn and is not written yet, field to value. The table is kept between calls, as the row of a list of fields
-- is (`fields.kept`): a new one would have to grow field by field each time. There is one turn at a time.
local dirty = {}
-- A table does not become smaller: one that a large configuration has made this large is not kept.
local MAX_KEPT = 200

local function forget_changes()
  for name in pairs(dirty) do
    dirty[name] = nil
  end
end

-- The row of a list of fields, and the list of what is put into it beyond them, which is taken out of it for the next turn.
local function row_of(fields)
  local kept = fields.kept
  if not kept then
    kept = { row = {}, extra = {} }
    fields.kept = kept
  end
  local row, extra = kept.row, kept.extra
  for i = #extra, 1, -1 do
    row[extra[i]], extra[i] = nil, nil
  end
  return row, extra
end

-- The zone of users with their own one, the configured one for those who have none.
local function zone_of(plan, own)
  return own and own ~= '' and own or plan.zone
end

-- The time zone in which the user lives. (`one.zone` is one that is being left.)
function turn.zone(one)
  return one.zone or zone_of(one.plan, one.row[field.tz])
end

-- A list of fields with more behind it.
function turn.joined(fields, more)
  local list = {}
  for i = 1, #fields do
    list[i] = fields[i]
  end
  for i = 1, #more do
    list[#list + 1] = more[i]
  end
  return list
end

-- Lua hands a function at most 8,000 values, and a large configuration needs more.
local MAX_VALUES = 7000

local function read(key, list)
  if #list <= MAX_VALUES then
    return redis.call('HMGET', key, unpack(list))
  end
  local values = {}
  for first = 1, #list, MAX_VALUES do
    local some = redis.call('HMGET', key, unpack(list, first, math.min(first + MAX_VALUES - 1, #list)))
    for i = 1, #some do
      values[first + i - 1] = some[i]
    end
  end
  return values
end

-- Starts a turn of `user`. `fields` are those that the call may need; what is patched of the user (users.read_patch) is fetched with them.
-- Nil and an outcome when the user's time zone is not known for this moment.
function turn.fetch(part, plan, context, user, fields, patch)
  local list = fields
  if patch then
    list = turn.joined(fields, patch.fields)
    list[#list + 1] = field.email
  end
  forget_changes()
  local key = part.user .. user
  local values, row, extra = read(key, list), row_of(list)
  for i = 1, #list do
    row[list[i]] = values[i]
  end
  local now = time.now(part, context)
  local day, unknown = time.today(part, context.zones, zone_of(plan, row[field.tz]), now)
  if not day then
    return nil, unknown
  end
  -- All fields of a turn that are written later stand here too, so that Lua makes room for them at once.
  return {
    part = part,
    plan = plan,
    context = context,
    user = user,
    key = key,
    patch = patch,
    row = row,
    extra = extra,
    dirty = dirty,
    exists = row[field.created],
    created_day = tonumber(row[field.createdDay] or nil),
    created = false,
    profile_changed = false,
    ordinal = 0,
    now = now,
    zone = nil,
    day = day,
    sequence = nil,
    streaks = nil,
    streaks_settled = false,
    streaks_counted = false,
    due = nil,
    streak_changed = false,
    streak_length = nil,
    extended = false,
    extended_length = nil,
    completed = nil,
    earned = nil,
    earned_order = nil,
    boards = nil,
    achieved = nil,
    achieved_now = nil,
    checked = nil,
    sums = nil,
    periods = nil,
    freezes_earned = 0,
    settled = false,
  }
end

local function lay(one, name, value)
  local row = one.row
  if row[name] == nil then
    one.extra[#one.extra + 1] = name
  end
  row[name] = value
end

-- Changes a field of the user's hash to a text; it is written when the turn is committed.
function turn.put(one, name, text)
  lay(one, name, text)
  one.dirty[name] = text
end

-- Changes when time will next do something to the user, a moment or an empty text. The ledger does not carry it: it follows from the rest.
function turn.put_due(one, text)
  lay(one, field.due, text)
  one.due = text
end

-- The next number of the partition's one sequence, one for each commit: ties on leaderboards hang on it.
function turn.seq(one)
  if not one.sequence then
    one.sequence = redis.call('HINCRBY', one.part.meta, 'seq', '1')
  end
  return one.sequence
end

-- Fields and values on their way to Redis. The list is kept between calls, since a new one would have to grow each time.
local set = {}

-- Writes what has been changed, and beside it what the ledger does not carry as a field: the revision, which each entry has, and when the
-- user is next due. Returns how many items of `set`, fields and values in turn, have been changed.
local function write(one, rev)
  local count = 0
  for name, value in pairs(dirty) do
    set[count + 1], set[count + 2], dirty[name] = name, value, nil
    count = count + 2
  end
  local last = count + 2
  set[count + 1], set[last] = field.rev, rev
  if one.due then
    set[last + 1], set[last + 2] = field.due, one.due
    last = last + 2
  end
  for first = 1, last, MAX_VALUES do
    redis.call('HSET', one.key, unpack(set, first, math.min(first + MAX_VALUES - 1, last)))
  end
  return count
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
    turn.put(one, field.newestDay, string.format('%d', last))
  end
end

-- Writes what has been changed, and the entry that says so. Returns the packed entry.
function turn.commit(one, entry)
  local rev = tonumber(one.row[field.rev] or 0) + 1
  local rev_text = decimal.text(rev)
  lay(one, field.rev, rev_text)
  entry.user, entry.at, entry.day, entry.rev = one.user, one.now, one.day, rev
  move_newest_day(one, entry)
  local changed = set
  local count = write(one, rev_text)
  if count > 2 * MAX_KEPT then
    dirty, set = {}, {}
  end
  one.dirty, one.sequence, one.due = dirty, nil, nil
  return ledger.append(one.part, entry, changed, count)
end

return turn
