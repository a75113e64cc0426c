-- The fixed window: at most N in each window of length P, aligned to the Unix epoch. Model: fixed_window.rs.
--
-- Limit   packed '<dI4': P (µs), N
-- State   x = end of the window (µs since the Unix epoch), y = units counted in it, z = P (µs), g = generation
-- Check   cost, in units
-- Reply   '<BdI4': flag, µs until the window's end, units counted
-- Uses weir.now (µs).

local TAG = 1
local held, hold, now, pack = weir.held, weir.hold, weir.now, struct.pack

local window = { reads = 1 }

function window.read_limit(argument, position)
  local period, requests, after = struct.unpack('<dI4', argument, position)
  return { algorithm = window, period = period, requests = requests }, after
end

-- The state under this limit, now: x, y, whether that must be written even by a refusal, nothing, g.
function window.view(k, limit)
  local period = limit.period
  local x, y, z, _, g = held(k, TAG)
  if not x then
    return now - now % period + period, 0, false, nil, 0
  end
  local start, instant = x - z, now
  if start < 0 then start = 0 end
  -- after a clock stepped back, its newest instant goes on counting as now, unless it is more than one period ahead
  if start > now then
    if start - now > period then
      return now - now % period + period, y, true, nil, (g + 1) % 64
    end
    instant = start
  end
  local current = instant - instant % period
  if x <= current then
    return current + period, 0, false, nil, g
  elseif z ~= period then
    -- what was counted in a window that reaches into the present one is carried into it
    return current + period, y, true, nil, (g + 1) % 64
  end
  return current + period, y, false, nil, g
end

-- The state x, y with the cost charged: whether it passes, x, y.
function window.charge(limit, x, y, cost)
  local count = y + cost
  return count <= limit.requests, x, count
end

function window.keep(k, limit, x, y, _, g)
  hold(k, TAG, x, y, limit.period, x, nil, g)
end

function window.answer(_, flag, x, y)
  return pack('<BdI4', flag, x - now, y)
end

if weir.refunds then
  -- only to the window that was charged, while it lasts
  function window.refund(k, _, g, _, ends, period, _, units)
    local x, y, z, _, held_g = held(k, TAG)
    if not x or held_g ~= g or x ~= ends or z ~= period or x <= now or y == 0 then
      return false
    end
    y = y - units
    if y < 0 then y = 0 end
    weir.hold_on(k, TAG, x, y, z, nil, g)
    return true
  end
end

weir.algorithms[TAG] = window
