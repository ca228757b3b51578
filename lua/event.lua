-- One event, whole: everything that it changes happens in this one call, or nothing does.
--
-- It first works out what will change and may refuse; from the line "nothing refuses any more" on it only writes. The order is that of
-- semantics.md, "Events".
local contract = require('contract')
local decimal = require('decimal')
local leaderboards = require('leaderboards')
local ledger = require('ledger')
local metrics = require('metrics')
local partition = require('partition')
local plans = require('plans')
local points = require('points')
local time = require('time')
local users = require('users')
local field, outcome = contract.field, contract.outcome

-- Positions of the fields that the plan puts first in every metric's list (src/plan/compile.ts).
local CREATED, REV, TZ, TOTAL = 1, 2, 3, 4

local function read_attributes(args, first)
  local attributes, list = {}, {}
  for i = first, #args, 2 do
    attributes[args[i]] = args[i + 1]
    list[#list + 1] = { args[i], args[i + 1] }
  end
  return attributes, list
end

-- A key that was used before: the first event's id and the total as it now is.
local function replay(part, metric, user, event_id)
  return { outcome.replay, event_id, redis.call('HGET', part.user .. user, metric.field) or '0' }
end

local function read_event(args, position, part, context, metric)
  local patch, after_patch = users.read_patch(args, args[position.patchPairs], position.rest)
  local attributes, attribute_list = read_attributes(args, after_patch)
  local user = args[position.user]
  return {
    id = args[position.eventId],
    user = user,
    user_key = part.user .. user,
    patch = patch,
    attributes = attributes,
    attribute_list = attribute_list,
    value = tonumber(args[position.value]),
    now = time.now(part, context),
    row = users.fetch(part.user .. user, metric.fields, patch),
    awards = 0,
  }
end

local function enter_boards(part, metric, event, before, total, changed, set)
  local boards = {}
  leaderboards.enter(part, metric.boards, event, before, total, set, boards)
  for _, system in ipairs(changed) do
    local points_before = event.row[system.system.at] and system.before or nil
    leaderboards.enter(part, system.system.boards, event, points_before, system.total, set, boards)
  end
  return boards
end

-- Lua hands a function at most 8,000 values, and the largest configuration needs 10,000 here.
local MAX_VALUES = 7000

local function write(key, set)
  for first = 1, #set, MAX_VALUES do
    redis.call('HSET', key, unpack(set, first, math.min(first + MAX_VALUES - 1, #set)))
  end
end

local function track(keys, args)
  local position = contract.arg.track
  local part, context = partition.enter(keys, args)
  if not part then
    return context
  end
  local plan = plans.get(part, context.plan)
  if not plan then
    return { outcome.unknownPlan }
  end
  local metric = plan.metrics[args[position.metric]]
  local user, idempotency_key = args[position.user], args[position.idempotencyKey]
  local used_keys = part.idempotency .. metric.no .. ':' .. user
  if idempotency_key ~= '' then
    local used = redis.call('HGET', used_keys, idempotency_key)
    if used then
      return replay(part, metric, user, used)
    end
  end

  local event = read_event(args, position, part, context, metric)
  local row = event.row
  if users.lacks_email(event.patch) then
    return { outcome.emailRequired }
  end
  local unknown
  event.day, unknown = time.local_day(part, context.zones, row[TZ], event.now)
  if not event.day then
    return unknown
  end
  local before = row[TOTAL] and tonumber(row[TOTAL]) or nil
  local total = metrics.add(before, event.value)
  local changed, progress = points.earn(metric, event)
  if not total or not changed then
    return { outcome.totalOutOfRange }
  end

  -- Nothing refuses any more.
  local set = { field.rev, tonumber(row[REV] or 0) + 1, metric.field, decimal.text(total) }
  local profile_changed = users.stage(part, plan, user, row[CREATED], event.patch, string.format('%.0f', event.now), set)
  points.stage(changed, progress, row, set)
  local boards = enter_boards(part, metric, event, before, total, changed, set)
  write(event.user_key, set)
  if idempotency_key ~= '' then
    redis.call('HSET', used_keys, idempotency_key, event.id)
  end
  points.remember(part, changed, event)
  return {
    outcome.ok,
    ledger.append(part, {
      kind = 'event',
      id = event.id,
      user = user,
      at = event.now,
      day = event.day,
      rev = set[2],
      profile = profile_changed and users.profile(event.user_key) or nil,
      metric = metric.no,
      value = event.value,
      total = total,
      attributes = event.attribute_list,
      key = idempotency_key ~= '' and idempotency_key or nil,
      triggers = progress,
      points = changed,
      boards = boards,
    }),
  }
end

redis.register_function(contract.name .. '_track', track)
partition.register()
require('activation').register()
leaderboards.register()
time.register()
users.register()
