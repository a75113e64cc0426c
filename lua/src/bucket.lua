-- The token bucket and the leaky bucket, which are one rule, by their theoretical arrival time, exact: whole µs and a
-- numerator over N. Model: bucket.rs.
--
-- Limit   packed '<dI4I4': B·P/N as whole µs and numerator, N
-- State   x = arrival, the instant when the bucket is full of tokens again, or has run dry (whole µs since the Unix
--         epoch), y = its numerator, z = N
-- Check   cost c as c·P/N: whole µs and numerator
-- Reply   '<BdI4': admitted, µs until the arrival, its numerator
-- Uses weir.now (µs). All sums stay below 2^53.

local TOKEN, LEAKY = 2, 3
local held, hold, now, pack = weir.held, weir.hold, weir.now, struct.pack

local bucket = { reads = 1 }

function bucket.read_limit(argument, position, tag)
  local whole, numerator, requests, after = struct.unpack('<dI4I4', argument, position)
  return {
    algorithm = bucket,
    tag = tag,
    empty = now + whole,
    empty_numerator = numerator,
    requests = requests,
  }, after
end

-- The state under this limit, now: x, y, and whether that must be written even by a refusal.
function bucket.view(k, limit)
  local x, y, z = held(k, limit.tag)
  if not x then
    return now, 0, false
  end
  if z ~= limit.requests and y > 0 then
    -- another N: the debt stays the same time, rounded up to a whole µs
    x, y = x + 1, 0
  end
  if x < now then
    return now, 0, false
  end
  local empty, numerator = limit.empty, limit.empty_numerator
  if x > empty or (x == empty and y > numerator) then
    -- more debt than can be (an edit, a clock that stepped back): cut to an empty bucket's
    return empty, numerator, true
  end
  return x, y, false
end

-- The state x, y with the cost charged: whether it passes, x, y.
function bucket.charge(limit, x, y, whole, numerator)
  x, y = x + whole, y + numerator
  if y >= limit.requests then
    x, y = x + 1, y - limit.requests
  end
  local empty = limit.empty
  return x < empty or (x == empty and y <= limit.empty_numerator), x, y
end

function bucket.keep(k, limit, x, y)
  hold(k, limit.tag, x, y, limit.requests, x)
end

function bucket.answer(_, admitted, x, y)
  return pack('<BdI4', admitted, x - now, y)
end

weir.algorithms[TOKEN], weir.algorithms[LEAKY] = bucket, bucket
