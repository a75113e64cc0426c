-- The sliding window: two windows of length P in a row, of which the earlier one weighs as much as still reaches into
-- the last P. Exact, in products of two parts. Model: sliding_window.rs.
--
-- Limit   packed '<dI4': P (µs), N
-- State   x = end of the current window (µs since the Unix epoch), y = units counted in it, z = P (µs), w = units
--         counted in the window before, g = generation
-- Check   cost, in units
-- Reply   '<BdI4I4': flag, µs until the current window's end (more than P when a clock stepped back), units counted
--         in it, units counted in the one before
-- Uses weir.now (µs).

local TAG = 4
local held, hold, now, pack, floor = weir.held, weir.hold, weir.now, struct.pack, math.floor

local EXACT, PART = 2 ^ 53, 2 ^ 23
-- no quota is larger, so a window that had as much is as full as any can be
local MOST = 1000000000

local sliding = { reads = 1 }

function sliding.read_limit(argument, position)
  local period, requests, after = struct.unpack('<dI4', argument, position)
  return { algorithm = sliding, period = period, requests = requests }, after
end

-- units of `count` (below 2^30) that still weigh when `left` of `period` is left (both below 2^42): count·left/period,
-- rounded up. Long division in three digits of 10 bits: nothing in it reaches 2^53
local function weighed(count, left, period)
  local quotient, rest = 0, 0
  for shift = 20, 0, -10 do
    local dividend = rest * 1024 + floor(count / 2 ^ shift) % 1024 * left
    local digit = floor(dividend / period)
    quotient, rest = quotient * 1024 + digit, dividend - digit * period
  end
  if rest > 0 then
    return quotient + 1
  end
  return quotient
end

-- a·b for a below 2^30 and b below 2^42, as two parts to compare: that above 2^23, that below
local function product(a, b)
  local high = floor(b / PART)
  local low = a * (b - high * PART)
  local carry = floor(low / PART)
  return a * high + carry, low - carry * PART
end

-- The state under this limit, now: x, y, whether that must be written even by a refusal, w, g.
function sliding.view(k, limit)
  local period = limit.period
  local x, y, z, w, g = held(k, TAG)
  if not x then
    return now + period, 0, false, 0, 0
  end
  local start, instant, repair = x - z, now, false
  if start < 0 then start = 0 end
  -- after a clock stepped back, the window's start goes on counting as now, unless it is more than one period ahead
  if start > now then
    if start - now > period then
      start, repair = now, true
    else
      instant = start
    end
  end
  local passed = instant - start
  if passed >= z then
    if passed - z < z then
      y, w = 0, y
    else
      y, w = 0, 0
    end
    start = start + z
  end
  if y == 0 and w == 0 then
    return now + period, 0, false, 0, g
  end
  if z ~= period then
    -- what weighs now is what the window before had, of a window of the new period that begins now
    w = y + weighed(w, z - (instant - start), z)
    if w > MOST then w = MOST end
    return instant + period, 0, true, w, (g + 1) % 64
  end
  if repair then g = (g + 1) % 64 end
  return start + period, y, repair, w, g
end

-- The state x, y, w with the cost charged: whether it passes, x, y, w.
function sliding.charge(limit, x, y, cost, _, w)
  local period = limit.period
  local count = y + cost
  local room = limit.requests - count
  if room < 0 then
    return false
  end
  local left = x - now
  if left > period then left = period end
  local weight, most = w * left, room * period
  -- a product below 2^53 is exact, and one that is not below is at least that
  if weight < EXACT or most < EXACT then
    return weight <= most, x, count, w
  end
  local weight_high, weight_low = product(w, left)
  local most_high, most_low = product(room, period)
  return weight_high < most_high or (weight_high == most_high and weight_low <= most_low), x, count, w
end

function sliding.keep(k, limit, x, y, w, g)
  local period = limit.period
  hold(k, TAG, x, y, period, y > 0 and x + period or x, w, g)
end

function sliding.answer(_, flag, x, y, w)
  return pack('<BdI4I4', flag, x - now, y, w)
end

if weir.refunds then
  -- Only while the units weigh. Where the windows lie must be as if they had never been: what began them is given back
  -- only when nothing else is left, what is in the window before only when something else there held this one in place.
  function sliding.refund(k, _, g, began, ends, period, _, units)
    local x, y, z, w, held_g = held(k, TAG)
    if not x or held_g ~= g or z ~= period then
      return false
    end
    local is_there, keeps_its_place
    if x == ends then
      y = y - units
      is_there, keeps_its_place = now < ends + period, true
    else
      w = w - units
      is_there, keeps_its_place = x == ends + period and now < x, w > 0
    end
    local nothing_is_left = y == 0 and w == 0
    if y < 0 or w < 0 or not is_there or not (nothing_is_left or keeps_its_place and began == 0) then
      return false
    end
    weir.hold_on(k, TAG, x, y, z, w, g)
    return true
  end
end

weir.algorithms[TAG] = sliding
