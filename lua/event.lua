-- One event, whole: everything that it changes happens in this one call, or nothing does.
--
-- It first works out what will change and may refuse; from the line "nothing refuses any more" on it only writes. The order is that of
-- docs/rules/events.md. (Settling, which comes first, commits by itself: what it does has been true for some time.)
local contract = require('contract')
local achievements = require('achievements')
local batch_order = require('batch_order')
local command = require('command')
local decimal = require('decimal')
local leaderboards = require('leaderboards')
local ledger = require('ledger')
local metrics = require('metrics')
local points = require('points')
local settle = require('settle')
local streaks = require('streaks')
local transaction = require('transaction')
local used_keys = require('used_keys')
local users = require('users')
local outcome, record = contract.outcome, contract.record

local function read_attributes(args, first, last)
  local attributes, list = {}, {}
  for i = first, last, 2 do
    attributes[args[i]] = args[i + 1]
    list[#list + 1] = { args[i], args[i + 1] }
  end
  return attributes, list
end

-- A metric as far as a replay needs it: one that an event names which the configuration refuses may be archived, and not in the plan.
local function only_total(no)
  local name = record.metric .. no
  return { key = no, record = name, records = { record.core, name } }
end

-- The total before the event, nil for none.
local function stored_total(tx, metric)
  return transaction.get(tx, metric.record)[contract.metric.total] or nil
end

-- The reply for a key that was used before: the first event's id, and the total and the streak as they now are.
local function replay(tx, metric, event_id)
  return { outcome.replay, event_id, decimal.text(stored_total(tx, metric) or 0), cmsgpack.pack(streaks.fact(tx) or false) }
end

-- Works out everything that the event earns, before anything is written. Returns the total after the event.
local function work_out(tx, metric, event, before)
  local total, refusal = metrics.add(before, event.value)
  if refusal then
    return nil, refusal
  end
  transaction.change(tx, metric.record)[contract.metric.total] = total
  local _
  _, refusal = achievements.sum(tx, metric, event.value, event.attributes)
  if refusal then
    return nil, refusal
  end
  achievements.by_metric(tx, metric)
  if not event.is_correction then
    streaks.count(tx, metric.key, event.value)
  end
  if tx.extended then
    tx.extended_length = streaks.length(tx)
    achievements.by_streak(tx, tx.extended_length)
  end
  achievements.follow(tx)
  local everything = tx.extended or #tx.achieved > 0
  _, refusal = points.earn(tx, everything and tx.plan.systems or metric.systems, event)
  if refusal then
    return nil, refusal
  end
  return total
end

-- Counts the event whose arguments, in the order of `track`, start behind `base` and end at `last`. One without a value is refused by the
-- configuration, unless it is a replay.
local function count_event(call, args, base, last)
  local position = contract.arg.track
  local user, id, id_bytes = args[base + position.user], args[base + position.eventId], args[base + position.idBytes]
  local no, value = args[base + position.metric], tonumber(args[base + position.value])
  local idempotency_key = args[base + position.idempotencyKey]
  local patch_pairs, first_rest = args[base + position.patchPairs], base + position.rest

  local metric = value and call.plan.metrics[no] or only_total(no)
  local keys_hash = used_keys.hash(call.part, metric.key, user)
  local used = used_keys.find(keys_hash, idempotency_key)
  local patch, after_patch = users.read_patch(args, patch_pairs, first_rest)
  local tx, refusal = transaction.fetch(call, user, metric.records, patch)
  if refusal then
    return refusal
  end
  tx.id_bytes = id_bytes
  local _
  _, refusal = settle.run(tx, id)
  local first_id = used and used_keys.id(tx, used)
  -- A replay stores nothing: it needs no room in the ledger.
  if first_id and (not refusal or refusal[1] == outcome.ledgerFull) then
    return replay(tx, metric, first_id)
  elseif refusal then
    return refusal
  elseif not value then
    return { outcome.refused }
  end
  if ledger.is_full(call) then
    return { outcome.ledgerFull }
  end
  local is_correction = idempotency_key:byte(1) == contract.correctionByte
  -- The user may have been deleted since the event that it corrects was read.
  if is_correction and not tx.exists then
    return { outcome.userUnknown }
  end
  local streak_before
  streak_before, refusal = users.apply_patch(tx)
  if refusal then
    return refusal
  end
  local attributes, attribute_list = read_attributes(args, after_patch, last)
  local event = { metric = metric.no, value = value, attributes = attributes, is_correction = is_correction }
  local before = stored_total(tx, metric)
  local total
  total, refusal = work_out(tx, metric, event, before)
  if refusal then
    return refusal
  end

  -- Nothing refuses any more.
  leaderboards.enter_totals(tx, metric.boards, before, total)
  leaderboards.enter_gains(tx, metric.boards, event.value, tx)
  used_keys.note(tx, keys_hash, idempotency_key)
  -- Fields that are set later stand here too, so that Lua allocates room for them at once.
  local entry = {
    kind = 'event',
    id = id,
    user = user,
    at = false,
    day = false,
    rev = false,
    points = false,
    boards = false,
    achieved = false,
    streaks = false,
    metric = metric.no,
    value = event.value,
    total = total,
    same = before == total or nil,
    attributes = attribute_list,
    key = idempotency_key ~= '' and idempotency_key or nil,
    streak = streaks.fact(tx),
  }
  return { outcome.ok, settle.commit(tx, entry, streak_before) }
end

-- Counts one event.
-- Arguments: user, metric, value, eventId, idempotencyKey, idBytes, patchPairs, the patch, the event's attributes. Replies: ok and the
-- packed ledger entry; replay, the first event's id as bytes, the total and the packed streak; unknownZone, again, ledgerFull,
-- emailRequired, signUpDateTooLate, totalOutOfRange, outOfPoints, refused; to a correction userUnknown.
command.with_plan('track', function(call, args)
  return count_event(call, args, 0, #args)
end)

-- Whether the caller has to act before an event can be counted: the event was not, and none may be counted before it.
local function stops(reply)
  return reply[1] == outcome.again or reply[1] == outcome.unknownZone or reply[1] == outcome.ledgerFull
end

-- Counts a part of a batch, each event by itself, until one stops it or settling the users has spent the budget of the call.
-- Arguments: batch, number, isLast, then the arguments of each event. Replies: ok and the outcome of each event, then the reply of the
-- event that stopped it; outOfTurn.
command.with_plan('trackBatch', function(call, args, position)
  local batch, number = args[position.batch], tonumber(args[position.number])
  if not batch_order.accept(batch, number) then
    return { outcome.outOfTurn }
  end
  local outcomes = {}
  local at = position.rest
  settle.start_budget()
  while at <= #args do
    local last = at + tonumber(args[at]) - 1
    local reply = settle.is_spent() and { outcome.again } or count_event(call, args, at - 1, last)
    if stops(reply) then
      return { outcome.ok, outcomes, reply }
    end
    outcomes[#outcomes + 1] = reply[1]
    at = last + 1
  end
  if args[position.isLast] == '0' then
    batch_order.expect(batch, number + 1)
  end
  return { outcome.ok, outcomes }
end)

-- The other commands register themselves.
require('deletion')
require('partition_commands')
require('reads')
require('user_commands')
require('worker_commands')
