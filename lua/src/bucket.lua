-- The token bucket, the leaky bucket and the queue, which are one rule, by their theoretical arrival time, exact: whole
-- µs and a numerator over N. Model: bucket.rs.
--
-- Limit   packed '<dI4I4': B·P/N as whole µs and numerator, N; then, of a queue, '<d': how long a request may wait (µs)
-- State   x = arrival, the instant when the bucket is full of tokens again, or has run dry (whole µs since the Unix
--         epoch), y = its numerator, z = N, g = generation. A queue's is the leaky bucket's, under its tag
-- Check   cost c as c·P/N: whole µs and numerator
-- Reply   '<BdI4': flag, µs until the arrival, its numerator
-- Uses weir.now (µs). All sums stay below 2^53.

local TOKEN, LEAKY, QUEUE = 2, 3, 6
local held, hold, now, pack, unpack_struct = weir.held, weir.hold, weir.now, struct.pack, struct.unpack

local bucket = { reads = 1 }

function bucket.read_limit(argument, position, tag)
  local whole, numerator, requests, after = unpack_struct('<dI4I4', argument, position)
  local limit = {
    algorithm = bucket,
    tag = tag,
    empty = now + whole,
    empty_numerator = numerator,
    requests = requests,
  }
  if tag == QUEUE then
    limit.tag = LEAKY
    local wait
    wait, after = unpack_struct('<d', argument, after)
    limit.latest = now + wait
  end
  return limit, after
end

-- The state under this limit, now: x, y, whether that must be written even by a refusal, nothing, g.
function bucket.view(k, limit)
  local x, y, z, _, g = held(k, limit.tag)
  if not x then
    return now, 0, false, nil, 0
  end
  if z ~= limit.requests and y > 0 then
    -- another N: the debt stays the same time, rounded up to a whole µs
    x, y = x + 1, 0
  end
  if x < now then
    return now, 0, false, nil, g
  end
  local empty, numerator = limit.empty, limit.empty_numerator
  if x > empty or (x == empty and y > numerator) then
    -- more debt than can be (an edit, a clock that stepped back): cut to an empty bucket's
    return empty, numerator, true, nil, (g + 1) % 64
  end
  return x, y, false, nil, g
end

-- The state x, y with the cost charged: whether it passes, x, y.
function bucket.charge(limit, x, y, whole, numerator)
  -- in a queue a request waits until what is there has run out
  local latest = limit.latest
  if latest and (x > latest or (x == latest and y > 0)) then
    return false
  end
  x, y = x + whole, y + numerator
  if y >= limit.requests then
    x, y = x + 1, y - limit.requests
  end
  local empty = limit.empty
  return x < empty or (x == empty and y <= limit.empty_numerator), x, y
end

function bucket.keep(k, limit, x, y, _, g)
  hold(k, limit.tag, x, y, limit.requests, x, nil, g)
end

function bucket.answer(_, flag, x, y)
  return pack('<BdI4', flag, x - now, y)
end

weir.algorithms[TOKEN], weir.algorithms[LEAKY], weir.algorithms[QUEUE] = bucket, bucket, bucket
