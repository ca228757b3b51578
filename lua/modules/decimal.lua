-- Exact arithmetic where doubles are not: 10 points times 1.1 is 11, never 11.000000000000002.
local decimal = {}

-- Up to here a product of integers is exact in a double.
local EXACT = 9007199254740992
-- Digits of one limb. A limb times a factor of at most 15 digits is split below, so that every step stays under EXACT.
local LIMB, LIMB_DIGITS = 10000000, 7
-- Significant digits of a total (docs/rules/metrics.md), and the first whole number with more of them.
local KEPT_DIGITS, TOO_LONG = 15, 10 ^ 15
-- Up to here a power of ten is exact in a double.
local MAX_SCALE = 10 ^ 22
-- How many digits tell a double from all others, behind the first. Below the smallest normal number, doubles have fewer digits.
local MIN_DECIMALS, MAX_DECIMALS = 14, 16
local SMALLEST_NORMAL = 2.2250738585072014e-308

-- The texts of small whole numbers are kept: making one takes as long as a command.
local KEPT_TEXTS = 4096
local texts = {}

-- The shortest text of a clean number. (Whole ones are the usual ones, and Lua writes them several times as fast.)
function decimal.text(number)
  if number % 1 ~= 0 then
    return string.format('%.15g', number)
  elseif number < 0 or number >= KEPT_TEXTS then
    return string.format('%d', number)
  end
  local text = texts[number]
  if not text then
    text = string.format('%d', number)
    texts[number] = text
  end
  return text
end

-- limbs (least first) times a factor below LIMB, in place.
local function multiply_small(limbs, factor)
  local carry = 0
  for i = 1, #limbs do
    local product = limbs[i] * factor + carry
    limbs[i] = product % LIMB
    carry = (product - limbs[i]) / LIMB
  end
  while carry > 0 do
    limbs[#limbs + 1] = carry % LIMB
    carry = (carry - limbs[#limbs]) / LIMB
  end
end

-- Adds others to limbs, in place, or with a sign of -1 subtracts them, which are no more then.
local function add(limbs, other, shift, sign)
  local carry = 0
  for i = 1, math.max(#limbs, #other + shift) do
    local sum = (limbs[i] or 0) + sign * (other[i - shift] or 0) + carry
    limbs[i] = sum % LIMB
    carry = (sum - limbs[i]) / LIMB
  end
  if carry > 0 then
    limbs[#limbs + 1] = carry
  end
end

-- The limbs of the product of others and non-negative integers, each exact in a double.
local function multiply(limbs, factors)
  for _, factor in ipairs(factors) do
    local sum, shift = { 0 }, 0
    while factor > 0 do
      local part = factor % LIMB
      local partial = {}
      for i = 1, #limbs do
        partial[i] = limbs[i]
      end
      multiply_small(partial, part)
      add(sum, partial, shift, 1)
      factor = (factor - part) / LIMB
      shift = shift + 1
    end
    limbs = sum
  end
  return limbs
end

local function digits_of(limbs)
  local digits = {}
  for i = #limbs, 1, -1 do
    digits[#digits + 1] = string.format('%07.0f', limbs[i])
  end
  return table.concat(digits)
end

local function limbs_of_digits(digits)
  local limbs = {}
  for last = #digits, 1, -LIMB_DIGITS do
    limbs[#limbs + 1] = tonumber(digits:sub(math.max(last - LIMB_DIGITS + 1, 1), last))
  end
  return limbs
end

-- The decimal that a number shows, without its sign: the fewest digits that are this number, and the power of ten of the last one.
local function decimal_of(number)
  local size = math.abs(number)
  local decimals = size < SMALLEST_NORMAL and 0 or MIN_DECIMALS
  local text
  repeat
    text = string.format('%.' .. decimals .. 'e', size)
    decimals = decimals + 1
  until tonumber(text) == size or decimals > MAX_DECIMALS
  local first, others, exponent = text:match('(%d)%.?(%d*)e([-+]%d+)')
  return first .. others, tonumber(exponent) - #others
end

-- Digits times a power of ten, rounded to those of a total.
local function rounded(digits, exponent)
  if digits == '' then
    return 0
  end
  local dropped = math.max(#digits - KEPT_DIGITS, 0)
  local kept = tonumber(digits:sub(1, #digits - dropped)) + (digits:sub(#digits - dropped + 1) >= '5' and 1 or 0)
  return tonumber(string.format('%.0fe%d', kept, exponent + dropped))
end

-- The sum of two numbers, digit by digit.
local function add_digits(a, b)
  if math.abs(a) < math.abs(b) then
    a, b = b, a
  end
  local digits_a, exponent_a = decimal_of(a)
  local digits_b, exponent_b = decimal_of(b)
  local exponent = math.min(exponent_a, exponent_b)
  local limbs = limbs_of_digits(digits_a .. string.rep('0', exponent_a - exponent))
  add(limbs, limbs_of_digits(digits_b .. string.rep('0', exponent_b - exponent)), 0, (a < 0) == (b < 0) and 1 or -1)
  local digits = digits_of(limbs):gsub('^0+', '')
  local sum = rounded(digits, exponent)
  return a < 0 and -sum or sum
end

-- The sum of two numbers as it is stored: that of the decimals that they show, rounded once to 15 significant digits, a half away from zero
-- (docs/rules/metrics.md). In doubles, 1000.1 - 1000 would leave 0.100000000000023.
function decimal.add(a, b)
  if a % 1 == 0 and b % 1 == 0 then
    return a + b
  end
  -- Nearly always both are whole numbers of a power of ten, few enough to be exact.
  local scale = 1
  repeat
    scale = scale * 10
    local whole_a, whole_b = math.floor(a * scale + 0.5), math.floor(b * scale + 0.5)
    local sum = whole_a + whole_b
    if math.abs(whole_a) >= TOO_LONG or math.abs(whole_b) >= TOO_LONG or math.abs(sum) >= TOO_LONG then
      break
    elseif whole_a / scale == a and whole_b / scale == b then
      return sum / scale
    end
  until scale == MAX_SCALE
  return add_digits(a, b)
end

local function rounded_up(rounding, above_half, rest)
  if rounding == 'up' then
    return rest
  end
  return rounding == 'nearest' and above_half
end

local function divide_digits(digits, scale, rounding)
  digits = string.rep('0', scale + 1 - #digits) .. digits
  local whole = tonumber(digits:sub(1, #digits - scale))
  local rest = digits:sub(#digits - scale + 1)
  if rounded_up(rounding, rest:sub(1, 1) >= '5' and rest ~= '', rest:find('[1-9]') ~= nil) then
    whole = whole + 1
  end
  return whole
end

local function multiply_doubles(product, factors)
  for i = 1, #factors do
    product = product * factors[i]
  end
  return product
end

-- The limbs of what decimal.product began, worked out once.
local function limbs_of(begun)
  if not begun then
    return { 1 }
  end
  begun.limbs = begun.limbs or multiply({ 1 }, begun.factors)
  return begun.limbs
end

-- factors[1] * factors[2] * ..., for scaled_product to go on with. The factors are non-negative integers.
function decimal.product(factors)
  return { double = multiply_doubles(1, factors), factors = factors, limbs = nil }
end

-- factors[1] * factors[2] * ... / 10^scale as an integer, rounded down, up or to the nearest (a half goes up). The factors are
-- non-negative integers, and so is `begun`, a product that they are multiplied with (decimal.product). Exact for every result below 2^53.
function decimal.scaled_product(factors, scale, rounding, begun)
  local product = multiply_doubles(begun and begun.double or 1, factors)
  if product >= EXACT or scale > 15 then
    return divide_digits(digits_of(multiply(limbs_of(begun), factors)), scale, rounding)
  end
  local divisor = 10 ^ scale
  local rest = product % divisor
  local whole = (product - rest) / divisor
  if rounded_up(rounding, rest * 2 >= divisor, rest > 0) then
    whole = whole + 1
  end
  return whole
end

return decimal
