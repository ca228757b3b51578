-- The one clock, and local dates. Lua knows no calendar rules of zones: it is given each zone's offsets and when they change.
local contract = require('contract')
local key, outcome, limit = contract.key, contract.outcome, contract.limit
local partition = require('partition')

local time = {}

local DAY_MS = 86400000
local MINUTE_MS = 60000
-- Beginnings of days that are remembered with a zone.
local MAX_NOTED_DAYS = 400
-- How far back from now a call may ask for the offsets of a zone: what is stored of one reaches ten days further (src/shared/calendar.ts).
local REACH_MS = 390 * DAY_MS

-- version of the zone data -> zone -> { from, { until, offset minutes }, { until, offset minutes } ... }, moments in milliseconds.
-- `older` are those of before the cache was last full: a zone that this call has used already must not be gone.
local zones, older, zones_cached = {}, {}, 0

-- Milliseconds since 1970, from the test clock if this service runs on one, else from Redis.
function time.now(part, context)
  if context.testClock then
    local set = redis.call('GET', part.clock)
    if set then
      return tonumber(set)
    end
  end
  local now = redis.call('TIME')
  return now[1] * 1000 + math.floor(now[2] / 1000)
end

local function offset_within(zone, now)
  if now < zone[1] then
    return nil
  end
  for i = 2, #zone do
    if now < zone[i][1] then
      return zone[i][2]
    end
  end
  return nil
end

local function cached_zone(version, name)
  return zones[version] and zones[version][name] or older[version] and older[version][name]
end

local function load_zone(part, version, name)
  local blob = redis.call('HGET', part.zones .. version, name)
  if not blob then
    return nil
  end
  if zones_cached >= limit.maxCachedZones then
    zones, older, zones_cached = {}, zones, 0
  end
  local zone = cmsgpack.unpack(blob)
  zones[version] = zones[version] or {}
  zones_cached = zones_cached + (zones[version][name] and 0 or 1)
  zones[version][name] = zone
  return zone
end

-- The offset at a moment of a zone of which everything from `reach` before it is known; nil when it is not.
local function offset_from(zone, at, reach)
  return zone and at - reach >= zone[1] and offset_within(zone, at) or nil
end

local function day_at(part, version, name, at, reach)
  if not name or name == '' or name == 'UTC' then
    return math.floor(at / DAY_MS)
  end
  local offset = offset_from(cached_zone(version, name), at, reach) or offset_from(load_zone(part, version, name), at, reach)
  if not offset then
    return nil, { outcome.unknownZone, name, string.format('%.0f', at) }
  end
  return math.floor((at + offset * MINUTE_MS) / DAY_MS)
end

-- The local day of now, in days since 1970-01-01; nil and an outcome when the zone's offsets are not known from REACH_MS before now on.
-- No zone is UTC. (Zones are cached for all tenants: one whose test clock is far ahead would leave too little of a zone for the days that
-- others have yet to settle.)
function time.today(part, version, name, now)
  return day_at(part, version, name, now, REACH_MS)
end

-- The local day of a moment before now, in a zone of which `today` has been asked.
function time.local_day(part, version, name, at)
  return day_at(part, version, name, at, 0)
end

local function find_day_start(zone, day)
  local from = zone[1]
  for i = 2, #zone do
    local until_ms, offset = zone[i][1], zone[i][2]
    local start = math.max(from, day * DAY_MS - offset * MINUTE_MS)
    if start < until_ms or i == #zone then
      return start
    end
    from = until_ms
  end
end

-- The moment at which a local day begins in a zone whose offsets are known, in milliseconds: the first that has its date or a later one.
function time.day_start(version, name, day)
  if not name or name == '' or name == 'UTC' then
    return day * DAY_MS
  end
  local zone = cached_zone(version, name)
  local starts = zone.starts
  if not starts or zone.noted >= MAX_NOTED_DAYS then
    zone.starts, zone.noted = {}, 0
    starts = zone.starts
  elseif starts[day] then
    return starts[day]
  end
  local start = find_day_start(zone, day)
  starts[day], zone.noted = start, zone.noted + 1
  return start
end

-- Milliseconds since local midnight.
function time.of_day(version, name, now)
  if not name or name == '' or name == 'UTC' then
    return now % DAY_MS
  end
  return (now + offset_within(cached_zone(version, name), now) * MINUTE_MS) % DAY_MS
end

-- Reads the clock, and moves the test clock forward.
local function clock(keys, args)
  local position = contract.arg.clock
  local part, context = partition.enter(keys, args)
  if not part then
    return context
  end
  local now = time.now(part, context)
  local to = tonumber(args[position.to])
  if to then
    if to < now then
      return { outcome.clockBackward, string.format('%.0f', now) }
    end
    redis.call('SET', part.prefix .. key.clock, string.format('%.0f', to))
    now = to
  end
  local is_set = context.testClock and redis.call('EXISTS', part.clock) == 1
  return { outcome.ok, string.format('%.0f', now), is_set and 1 or 0 }
end

function time.register()
  redis.register_function(contract.name .. '_clock', clock)
end

return time
