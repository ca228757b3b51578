-- Exact arithmetic where doubles are not: 10 points times 1.1 is 11, never 11.000000000000002.
local decimal = {}

-- Up to here a product of integers is exact in a double.
local EXACT = 9007199254740992
-- Digits of one limb. A limb times a factor of at most 15 digits is split below, so that every step stays under EXACT.
local LIMB = 10000000

-- A total as it is stored: rounded to 15 significant digits, so that ten times 0.1 is 1 (docs/rules/metrics.md).
function decimal.clean(number)
  return tonumber(string.format('%.15g', number))
end

-- How many decimal places the 15 significant digits of a number have.
local function places(number)
  local decimals, exponent = string.format('%.14e', number):match('%.(%d-)0*e([-+]%d+)$')
  return math.max(#decimals - tonumber(exponent), 0)
end

-- The sum of two numbers as it is stored. It is the sum of the decimals that they show: in doubles, 1000.1 - 1000 would leave
-- 0.100000000000023, whose digits are not those of rounding any more.
function decimal.add(a, b)
  if a % 1 == 0 and b % 1 == 0 then
    return a + b
  end
  local scale = 10 ^ math.max(places(a), places(b))
  local scaled_a, scaled_b = a * scale, b * scale
  if math.abs(scaled_a) < EXACT / 4 and math.abs(scaled_b) < EXACT / 4 then
    return decimal.clean((math.floor(scaled_a + 0.5) + math.floor(scaled_b + 0.5)) / scale)
  end
  return decimal.clean(a + b)
end

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

local function add(limbs, other, shift)
  local carry = 0
  for i = 1, math.max(#limbs, #other + shift) do
    local sum = (limbs[i] or 0) + (other[i - shift] or 0) + carry
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
      add(sum, partial, shift)
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
