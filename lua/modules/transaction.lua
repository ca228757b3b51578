-- A user transaction, `tx` everywhere: what is stored of one user, what this call has changed of it so far, and the commit of both.
--
-- The user's hash holds packed records (src/redis/contract.ts, userRecords; their layout: src/redis/layout.ts). A transaction begins with
-- one HMGET of the records that the call is known to need; any other is fetched on first use. Between fetch and commit everything reads and
-- changes the unpacked tables, so later steps of a call see the changes of earlier ones. The commit packs the changed records and writes
-- them with one HSET and one XADD, which carries the same fields and values: the ledger has the state byte for byte. Settling may commit in
-- the middle: what it does has been true for some time already.
local contract = require('contract')
local ledger = require('ledger')
local time = require('time')
local core, record = contract.core, contract.record
local NAME = record.name
local AWARDS, AWARD_DAY = contract.pointsFact.awards, contract.awardFact.day

local transaction = {}

-- The sizes of the lists by the first character of the record's name. The others are maps.
local sizes = {
  [record.core] = core.size,
  [record.metric:sub(1, 1)] = contract.metric.size,
  [record.points:sub(1, 1)] = contract.points.size,
  [record.streakPlaces] = contract.streakPlaces.size,
}

-- An empty record. A list has no holes, since cmsgpack would pack it as a map.
local function new_record(name)
  local list = {}
  for i = 1, sizes[name:sub(1, 1)] or 0 do
    list[i] = false
  end
  return list
end

-- The bytes in front of the items of a packed list: a type and, for more than 15, how many there are.
local MAX_SHORT_LIST, SHORT_HEAD, LONG_HEAD = 15, 1, 3

-- A list of `size` items, unpacked. Unpacked as values, they fill a table that has room for all of them; of a list, cmsgpack makes one
-- that grows.
local function unpack_list(blob, size)
  local head = size > MAX_SHORT_LIST and LONG_HEAD or SHORT_HEAD
  return { select(2, cmsgpack.unpack_limit(blob, size, head)) }
end

-- The core, which an earlier version of the service may have stored with fewer places: without the others, a list would have a hole once
-- the last of them is set.
local function unpack_core(blob)
  local all = unpack_list(blob, core.size)
  if all[core.size] == nil then
    for i = #all + 1, core.size do
      all[i] = false
    end
  end
  return all
end

-- A stored record, unpacked.
local function unpack_record(name, blob)
  local size = sizes[name:sub(1, 1)]
  return size and unpack_list(blob, size) or cmsgpack.unpack(blob)
end

-- The user's own zone, or the configured one for a user without one.
local function zone_of(plan, own)
  return own and own ~= '' and own or plan.zone
end

-- The time zone in which the user lives. (`tx.zone` is set while a zone is being left.)
function transaction.zone(tx)
  return tx.zone or zone_of(tx.plan, tx.core[core.tz])
end

-- The records that a change of the profile looks at.
local of_patch = { record.profile, record.name, record.attributes }

-- A plan's list of fields with those behind it that a patch needs. Like `places`, it is made once and kept with the list.
local function patched(fields)
  local list = fields.patched
  if not list then
    list = {}
    for i = 1, #fields do
      list[i] = fields[i]
    end
    for i = 1, #of_patch do
      list[#list + 1] = of_patch[i]
    end
    fields.patched = list
  end
  return list
end

-- Where each of a plan's fields stands in their list.
local function places_in(list)
  local places = list.places
  if not places then
    places = {}
    for i = 1, #list do
      places[list[i]] = i
    end
    list.places = places
  end
  return places
end

-- A large configuration has more records.
local MAX_VALUES = ledger.MAX_VALUES

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

-- Begins a transaction of `user`. `fields` are a plan's list of the records that the call is going to need, the core first. Refuses when
-- the user's time zone is not known for this moment.
function transaction.fetch(call, user, fields, patch)
  local part, plan = call.part, call.plan
  local list = patch and patched(fields) or fields
  local key = part.user .. user
  local values = read(key, list)
  local all = values[1] and unpack_core(values[1]) or new_record(record.core)
  local now = time.now(call)
  local day, refusal = time.today(call, zone_of(plan, all[core.tz]), now)
  if refusal then
    return nil, refusal
  end
  -- Fields that are written later stand here too, so that Lua allocates room for them at once.
  return {
    part = part,
    plan = plan,
    context = call.context,
    user = user,
    key = key,
    patch = patch,
    core = all,
    values = values,
    places = places_in(list),
    records = { [record.core] = all },
    changed = {},
    exists = all[core.created],
    is_stored = all[core.created] and true,
    created_day = all[core.createdDay] or nil,
    created = false,
    profile_changed = false,
    devices = nil,
    ordinal = 0,
    -- The clock, and the moment up to which the call has come: an earlier one while the user is taken over the end of a segment.
    clock = now,
    now = now,
    zone = nil,
    day = day,
    sequence = nil,
    member = nil,
    member_seq = nil,
    streaks_settled = false,
    streaks_counted = false,
    streaks_written = false,
    streak_changed = false,
    streak_length = nil,
    due = nil,
    -- Whether the call may change when time next does something to the user.
    reschedules = false,
    extended = false,
    extended_length = nil,
    earned = nil,
    earned_order = nil,
    boards = nil,
    achieved = nil,
    achieved_now = nil,
    checked = nil,
    periods = nil,
    freezes_earned = 0,
    settled = false,
    -- Whether the call has changed the date of signing up.
    signed_up = false,
  }
end

-- A stored field of the user's hash, false for none.
local function blob_of(tx, name)
  local values, at = tx.values, tx.places[name] or name
  local blob = values[at]
  if blob == nil then
    blob = tx.is_stored and redis.call('HGET', tx.key, name)
    values[at] = blob
  end
  return blob
end

local function set_blob(tx, name, blob)
  tx.values[tx.places[name] or name] = blob
end

-- A record of the user, unpacked, to be read; an empty one where nothing is stored.
function transaction.get(tx, name)
  local found = tx.records[name]
  if not found then
    local blob = blob_of(tx, name)
    found = blob and unpack_record(name, blob) or new_record(name)
    tx.records[name] = found
  end
  return found
end

-- The same, to be changed; the commit writes it.
function transaction.change(tx, name)
  tx.changed[name] = true
  return tx.records[name] or transaction.get(tx, name)
end

-- The table at a position of a record, created where there is none; to be changed with the record.
function transaction.map(list, place)
  local map = list[place]
  if not map then
    map = {}
    list[place] = map
  end
  return map
end

-- The user's name, false for none.
function transaction.name(tx)
  local name = tx.records[record.name]
  if name == nil then
    name = blob_of(tx, record.name)
    tx.records[record.name] = name
  end
  return name
end

function transaction.set_name(tx, name)
  tx.records[record.name], tx.changed[record.name] = name, true
end

-- When time will next do something to the user, as a text; empty for never.
function transaction.due(tx)
  return tx.due or blob_of(tx, record.due) or ''
end

-- Sets it. The ledger does not carry it: it follows from the rest.
function transaction.set_due(tx, text)
  tx.due = text
end

-- Writes it alone, where nothing else of the user is written.
function transaction.write_due(tx)
  if tx.due then
    redis.call('HSET', tx.key, record.due, tx.due)
    set_blob(tx, record.due, tx.due)
    tx.due = nil
  end
end

-- The next number of the partition's sequence, one for each commit; it decides ties on leaderboards.
function transaction.seq(tx)
  if not tx.sequence then
    tx.sequence = redis.call('HINCRBY', tx.part.meta, contract.meta.seq, '1')
  end
  return tx.sequence
end

-- Fields and values on their way to Redis. The list is reused between calls, since a new one would have to grow each time, unless a large
-- configuration has made it large: a table does not shrink.
local set = {}
local MAX_REUSED = 200

-- Packs the changed records into `set`, fields and values alternating, and writes them. Returns the number of items.
local function write(tx)
  local count, records = 0, tx.records
  for name in pairs(tx.changed) do
    local value = records[name]
    set[count + 1], set[count + 2] = name, name == NAME and value or cmsgpack.pack(value)
    count = count + 2
  end
  local last = count
  if tx.due then
    set[count + 1], set[count + 2] = record.due, tx.due
    last = count + 2
  end
  if last <= MAX_VALUES then
    redis.call('HSET', tx.key, unpack(set, 1, last))
    return count
  end
  for first = 1, last, MAX_VALUES do
    redis.call('HSET', tx.key, unpack(set, first, math.min(first + MAX_VALUES - 1, last)))
  end
  return count
end

-- Advances the user's newest day to that of the event and its awards. An entry that counts something for an earlier day has `back` set
-- (src/ledger/days.ts puts the totals of the days after it right); so does one of a user of whom no newest day is known.
local function move_newest_day(tx, entry)
  local newest = tx.core[core.newestDay]
  local first = entry.kind == 'event' and entry.day or nil
  local last, facts = first, entry.points
  for i = 1, #facts do
    local awards = facts[i][AWARDS]
    for k = 1, #awards do
      local day = awards[k][AWARD_DAY]
      if not first or day < first then
        first = day
      end
      if not last or day > last then
        last = day
      end
    end
  end
  if first and (not newest or first < newest) then
    entry.back = true
  end
  if last and (not newest or last > newest) then
    tx.core[core.newestDay] = last
  end
end

-- Writes the changes and the ledger entry. Returns the packed entry.
function transaction.commit(tx, entry)
  local rev = (tx.core[core.rev] or 0) + 1
  tx.core[core.rev], tx.changed[record.core] = rev, true
  entry.user, entry.at, entry.day, entry.rev = tx.user, tx.now, tx.day, rev
  move_newest_day(tx, entry)
  local changed = set
  local count = write(tx)
  if count > MAX_REUSED then
    set = {}
  end
  if tx.due then
    set_blob(tx, record.due, tx.due)
  end
  tx.changed, tx.sequence, tx.due = {}, nil, nil
  return ledger.append(tx.part, entry, changed, count)
end

return transaction
