-- The token bucket by its theoretical arrival time, exact: whole µs and a numerator over N. Model: token_bucket.rs.
--
-- Limit   packed '<dI4I4': B·P/N as whole µs and numerator, N
-- State   x = arrival, the instant when the bucket is full again (whole µs since the Unix epoch), y = its numerator,
--         z = N
-- Check   cost c as c·P/N: whole µs and numerator
-- Uses weir.now (µs). All sums stay below 2^53.

local TAG = 2
local held = weir.held

local bucket = { tag = TAG }

function bucket.read_limit(argument, position)
  local whole, numerator, requests, after = struct.unpack('<dI4I4', argument, position)
  local empty = weir.now + whole
  return { algorithm = bucket, empty = empty, empty_numerator = numerator, requests = requests, unit = requests }, after
end

-- The state under this limit, now: x, y, and whether that must be written even by a refusal.
function bucket.view(k, limit)
  local now = weir.now
  local x, y, z = held(k, TAG)
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

weir.algorithms[TAG] = bucket
