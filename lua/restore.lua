-- Does some commands for a restore in one step, if the partition is that restore's (src/restore/lock.ts). A script and not one of the
-- library's functions: it runs before the partition is open, on whichever server has the partition.
--
-- KEYS: the partition's meta. ARGV: the restore that has to have the partition, empty for none; '1' if the partition may have an epoch,
-- which is what it has while it is served; the commands (src/restore/command-writer.ts): each is a name, a key of this partition, how many
-- values, and the values, all as MessagePack; and, if it matters, the last user who has to be back.
-- Replies 1, or 0 when the partition is another restore's, or is served, or another user is the last: nothing is done then.
local contract = require('contract')
local restorer, may_be_served, commands, last = ARGV[1], ARGV[2] == '1', ARGV[3], ARGV[4]

local found = redis.call('HMGET', KEYS[1], contract.meta.restorer, contract.meta.epoch, contract.restoring.cursor)
if (found[1] or '') ~= restorer or (found[2] and not may_be_served) or (last and (found[3] or '') ~= last) then
  return 0
end

local unpack_some = cmsgpack.unpack_limit

-- Takes the values as they come out of the message: a table for them would cost as much again.
local function call(name, key, at, ...)
  redis.call(name, key, ...)
  return at
end

-- Where the next value is; unpack_limit says -1 behind the last one.
local at = #commands > 0 and 0 or -1
while at >= 0 do
  local name, key, count
  at, name, key, count = unpack_some(commands, 3, at)
  if count == 0 then
    redis.call(name, key)
  else
    at = call(name, key, unpack_some(commands, count, at))
  end
end
return 1
