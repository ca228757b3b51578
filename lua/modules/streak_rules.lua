-- What extends a user's streaks, and which days do not count: the configured conditions and days off, or the user's own
-- (docs/rules/streaks.md).
local contract = require('contract')
local core = contract.core

local streak_rules = {}

-- 1970-01-01 was a Thursday, the fourth day after a Sunday.
local EPOCH_WEEKDAY = 4

-- The weekdays, from 0 for Sunday, that do not count for the user's daily streak: the user's own or the configured ones; nil for none, and
-- while another streak is shown.
function streak_rules.days_off(tx)
  local settings, stored = tx.plan.streaks, tx.core[core.streakPreferences]
  if settings.frequency ~= 'daily' then
    return nil
  end
  local own = settings.personal and stored and stored:match('"daysOff":(%b[])')
  local off = own and cjson.decode(own) or settings.daysOff
  return off and #off > 0 and off or nil
end

function streak_rules.is_off(off, day)
  local weekday = (day + EPOCH_WEEKDAY) % 7
  for i = 1, #off do
    if off[i] == weekday then
      return true
    end
  end
  return false
end

-- The user's own conditions, without those on archived metrics; the configured ones where none is left, or users may have none.
function streak_rules.conditions(tx)
  local settings, stored = tx.plan.streaks, tx.core[core.streakPreferences]
  if not stored or stored == '' or not (settings.personal or stored:find('"enabled":false', 1, true)) then
    return settings
  end
  local own, left = cjson.decode(stored), {}
  for _, condition in ipairs(settings.personal and own.metrics or {}) do
    if tx.plan.metrics[condition.key] then
      left[#left + 1] = condition
    end
  end
  own.metrics = left
  return (#left > 0 or own.enabled == false) and own or settings
end

-- The parts of stored preferences, each of which a call can send or leave out. Their values contain no bracket of their own.
local preference_parts = { '"enabled":%l+', '"mode":"%u+","metrics":%b[]', '"daysOff":%b[]' }

-- The stored preferences after a change: the parts that are not sent stay.
function streak_rules.merge(stored, sent)
  local parts = {}
  for _, part in ipairs(preference_parts) do
    parts[#parts + 1] = sent:match(part) or stored and stored:match(part) or nil
  end
  return '{' .. table.concat(parts, ',') .. '}'
end

function streak_rules.are_met(conditions, counts)
  local metrics = conditions.metrics
  if #metrics == 0 or conditions.enabled == false then
    return false
  end
  for i = 1, #metrics do
    local condition = metrics[i]
    local met = (counts[condition.key] or 0) >= condition.threshold
    if conditions.mode == 'OR' and met then
      return true
    elseif conditions.mode == 'AND' and not met then
      return false
    end
  end
  return conditions.mode == 'AND'
end

return streak_rules
