-- What the keys of a call hold: loaded once, changed in Lua's memory, written once.
--
-- KEYS    distinct keys, at most 2,000 (unpack of some 8,000 fails)
-- value   one string a key, packed '<BdI4I6', 19 bytes: tag of the algorithm, then three whole numbers x, y, z; and for
--         tag 4 a fourth, w, packed '<I4', 23 bytes:
--           1 FixedWindow   x = end of the window (µs since the Unix epoch), y = units counted, z = period (µs)
--           2 TokenBucket, 3 LeakyBucket
--                           x = arrival (whole µs since the Unix epoch), y = its numerator over z, z = N
--           4 SlidingWindow x = end of the window (µs since the Unix epoch), y = units counted, z = period (µs),
--                           w = units counted in the window before
--         The layout of tag 5 is told in sliding_log.lua, which writes it itself.
--         Whatever else is found under a key (another type, length, tag, or numbers that can't be) counts as
--         nothing and is written over by the next charge.
-- Uses weir.now, weir.ttl_floor and weir.writers: by tag, what writes a state of another layout.

local call, pcall_redis = redis.call, redis.pcall
local pack, unpack_struct, floor = struct.pack, struct.unpack, math.floor

-- by place in KEYS; tags[k] is nil before a state was found in the value or put in its place
local values
local tags, xs, ys, zs, ws, untils = {}, {}, {}, {}, {}, {}
-- places in KEYS of what must be written, in the order first changed
local changed, order, changes = {}, {}, 0

local writers = weir.writers

-- bytes of a value, by tag
local LENGTHS = { 19, 19, 19, 23 }
local BEYOND = 2 ^ 53
-- bytes that are read of a value that may be long: all of a short one, and more
local BEGINNING = 64

-- `by_parts`: some of the values may be long (sliding_log.lua), so each is looked at when it is asked for
function weir.load_states(by_parts)
  values = by_parts and {} or call('MGET', unpack(KEYS))
end

-- what is under key k: nil or false when nothing is, or something that is not a string. Of a long value the beginning
function weir.value(k)
  local value = values[k]
  if value == nil then
    value = pcall_redis('GETRANGE', KEYS[k], 0, BEGINNING - 1)
    if type(value) ~= 'string' then value = false end
    values[k] = value
  end
  return value
end

-- the algorithm that key k holds a state of, if that was found out or put there in this call
function weir.tag_of(k)
  return tags[k]
end

-- x, y, z, w under key k when it holds a state of algorithm `tag`, else nothing
function weir.held(k, tag)
  local found = tags[k]
  if found == nil then
    local value = values[k]
    if value == nil then value = weir.value(k) end
    found = false
    if value and #value == LENGTHS[tag] then
      local t, x, y, z, after = unpack_struct('<BdI4I6', value)
      if t == tag and x >= 0 and x < BEYOND and x % 1 == 0 and z > 0 then
        found, xs[k], ys[k], zs[k] = t, x, y, z
        if after <= #value then
          ws[k] = unpack_struct('<I4', value, after)
        end
        tags[k] = found
      end
    end
  end
  if found == tag then
    return xs[k], ys[k], zs[k], ws[k]
  end
end

-- changes what key k holds, in memory; it matters until `ends`
function weir.hold(k, tag, x, y, z, ends, w)
  tags[k], xs[k], ys[k], zs[k], untils[k], ws[k] = tag, x, y, z, ends, w
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
    local tag = tags[k]
    if writers[tag] then
      writers[tag](k, ttl)
    else
      local value = pack('<BdI4I6', tag, xs[k], ys[k], zs[k])
      if ws[k] then
        value = value .. pack('<I4', ws[k])
      end
      call('PSETEX', KEYS[k], ttl, value)
    end
  end
end
