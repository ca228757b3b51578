-- The one clock, and local dates. Lua knows no calendar rules of zones: it is given each zone's offsets and when they change.
--
-- A `scope` has the partition and the context: a call (partition.lua) or a user transaction.
local contract = require('contract')
local cache = require('cache')
local outcome, limit = contract.outcome, contract.limit

local time = {}

local DAY_MS = 86400000
local MINUTE_MS = 60000
-- Beginnings of days that are cached with a zone.
local MAX_CACHED_DAYS = 400
-- How far back from now a call may need the offsets of a zone: what is stored of one reaches ten days further (src/shared/calendar.ts).
local REACH_MS = 390 * DAY_MS

-- Milliseconds since 1970, from the test clock if this service runs on one, else from Redis.
function time.now(scope)
  if scope.context.testClock then
    local set = redis.call('GET', scope.part.clock)
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

local function is_utc(name)
  return not name or name == '' or name == 'UTC'
end

-- Zones are cached for all tenants, each under the version of the zone data and its name.
local function zone_key(scope, name)
  return scope.context.zones .. ' ' .. name
end

-- { from, { until, offset minutes }, { until, offset minutes } ... }, moments in milliseconds.
local function load_zone(zone, scope)
  local version = scope.context.zones
  local blob = redis.call('HGET', scope.part.zones .. version, zone:sub(#version + 2))
  return blob and cmsgpack.unpack(blob) or nil
end

local zone_of, put_zone = cache.new(limit.maxCachedZones, load_zone)

-- The offset at a moment of a zone that is known from `reach` before it on; nil when it is not.
local function offset_from(zone, at, reach)
  return zone and at - reach >= zone[1] and offset_within(zone, at) or nil
end

local function day_at(scope, name, at, reach)
  if is_utc(name) then
    return math.floor(at / DAY_MS)
  end
  local key = zone_key(scope, name)
  local offset = offset_from(zone_of(key, scope), at, reach)
  if not offset then
    -- Redis may hold more of the zone than the cache.
    local zone = load_zone(key, scope)
    offset = offset_from(zone, at, reach)
    if not offset then
      return nil, { outcome.unknownZone, name, string.format('%.0f', at) }
    end
    put_zone(key, zone)
  end
  return math.floor((at + offset * MINUTE_MS) / DAY_MS)
end

-- The local day of now, in days since 1970-01-01. Refuses when the zone's offsets are not known from REACH_MS before now on. No zone is
-- UTC. (Zones are cached for all tenants: one whose test clock is far ahead would leave too little of a zone for the days that
-- others have yet to settle.)
function time.today(scope, name, now)
  return day_at(scope, name, now, REACH_MS)
end

-- The local day of a moment before now, in a zone for which `today` was called.
function time.local_day(scope, name, at)
  return day_at(scope, name, at, 0)
end

-- The same of a moment that may lie before all that is known of the zone, which is then taken to have had its first known offset.
function time.past_day(scope, name, at)
  if is_utc(name) then
    return math.floor(at / DAY_MS)
  end
  local zone = zone_of(zone_key(scope, name), scope)
  return math.floor((at + offset_within(zone, math.max(at, zone[1])) * MINUTE_MS) / DAY_MS)
end

local function find_day_start(day, zone)
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
function time.day_start(scope, name, day)
  if is_utc(name) then
    return day * DAY_MS
  end
  local zone = zone_of(zone_key(scope, name), scope)
  zone.start_of = zone.start_of or cache.new(MAX_CACHED_DAYS, find_day_start)
  return zone.start_of(day, zone)
end

-- Milliseconds since local midnight.
function time.of_day(scope, name, now)
  if is_utc(name) then
    return now % DAY_MS
  end
  return (now + offset_within(zone_of(zone_key(scope, name), scope), now) * MINUTE_MS) % DAY_MS
end

return time
