-- Periods of local days: weeks, months and the runs of leaderboards. A day is counted from 1970-01-01, a Thursday.
local cache = require('cache')

local calendar = {}

-- Months that are cached: most users are in the same one.
local MAX_CACHED = 1000

-- Year, month (1 to 12) and day of the month of a day (the proleptic Gregorian calendar, reckoned in eras of 400 years from March on).
function calendar.date(day)
  local floor = math.floor
  local z = day + 719468
  local era = floor(z / 146097)
  local doe = z - era * 146097
  local yoe = floor((doe - floor(doe / 1460) + floor(doe / 36524) - floor(doe / 146096)) / 365)
  local doy = doe - (365 * yoe + floor(yoe / 4) - floor(yoe / 100))
  local mp = floor((5 * doy + 2) / 153)
  local month = mp < 10 and mp + 3 or mp - 9
  return yoe + era * 400 + (month <= 2 and 1 or 0), month, doy - floor((153 * mp + 2) / 5) + 1
end

-- The day of a date. The month may be any number: 13 is the next January.
function calendar.day(year, month, day)
  local floor = math.floor
  year = year + floor((month - 1) / 12)
  month = (month - 1) % 12 + 1
  local y = month <= 2 and year - 1 or year
  local era = floor(y / 400)
  local yoe = y - era * 400
  local doy = floor((153 * (month > 2 and month - 3 or month + 9) + 2) / 5) + day - 1
  return era * 146097 + yoe * 365 + floor(yoe / 4) - floor(yoe / 100) + doy - 719468
end

-- The day so many months after `start`; a day that the month lacks is its last.
function calendar.add_months(start, months)
  local year, month, day = calendar.date(start)
  local first = calendar.day(year, month + months, 1)
  local following = calendar.day(year, month + months + 1, 1)
  return math.min(first + day - 1, following - 1)
end

local month_of = cache.new(MAX_CACHED, function(day)
  local year, month = calendar.date(day)
  return (year - 1970) * 12 + month - 1
end)

local first_of_month = cache.new(MAX_CACHED, function(period)
  return calendar.day(1970, period + 1, 1)
end)

-- Which period a day is in: the frequency's count of days, weeks or months. `week_shift` is 3 for weeks from Monday, 4 from Sunday.
function calendar.period(frequency, day, week_shift)
  if frequency == 'daily' then
    return day
  elseif frequency == 'weekly' then
    return math.floor((day + week_shift) / 7)
  end
  return month_of(day)
end

-- By one number for both, day * 7 + week_shift: a shift is below 7.
local periods_of = cache.new(MAX_CACHED, function(key)
  local shift = key % 7
  local day = (key - shift) / 7
  return { day, calendar.period('weekly', day, shift), month_of(day) }
end)

-- The periods that a day is in, daily, weekly and monthly. The list is shared: do not change it.
function calendar.periods(day, week_shift)
  return periods_of(day * 7 + week_shift)
end

-- The first day of a period.
function calendar.first_day(frequency, period, week_shift)
  if frequency == 'daily' then
    return period
  elseif frequency == 'weekly' then
    return period * 7 - week_shift
  end
  return first_of_month(period)
end

-- The first day of the run of a repeating leaderboard that a day is in. Days before `start` are in no run.
function calendar.run(board, day)
  if board.unit == 'day' then
    return day - (day - board.first) % board.interval
  end
  local months = board.unit == 'year' and board.interval * 12 or board.interval
  local from_year, from_month = calendar.date(board.first)
  local year, month = calendar.date(day)
  local count = math.floor(((year - from_year) * 12 + month - from_month) / months)
  local run = calendar.add_months(board.first, count * months)
  return run <= day and run or calendar.add_months(board.first, (count - 1) * months)
end

return calendar
