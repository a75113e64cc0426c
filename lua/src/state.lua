-- What the keys of a call hold: loaded once, changed in Lua's memory, written once.
--
-- KEYS    distinct keys, at most 2,000 (unpack of some 8,000 fails)
-- value   one string a key, packed '<BdI4I6', 19 bytes: tag of the algorithm, then three whole numbers x, y and
--         z + g·2^42; and for tag 4 a fourth, w, packed '<I4', 23 bytes:
--           1 FixedWindow   x = end of the window (µs since the Unix epoch), y = units counted, z = period (µs)
--           2 TokenBucket, 3 LeakyBucket
--                           x = arrival (whole µs since the Unix epoch), y = its numerator over z, z = N; and where it
--                           is not 0, w packed '<d', 27 bytes: what refunds have given back (µs; see bucket.lua)
--           4 SlidingWindow x = end of the window (µs since the Unix epoch), y = units counted, z = period (µs),
--                           w = units counted in the window before
--         g, 0 to 63, is the state's generation: the next one whenever it is cut or carried over into other windows
--         (an edit, or a clock that stepped back far), so that receipts from before are known.
--         The layout of tag 5 is told in sliding_log.lua, which writes it itself.
--         Whatever else is found under a key (another type, length, tag, or numbers that can't be) counts as
--         nothing and is written over by the next charge.
-- Uses weir.now, weir.ttl_floor and weir.tags_used. Sets weir.values and weir.tags, by place in KEYS; weir.writers, by
-- tag, is what writes a state of another layout, and weir.value what looks at a value that was not loaded.
--
-- A state stays packed between what reads it and what changes it: most keys are asked for once a call, and a table of
-- Lua's for each number would cost more than packing does.

local call, pack, unpack_struct, floor = redis.call, struct.pack, struct.unpack, math.floor
local writers = weir.writers

-- with a log (bit 5) some of the values may be long: each is then looked at when it is asked for
local values = weir.tags_used % 64 < 32 and call('MGET', unpack(KEYS)) or {}
weir.values = values

-- by place in KEYS, of what was changed: its tag and how long it matters. Its value is in `values`; a log's is not, and
-- is false there
local tags, untils = {}, {}
weir.tags = tags
-- places in KEYS of what must be written, in the order first changed
local order, changes = {}, 0

local BEYOND, GENERATION, UNCHANGED = 2 ^ 53, 2 ^ 42, -1

-- x, y, z, w, g under key k when it holds a state of algorithm `tag`, else nothing
function weir.held(k, tag)
  local value = values[k]
  if value == nil then value = weir.value(k) end
  local length = value and #value
  if length == 19 and tag ~= 4 or length == 23 and tag == 4 or length == 27 and (tag == 2 or tag == 3) then
    local t, x, y, z = unpack_struct('<BdI4I6', value)
    if t == tag and x >= 0 and x < BEYOND and x % 1 == 0 and z > 0 then
      local w, g = nil, 0
      if length > 19 then
        w = unpack_struct(tag == 4 and '<I4' or '<d', value, 20)
      end
      if z >= GENERATION then
        g = floor(z / GENERATION)
        z = z - g * GENERATION
      end
      return x, y, z, w, g
    end
  end
end

-- changes what key k holds, in memory; it matters until `ends`
function weir.hold(k, tag, x, y, z, ends, w, g)
  if not untils[k] then
    changes = changes + 1
    order[changes] = k
  end
  local value = tag ~= 5 and pack('<BdI4I6', tag, x, y, z + g * GENERATION)
  if tag == 4 then
    value = value .. pack('<I4', w)
  elseif w and w > 0 then
    value = value .. pack('<d', w)
  end
  values[k], tags[k], untils[k] = value, tag, ends
end

-- changes what key k holds and leaves it the life that it has
function weir.hold_on(k, tag, x, y, z, w, g)
  weir.hold(k, tag, x, y, z, untils[k] or UNCHANGED, w, g)
end

-- writes each changed state once, value and time to live in one step. Whole milliseconds and one more reach past its
-- end, because Redis keeps a key through the millisecond in which it expires.
function weir.write_states()
  local now, ttl_floor, keys = weir.now, weir.ttl_floor, KEYS
  for i = 1, changes do
    local k = order[i]
    local ends = untils[k]
    local ttl = floor((ends - now) / 1000) + 1
    if ttl < ttl_floor then ttl = ttl_floor end
    local tag, value = tags[k], values[k]
    if tag == 5 then
      writers[tag](k, ends ~= UNCHANGED and ttl)
    elseif ends == UNCHANGED then
      call('SET', keys[k], value, 'KEEPTTL')
    else
      call('PSETEX', keys[k], ttl, value)
    end
  end
end
