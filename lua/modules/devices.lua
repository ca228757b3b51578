-- Devices: which user a device token belongs to. A device has one owner in a partition, the user who registered its token last
-- (docs/rules/users.md). The hash `devices` has the owners; only the list of its owner has a token of the device.
local contract = require('contract')
local transaction = require('transaction')
local field, record = contract.field, contract.record

local devices = {}

-- What a transaction of a former owner reads at once.
local RECORDS = { record.core, record.profile, record.name, record.attributes }

-- The device of a token: the token without the prefix that names its provider (src/shared/device-tokens.ts does the same:
-- test/rules/vectors.test.ts).
function devices.of_token(token)
  local prefix, rest = token:match('^(%l+):(.*)$')
  return prefix and contract.pushProvider[prefix] and rest or token
end

-- The tokens of a stored list.
local function tokens_in(json)
  return json and json ~= '' and cjson.decode(json) or {}
end

-- Adds the devices of a stored list to `list`, each once. Returns them as a set.
local function add_devices(list, json)
  local set = {}
  for _, token in ipairs(tokens_in(json)) do
    local device = devices.of_token(token)
    if not set[device] then
      set[device], list[#list + 1] = true, device
    end
  end
  return set
end

-- The owners of devices, false for none.
local function owners_of(part, list)
  return #list > 0 and redis.call('HMGET', part.devices, unpack(list)) or {}
end

-- A stored list without the tokens of some devices; nil if it has none of them. cjson escapes slashes, and writes an empty list as an
-- object.
function devices.without(json, gone)
  local kept, all = {}, tokens_in(json)
  for _, token in ipairs(all) do
    if not gone[devices.of_token(token)] then
      kept[#kept + 1] = token
    end
  end
  if #kept == #all then
    return nil
  end
  return #kept == 0 and '[]' or (cjson.encode(kept):gsub('\\/', '/'))
end

-- The transaction of a former owner, whose list loses some devices; nil if it has none of them.
local function take_from(tx, owner, gone)
  local other, refusal = transaction.fetch(tx, owner, RECORDS)
  if refusal then
    return nil, refusal
  end
  local kept = devices.without(transaction.get(other, record.profile)[field.deviceTokens], gone)
  if not kept then
    return nil
  end
  local profile = transaction.change(other, record.profile)
  profile[field.deviceTokens], profile[field.updated] = kept, string.format('%d', tx.now)
  return other
end

-- Works out what a new list of tokens changes, for `save` (`tx.devices`).
function devices.change(tx, before, after)
  local list = {}
  local now = add_devices(list, after)
  add_devices(list, before)
  local gained, lost, owners, gone = {}, {}, {}, {}
  for i, owner in ipairs(owners_of(tx.part, list)) do
    local device = list[i]
    if not now[device] then
      lost[#lost + 1] = owner == tx.user and device or nil
    elseif owner ~= tx.user then
      gained[#gained + 1], gained[#gained + 2] = device, tx.user
      if owner and not gone[owner] then
        owners[#owners + 1], gone[owner] = owner, {}
      end
      if owner then
        gone[owner][device] = true
      end
    end
  end
  local former = {}
  for _, owner in ipairs(owners) do
    local other, refusal = take_from(tx, owner, gone[owner])
    if refusal then
      return nil, refusal
    end
    former[#former + 1] = other
  end
  return { gained = gained, lost = lost, former = former }
end

-- Writes the owners that `change` has found. Returns the transactions of the former owners, to be committed.
function devices.save(tx)
  local key, changed = tx.part.devices, tx.devices
  if #changed.gained > 0 then
    redis.call('HSET', key, unpack(changed.gained))
  end
  if #changed.lost > 0 then
    redis.call('HDEL', key, unpack(changed.lost))
  end
  return changed.former
end

-- Removes the devices of a user who is deleted, with the stored list of tokens.
function devices.release(part, user, json)
  local list = {}
  add_devices(list, json)
  for i, owner in ipairs(owners_of(part, list)) do
    if owner == user then
      redis.call('HDEL', part.devices, list[i])
    end
  end
end

return devices
