-- Does some commands for a restore in one step, if the partition is that restore's (src/restore/hold.ts). A script and not one of the
-- library's functions, as restore.lua.
--
-- KEYS: the partition's meta. ARGV: the restore that has to have the partition, empty for none; '1' if the partition may have an epoch,
-- which is what it has while it is served; the commands as MessagePack, each a list of texts, on keys of this partition.
-- Answers 1, or 0 when the partition is another restore's, or is served: nothing is done then.
local contract = require('contract')

local found = redis.call('HMGET', KEYS[1], contract.meta.restorer, 'epoch')
if (found[1] or '') ~= ARGV[1] or (found[2] and ARGV[2] ~= '1') then
  return 0
end
for _, command in ipairs(cmsgpack.unpack(ARGV[3])) do
  redis.call(unpack(command))
end
return 1
