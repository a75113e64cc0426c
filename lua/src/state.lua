-- What the keys of a call hold: loaded once, changed in Lua's memory, written once.
--
-- KEYS    distinct keys, at most 2,000 (unpack of some 8,000 fails)
-- value   one string a key, packed '<BdI4I6', 19 bytes: tag of the algorithm, then three whole numbers x, y, z:
--           1 FixedWindow   x = end of the window (µs since the Unix epoch), y = units counted, z = period (µs)
--           2 TokenBucket, 3 LeakyBucket
--                           x = arrival (whole µs since the Unix epoch), y = its numerator over z, z = N
--         Whatever else is found under a key (another type, length, tag, or numbers that can't be) counts as
--         nothing and is written over by the next charge.
-- Uses weir.now and weir.ttl_floor.

local call, pack, unpack_struct, floor = redis.call, struct.pack, struct.unpack, math.floor

-- by place in KEYS; tags[k] is nil before the key was looked at, false when it holds nothing of use
local values
local tags, xs, ys, zs, untils = {}, {}, {}, {}, {}
-- places in KEYS of what must be written, in the order first changed
local changed, order, changes = {}, {}, 0

local LENGTH = 19
local BEYOND = 2 ^ 53

function weir.load_states()
  values = call('MGET', unpack(KEYS))
end

-- x, y, z under key k when it holds a state of algorithm `tag`, else nothing
function weir.held(k, tag)
  local found = tags[k]
  if found == nil then
    local value = values[k]
    found = false
    if value and #value == LENGTH then
      local t, x, y, z = unpack_struct('<BdI4I6', value)
      if x >= 0 and x < BEYOND and x % 1 == 0 and z > 0 then
        found, xs[k], ys[k], zs[k] = t, x, y, z
      end
    end
    tags[k] = found
  end
  if found == tag then
    return xs[k], ys[k], zs[k]
  end
end

-- changes what key k holds, in memory; it matters until `ends`
function weir.hold(k, tag, x, y, z, ends)
  tags[k], xs[k], ys[k], zs[k], untils[k] = tag, x, y, z, ends
  if not changed[k] then
    changed[k] = true
    changes = changes + 1
    order[changes] = k
  end
end

-- writes each changed state once, value and time to live in one step. Whole milliseconds and one more reach past its
-- end, because Redis keeps a key through the millisecond in which it expires.
function weir.write_states()
  local now, ttl_floor = weir.now, weir.ttl_floor
  for i = 1, changes do
    local k = order[i]
    local ttl = floor((untils[k] - now) / 1000) + 1
    if ttl < ttl_floor then ttl = ttl_floor end
    call('PSETEX', KEYS[k], ttl, pack('<BdI4I6', tags[k], xs[k], ys[k], zs[k]))
  end
end
