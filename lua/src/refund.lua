-- Refunds, in their place among the requests: what a receipt says was taken from a key is given back, as far as it can
-- be told apart from what others took. Model: `refund` in model.rs.
--
-- Entry   packed '<I2BBBdddI4I4I4': place in KEYS (from 1), tag of the state, generation of the state that was charged,
--         a flag, and a, b, c, d, e, f:
--           1 FixedWindow    a = end of the window (µs since the Unix epoch), b = P (µs), c = 0, d = units
--           2 TokenBucket, 3 LeakyBucket
--                            a, d = arrival before the charge, or when it was made if that is later (whole µs since the
--                            Unix epoch, numerator), b, e = what was taken (whole µs, numerator), c = what the bucket
--                            had given back before, f = N; the flag is 1 when it was charged under a queue
--           4 SlidingWindow  as 1; the flag is 1 when the key's windows began with this charge
--           5 SlidingLog     a = instant of the units (µs since the Unix epoch), b = P (µs), c = 0, d = units
-- Reply   '<B': 1 when something was given back, else 0
--
-- An algorithm of which something may be given back has, where weir.refunds holds:
--   refund(k, tag, g, flag, a, b, c, d, e, f)  whether something was given back. It never makes a state, and leaves a
--                                              key the life that it has: other receipts may need to find it

local REFUND = 1
local algorithms, unpack_struct = weir.algorithms, struct.unpack

weir.entries[REFUND] = function(packed, position)
  local k, tag, g, flag, a, b, c, d, e, f, after = unpack_struct('<I2BBBdddI4I4I4', packed, position)
  return algorithms[tag].refund(k, tag, g, flag, a, b, c, d, e, f) and '\1' or '\0', after
end
