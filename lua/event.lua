-- One event, whole: everything that it changes happens in this one call, or nothing does.
--
-- It first works out what will change and may refuse; from the line "nothing refuses any more" on it only writes. The order is that of
-- semantics.md, "Events". (Settling, which comes first, commits by itself: what it does has been true for some time.)
local contract = require('contract')
local achievements = require('achievements')
local decimal = require('decimal')
local leaderboards = require('leaderboards')
local ledger = require('ledger')
local metrics = require('metrics')
local partition = require('partition')
local plans = require('plans')
local points = require('points')
local batch_order = require('batch_order')
local settle = require('settle')
local streaks = require('streaks')
local transaction = require('transaction')
local users = require('users')
local outcome = contract.outcome

local function read_attributes(args, first, last)
  local attributes, list = {}, {}
  for i = first, last, 2 do
    attributes[args[i]] = args[i + 1]
    list[#list + 1] = { args[i], args[i + 1] }
  end
  return attributes, list
end

-- What is kept of an idempotency key: the event's id as bytes, and the moment, in milliseconds, from which on the key ages
-- (src/redis/encoding.ts).
local USED_KEY, ID_BYTES = '>I6', 16

-- The id, as bytes, of the event that used a key; nil for one that is older than the configuration keeps them.
local function used_by(used, tx)
  local life = tx.plan.keyLifeMs
  if life and tx.now - struct.unpack(USED_KEY, used, ID_BYTES + 1) >= life then
    return nil
  end
  return used:sub(1, ID_BYTES)
end

-- A key that was used before: the first event's id, and the total and the streak as they now are.
local function replay(tx, metric, event_id)
  local total = transaction.get(tx, metric.record)[contract.metric.total] or 0
  return { outcome.replay, event_id, decimal.text(total), cmsgpack.pack(streaks.fact(tx) or false) }
end

-- Everything that the event earns, before anything is written. Returns what it earned, or nil and the outcome that refuses it.
local function work_out(tx, metric, event)
  local counts = transaction.change(tx, metric.record)
  local before = counts[contract.metric.total] or nil
  local total = metrics.add(before, event.value)
  if not total then
    return nil, { outcome.totalOutOfRange }
  end
  counts[contract.metric.total] = total
  if not achievements.sum(tx, metric, event.value, event.attributes) then
    return nil, { outcome.totalOutOfRange }
  end
  achievements.by_metric(tx, metric)
  streaks.count(tx, metric.key, event.value)
  if tx.extended then
    tx.extended_length = streaks.length(tx)
    achievements.by_streak(tx, tx.extended_length)
  end
  achievements.follow(tx)
  local everything = tx.extended or #tx.achieved > 0
  local refused = points.earn(tx, everything and tx.plan.systems or metric.systems, event)
  if refused then
    return nil, { refused == 'range' and outcome.totalOutOfRange or outcome.outOfPoints }
  end
  return { before = before, total = total }
end

local function enter_boards(tx, metric, event, earned, streak_before)
  leaderboards.enter_totals(tx, metric.boards, earned.before, earned.total)
  leaderboards.enter_gains(tx, metric.boards, event.value, tx.now, tx.day)
  settle.enter_earned(tx)
  settle.enter_streak(tx, streak_before)
end

-- Counts the event whose arguments are those from `base` + 1 up to `last`, the first of which stands for the context.
local function count_event(part, plan, context, args, base, last)
  local position = contract.arg.track
  local metric = plan.metrics[args[base + position.metric]]
  local user, idempotency_key, id = args[base + position.user], args[base + position.idempotencyKey], args[base + position.eventId]
  local used_keys = part.idempotency .. metric.key .. ':' .. user
  local used = idempotency_key ~= '' and redis.call('HGET', used_keys, idempotency_key)
  local patch, after_patch = users.read_patch(args, args[base + position.patchPairs], base + position.rest)
  local tx, unknown = transaction.fetch(part, plan, context, user, metric.records, patch)
  if not tx then
    return unknown
  end
  tx.id_bytes = args[base + position.idBytes]
  unknown = settle.run(tx, id)
  if unknown then
    return unknown
  end
  local first_id = used and used_by(used, tx)
  if first_id then
    return replay(tx, metric, first_id)
  end
  if ledger.is_full(part, context) then
    return { outcome.ledgerFull }
  end
  if users.lacks_email(tx) then
    return { outcome.emailRequired }
  end
  local day
  day, unknown = users.day_after_patch(tx)
  if not day then
    return unknown
  end
  local streak_before = streaks.length(tx)
  users.apply(tx, day)
  local attributes, attribute_list = read_attributes(args, after_patch, last)
  local event = { metric = metric.no, value = tonumber(args[base + position.value]), attributes = attributes }
  local earned, refused = work_out(tx, metric, event)
  if not earned then
    return refused
  end

  -- Nothing refuses any more.
  enter_boards(tx, metric, event, earned, streak_before)
  users.save(tx)
  achievements.save(tx)
  if idempotency_key ~= '' then
    redis.call('HSET', used_keys, idempotency_key, tx.id_bytes .. struct.pack(USED_KEY, tx.now))
  end
  local entry = settle.facts(tx, {
    kind = 'event',
    id = id,
    metric = metric.no,
    value = event.value,
    total = earned.total,
    same = earned.before == earned.total or nil,
    attributes = attribute_list,
    key = idempotency_key ~= '' and idempotency_key or nil,
    achieved = tx.achieved,
    streak = streaks.fact(tx),
  })
  entry.profile = tx.profile_changed and users.profile(tx) or nil
  if tx.reschedules then
    settle.schedule(tx)
  end
  return { outcome.ok, transaction.commit(tx, entry) }
end

local function track(keys, args)
  local part, plan, context = plans.enter(keys, args)
  if not part then
    return plan
  end
  return count_event(part, plan, context, args, 0, #args)
end

-- Whether the caller has something to do before an event can be counted: nothing of it has been, and none may be counted before it.
local function stops(reply)
  return reply[1] == outcome.again or reply[1] == outcome.unknownZone or reply[1] == outcome.ledgerFull
end

-- Counts a part of a batch, each event by itself. Answers with the outcome of each; the reply of an event at which it had to stop comes
-- after them. It stops as well where settling the users before was enough work for one call.
local function track_batch(keys, args)
  local position = contract.arg.trackBatch
  local batch, number = args[position.batch], tonumber(args[position.number])
  if not batch_order.accept(batch, number) then
    return { outcome.outOfTurn }
  end
  local part, plan, context = plans.enter(keys, args)
  if not part then
    return plan
  end
  local outcomes = {}
  local at = position.rest
  settle.begin()
  while at <= #args do
    local last = at + tonumber(args[at]) - 1
    local reply = settle.has_done_enough() and { outcome.again } or count_event(part, plan, context, args, at - 1, last)
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
end

redis.register_function(contract.name .. '_track', track)
redis.register_function(contract.name .. '_trackBatch', track_batch)
partition.register()
require('activation').register()
require('commands').register()
require('deletion').register()
require('levels').register()
require('reads').register()
require('time').register()
