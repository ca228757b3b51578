-- Writes users back whom a restore has read from Postgres, and how far the restore is, in one step (src/restore/write-users.ts). A script
-- and not one of the library's functions: it runs before the partition is open, on whichever server has the partition.
--
-- KEYS: the partition's meta. ARGV: the restore (contract.restoring), the user after whom these come, the last of them, how many are back
-- with them; the users as MessagePack; and, in one text and in the order in which they are named, the bytes that users hold, of which the
-- message only says how long they are (cmsgpack does not know MessagePack's type for bytes). Each user is
-- { id, fields, packed, keys, awards, places }, where
--   fields = field, value …; packed = field, length …; keys = metric, { key, value … } …; awards = system, { length … } …;
--   places = board's key, value, member, groups' key or false, group ….
-- Answers 1, or 0 when another restore is at work, or the users before these are not back: nothing is written then.
local contract = require('contract')
local key, field = contract.key, contract.restoring
local meta = KEYS[1]
local prefix = meta:sub(1, -#key.meta - 1)
local restorer, after, last, count = ARGV[1], ARGV[2], ARGV[3], ARGV[4]

-- Lua hands a function at most 8,000 values.
local MAX_VALUES = 7000

local found = redis.call('HMGET', meta, contract.meta.restorer, field.cursor)
if found[1] ~= restorer or (found[2] or '') ~= after then
  return 0
end

local function call(command, name, values)
  for first = 1, #values, MAX_VALUES do
    redis.call(command, name, unpack(values, first, math.min(first + MAX_VALUES - 1, #values)))
  end
end

local bytes, taken = ARGV[6], 0
local function take(length)
  taken = taken + length
  return bytes:sub(taken - length + 1, taken)
end

local function write_fields(user, fields, packed)
  for i = 1, #packed, 2 do
    fields[#fields + 1], fields[#fields + 2] = packed[i], take(packed[i + 1])
  end
  call('HSET', prefix .. key.user .. user, fields)
end

local function write_awards(user, awards)
  for i = 1, #awards, 2 do
    local blobs = awards[i + 1]
    for n = 1, #blobs do
      blobs[n] = take(blobs[n])
    end
    call('RPUSH', prefix .. key.awards .. awards[i] .. ':' .. user, blobs)
  end
end

local function write_places(places)
  for i = 1, #places, 5 do
    redis.call('ZADD', prefix .. places[i], places[i + 1], places[i + 2])
    if places[i + 3] then
      redis.call('SADD', prefix .. places[i + 3], places[i + 4])
    end
  end
end

-- When time will next do something to a user is worked out by the sweep, for which everybody is due now.
local due = {}
for _, user in ipairs(cmsgpack.unpack(ARGV[5])) do
  local id, keys = user[1], user[4]
  write_fields(id, user[2], user[3])
  for i = 1, #keys, 2 do
    call('HSET', prefix .. key.idempotency .. keys[i] .. ':' .. id, keys[i + 1])
  end
  write_awards(id, user[5])
  write_places(user[6])
  due[#due + 1], due[#due + 2] = '0', id
end
if #due > 0 then
  call('ZADD', prefix .. key.due, due)
end
redis.call('HSET', meta, field.cursor, last, field.count, count)
return 1
