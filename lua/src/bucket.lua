-- The token bucket, the leaky bucket and the queue, which are one rule, by their theoretical arrival time, exact: whole
-- µs and a numerator over N. Model: bucket.rs.
--
-- Limit   packed '<dI4I4': B·P/N as whole µs and numerator, N; then, of a queue, '<d': how long a request may wait (µs)
-- State   x = arrival, the instant when the bucket is full of tokens again, or has run dry (whole µs since the Unix
--         epoch), y = its numerator, z = N, w = what refunds have given back of charges that others came after (µs),
--         g = generation. A queue's is the leaky bucket's, under its tag
-- Check   cost c as c·P/N: whole µs and numerator
-- Reply   '<BdI4': flag, µs until the arrival, its numerator; when it was charged and w is not 0, the flag is 128 more
--         and '<d' w follows
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

-- The state under this limit, now: x, y, whether that must be written even by a refusal, w, g.
function bucket.view(k, limit)
  local x, y, z, w, g = held(k, limit.tag)
  if not x then
    return now, 0, false, 0, 0
  end
  w = w or 0
  if z ~= limit.requests then
    -- another N: the debt stays the same time, rounded up to a whole µs
    if y > 0 then x, y = x + 1, 0 end
    w, g = 0, (g + 1) % 64
  end
  if x < now then
    -- nothing is left of any charge that w could matter to?
    if x + w < now then w = 0 end
    return now, 0, false, w, g
  end
  local empty, numerator = limit.empty, limit.empty_numerator
  if x > empty or (x == empty and y > numerator) then
    -- more debt than can be (an edit, a clock that stepped back): cut to an empty bucket's
    return empty, numerator, true, 0, (g + 1) % 64
  end
  return x, y, false, w, g
end

-- The state x, y, w with the cost charged: whether it passes, x, y, w.
function bucket.charge(limit, x, y, whole, numerator, w)
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
  return x < empty or (x == empty and y <= limit.empty_numerator), x, y, w
end

function bucket.keep(k, limit, x, y, w, g)
  local ends = x
  if w > 0 then
    -- as long as if nothing had been given back, for until then receipts may matter
    ends = x + w
    if ends > limit.empty + 1 then ends = limit.empty + 1 end
  end
  hold(k, limit.tag, x, y, limit.requests, ends, w, g)
end

function bucket.answer(_, flag, x, y, w)
  if w > 0 and flag > 0 then
    return pack('<BdI4d', flag + 128, x - now, y, w)
  end
  return pack('<BdI4', flag, x - now, y)
end

if weir.refunds then
  local MOST_GIVEN_BACK = 2 ^ 50

  -- What was taken is a stretch of time that begins at `base`, or earlier by what was given back of charges before it:
  -- what of that is later than now is given back. From a queue only what was charged last.
  function bucket.refund(k, tag, g, queued, base, taken, given_back, base_numerator, taken_numerator, requests)
    local x, y, z, w, held_g = held(k, tag)
    if not x or held_g ~= g or z ~= requests or x < now or (x == now and y == 0) then
      return false
    end
    w = w or 0
    local after, numerator = base + taken, base_numerator + taken_numerator
    if numerator >= requests then
      after, numerator = after + 1, numerator - requests
    end
    -- after another refund an arrival that is the same by chance is of a later charge
    local is_last = w == given_back and x == after and y == numerator
    if w < given_back or (queued == 1 and not is_last) then
      return false
    end
    base = base - (w - given_back)
    if base < 0 then base = 0 end
    if now > base then
      taken, taken_numerator = taken + base - now, taken_numerator + base_numerator
      if taken_numerator >= requests then
        taken, taken_numerator = taken + 1, taken_numerator - requests
      end
    end
    if taken < 0 or (taken == 0 and taken_numerator == 0) then
      return false
    end
    x, y = x - taken, y - taken_numerator
    if y < 0 then
      x, y = x - 1, y + requests
    end
    if x < 0 then x, y = 0, 0 end
    if not is_last then w = w + taken + (taken_numerator > 0 and 1 or 0) end
    if w >= MOST_GIVEN_BACK then
      w, g = 0, (g + 1) % 64
    end
    weir.hold_on(k, tag, x, y, z, w, g)
    return true
  end
end

weir.algorithms[TOKEN], weir.algorithms[LEAKY], weir.algorithms[QUEUE] = bucket, bucket, bucket
