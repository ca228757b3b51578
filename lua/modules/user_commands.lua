-- Commands about one user that are no events: identify, complete an achievement, adjust points, preferences, device tokens, freezes,
-- pauses, restore or reset a streak.
local contract = require('contract')
local achievements = require('achievements')
local command = require('command')
local devices = require('devices')
local points = require('points')
local settle = require('settle')
local streak_rules = require('streak_rules')
local streaks = require('streaks')
local transaction = require('transaction')
local used_keys = require('used_keys')
local users = require('users')
local field, outcome = contract.field, contract.outcome

local OK = { outcome.ok }
-- What commands need (command.lua): those of the first kind create the user.
local UPSERT, UPDATE = { writes = true, patch = true }, { writes = true, exists = true }

-- Refuses to create a user who exists, and to update one who does not.
local function check_mode(mode, exists)
  if mode == 'create' and exists then
    return nil, { outcome.userExists }
  elseif mode == 'update' and not exists then
    return nil, { outcome.userUnknown }
  end
  return true
end

local function is_dry_run(args, position)
  return args[position.dryRun] == '1'
end

-- Creates or changes a user.
-- Arguments: user, mode, entryId, patchPairs, the patch. Replies: ok and the packed profile; userExists, userUnknown, emailRequired,
-- signUpDateTooLate.
command.of_user('identify', UPSERT, function(tx, args, position)
  local _, refusal = check_mode(args[position.mode], tx.exists)
  if refusal then
    return refusal
  end
  local streak_before
  streak_before, refusal = users.apply_patch(tx)
  if refusal then
    return refusal
  end
  local profile = cmsgpack.pack(users.profile(tx))
  if tx.profile_changed then
    settle.commit(tx, { kind = 'user', id = args[position.entryId] }, streak_before)
  end
  return { outcome.ok, profile }
end)

-- Completes an achievement whose trigger is a call.
-- Arguments: user, mode, achievement, entryId, dryRun, patchPairs, the patch. Replies: ok and the packed ledger entry, which a dry run does
-- not have; userUnknown, emailRequired, signUpDateTooLate, alreadyCompleted, notCompletable (locked, or its filters do not match),
-- totalOutOfRange, outOfPoints.
command.of_user('completeAchievement', UPSERT, function(tx, args, position)
  local _, refusal = check_mode(args[position.mode], tx.exists)
  if refusal then
    return refusal
  end
  local streak_before
  streak_before, refusal = users.apply_patch(tx)
  if refusal then
    return refusal
  end
  _, refusal = achievements.by_call(tx, tx.plan.achievements[args[position.achievement]])
  if refusal then
    return refusal
  end
  _, refusal = points.earn(tx, tx.plan.systems, nil)
  if refusal then
    return refusal
  end
  if is_dry_run(args, position) then
    return OK
  end
  return { outcome.ok, settle.commit(tx, { kind = 'completion', id = args[position.entryId] }, streak_before) }
end)

-- Adds points to a user, or takes them.
-- Arguments: user, system, amount, entryId, idempotencyKey, idBytes, reason, keyId. Replies: ok and the packed ledger entry; replay, the
-- first adjustment's id as bytes, and the total; userUnknown, nothingToAdjust.
command.of_user('adjustPoints', UPDATE, function(tx, args, position)
  local no, key = args[position.system], args[position.idempotencyKey]
  local keys_hash = used_keys.hash(tx.part, no, tx.user)
  local used = used_keys.find(keys_hash, key)
  local first_id = used and used_keys.id(tx, used)
  if first_id then
    local total = transaction.get(tx, contract.record.points .. no)[contract.points.total] or 0
    return { outcome.replay, first_id, string.format('%.0f', total) }
  end
  local _, refusal = points.adjust(tx, tonumber(no), tonumber(args[position.amount]))
  if refusal then
    return refusal
  end
  tx.id_bytes = args[position.idBytes]
  used_keys.note(tx, keys_hash, key)
  local entry = {
    kind = 'adjustment',
    id = args[position.entryId],
    key = key ~= '' and key or nil,
    -- Layout `adjustment`.
    adjustment = { tonumber(no), args[position.reason], args[position.keyId] },
  }
  return { outcome.ok, settle.commit(tx, entry, streaks.length(tx)) }
end)

-- Sets preferences of a user.
-- Arguments: user, entryId, patchPairs, pairs of field and JSON. Replies: ok and the packed profile; userUnknown.
command.of_user('setPreferences', UPDATE, function(tx, args, position)
  local patch = users.read_patch(args, args[position.patchPairs], position.rest)
  if patch then
    for _, name in ipairs(patch.fields) do
      local value = patch.values[name]
      if name == field.streakPreferences then
        value = streak_rules.merge(users.property(tx, name), value)
      end
      users.set_property(tx, name, value)
    end
    tx.profile_changed = true
    settle.commit(tx, { kind = 'user', id = args[position.entryId] }, streaks.length(tx))
  end
  return { outcome.ok, cmsgpack.pack(users.profile(tx)) }
end)

-- Removes a device token that its provider no longer accepts, in all spellings, and keeps every other one. An unknown user or token is no
-- error.
-- Arguments: user, entryId, token. Replies: ok and 1 if the user had the token, else 0.
command.of_user('removeDeviceToken', { writes = true }, function(tx, args, position)
  local stored = tx.exists and users.property(tx, field.deviceTokens)
  local kept = stored and devices.without(stored, { [devices.of_token(args[position.token])] = true })
  if not kept then
    return { outcome.ok, 0 }
  end
  tx.patch = { fields = { field.deviceTokens }, values = { [field.deviceTokens] = kept }, stored = {} }
  local streak_before, refusal = users.apply_patch(tx)
  if refusal then
    return refusal
  end
  settle.commit(tx, { kind = 'user', id = args[position.entryId] }, streak_before)
  return { outcome.ok, 1 }
end)

local function commit_pauses(tx, entry_id)
  settle.commit(tx, { kind = 'streak', id = entry_id, pauses = streaks.pauses(tx) }, streaks.length(tx))
  return OK
end

-- Adds a pause, made of local days.
-- Arguments: user, entryId (which becomes the pause's id), first, last. Replies: ok; userUnknown, pauseTooEarly, tooManyPauses.
command.of_user('addPause', UPDATE, function(tx, args, position)
  local pause = { id = args[position.entryId], first = tonumber(args[position.first]), last = tonumber(args[position.last]) }
  local _, refusal = streaks.add_pause(tx, pause)
  return refusal or commit_pauses(tx, pause.id)
end)

-- Removes a pause.
-- Arguments: user, entryId, pause. Replies: ok; userUnknown, pauseUnknown.
command.of_user('removePause', UPDATE, function(tx, args, position)
  local _, refusal = streaks.remove_pause(tx, args[position.pause])
  return refusal or commit_pauses(tx, args[position.entryId])
end)

local function change_streak(name, change)
  command.of_user(name, UPDATE, function(tx, args, position)
    local streak_before = streaks.length(tx)
    local _, refusal = change(tx)
    if refusal then
      return refusal
    end
    if is_dry_run(args, position) then
      return OK
    end
    settle.commit(tx, { kind = 'streak', id = args[position.entryId] }, streak_before)
    return OK
  end)
end

-- Grants one more freeze, beyond the maximum that users can earn.
-- Arguments: user, entryId, dryRun. Replies: ok; userUnknown, streaksDisabled, tooManyFreezes.
change_streak('grantFreeze', streaks.grant_freeze)

-- Takes one freeze.
-- Arguments: user, entryId, dryRun. Replies: ok; userUnknown, streaksDisabled, noFreeze.
change_streak('takeFreeze', streaks.take_freeze)

-- Restores the shown streak to the length at which it was last lost.
-- Arguments: user, entryId, dryRun. Replies: ok; userUnknown, streaksDisabled, nothingToRestore, longerStreak.
change_streak('restoreStreak', streaks.restore)

-- Ends the shown streak.
-- Arguments: user, entryId, dryRun. Replies: ok; userUnknown, streaksDisabled, noStreak.
change_streak('resetStreak', streaks.reset)
