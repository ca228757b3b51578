-- Idempotency keys that have been used (docs/rules/idempotency.md): a hash for each user and metric, or points system.
local contract = require('contract')

local used_keys = {}

-- What is stored of a used key: the id as bytes, and the moment, in milliseconds, from which on the key ages.
local MOMENT, ID_BYTES = contract.usedKeyMoment, contract.idBytes

-- The hash with the keys that a user's events of a metric, or adjustments of a points system, have used. `no` is a text.
function used_keys.hash(part, no, user)
  return part.idempotency .. no .. ':' .. user
end

-- What is stored of a key, false for one that has not been used; an empty key is none.
function used_keys.find(hash, key)
  return key ~= '' and redis.call('HGET', hash, key)
end

-- The id, as bytes, of what used a key, by what is stored of it; nil for one that is older than the configuration keeps them.
function used_keys.id(tx, stored)
  local life = tx.plan.keyLifeMs
  if life and tx.now - struct.unpack(MOMENT, stored, ID_BYTES + 1) >= life then
    return nil
  end
  return stored:sub(1, ID_BYTES)
end

-- Notes that a key was used now, by what has the id `tx.id_bytes`.
function used_keys.note(tx, hash, key)
  if key ~= '' then
    redis.call('HSET', hash, key, tx.id_bytes .. struct.pack(MOMENT, tx.now))
  end
end

return used_keys
