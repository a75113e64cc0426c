-- The clock of a call: what "now" is for the whole of it. TIME is read once; from Redis 7.2 on it stands still in a
-- script anyway.
--
-- Argument: nothing, or in a test a packed '<dd': now (µs since the Unix epoch), the shortest time to live (ms).
-- Sets weir.now (µs) and weir.ttl_floor (ms; 0 but in a test).

function weir.read_clock(argument)
  if argument then
    weir.now, weir.ttl_floor = struct.unpack('<dd', argument)
    return
  end
  local time = redis.call('TIME')
  weir.now, weir.ttl_floor = time[1] * 1000000 + time[2], 0
end
