-- The clock of a call: what "now" is for the whole of it. TIME is read once; from Redis 7.2 on it stands still in a
-- script anyway.
--
-- ARGV[3]  nothing, or in a test packed '<dd': now (µs since the Unix epoch), the shortest time to live (ms)
-- Sets weir.now (µs) and weir.ttl_floor (ms; 1, the shortest there is, but in a test).

if ARGV[3] then
  weir.now, weir.ttl_floor = struct.unpack('<dd', ARGV[3])
else
  local time = redis.call('TIME')
  weir.now, weir.ttl_floor = time[1] * 1000000 + time[2], 1
end
