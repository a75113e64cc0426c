-- The other layout of state, to be measured against state.lua: states are fields of two hashes for each limit.
--
-- What is written goes into the younger hash of the two. When every state of the older one has ended, that is dropped
-- and is the younger from then on: no state is ever moved for its own sake, an edit needs no case of its own, and none
-- outlives its end by more than the longest life of a state of the limit. A hash has the time to live of the one of
-- its states that ends last.
--
-- KEYS      two hashes for each limit
-- ARGV[3]   the third of a test, or ''
-- ARGV[4]   for each field, '<I2' the place of its pair of hashes (from 1); '' where there is one pair
-- ARGV[5…]  the fields. What others call a place in KEYS is a place among these
-- field ''  of each hash, packed '<dd': number of the generation (from 1), when the last of its states ends (µs)
-- value     of each other field, as in state.lua. A sliding log has no place here: it is long, and read in parts
-- Uses weir.now, weir.ttl_floor and weir.given, which is the whole of ARGV.

local call, pack, unpack_struct, floor = redis.call, struct.pack, struct.unpack, math.floor
local now = weir.now
-- what ended until then is gone; in a test later, as a string's time to live is longer
local gone = now - (weir.ttl_floor - 1) * 1000
local BEFORE_FIRST = 4
local BEYOND, GENERATION, UNCHANGED = 2 ^ 53, 2 ^ 42, -1

local given = weir.given
local places = given[4]
local one_pair = places == ''
-- by place of the field; `found_in` is the name of the hash
local values, found_in = {}, {}

-- the number of a hash, when its last state ends, and whether something is there
local function generation(name)
  local value = redis.pcall('HGET', name, '')
  if type(value) == 'string' and #value == 16 then
    local number, ends = unpack_struct('<dd', value)
    return number, ends, true
  end
  return 0, 0, type(value) == 'table' or call('EXISTS', name) == 1
end

-- looks for the fields, of these places, in a hash
local function load_from(name, fields, ks)
  local missing, missing_ks
  for i, value in ipairs(call('HMGET', name, unpack(fields))) do
    if value then
      values[ks[i]], found_in[ks[i]] = value, name
    else
      missing, missing_ks = missing or {}, missing_ks or {}
      missing[#missing + 1], missing_ks[#missing_ks + 1] = fields[i], ks[i]
    end
  end
  return missing, missing_ks
end

local function load_pair(a, b, fields, ks)
  local number, ends, is_there = generation(a)
  local other_number, other_ends, other_is_there = generation(b)
  if number < other_number then
    a, number, ends, b, other_ends, other_is_there = b, other_number, other_ends, a, ends, is_there
  end
  if ends > gone and fields[1] then fields, ks = load_from(a, fields, ks) end
  if other_ends > gone and fields then load_from(b, fields, ks) end
  return {
    young = a, number = number, ends = ends,
    old = b, old_ends = other_ends, old_is_there = other_is_there,
    written = {},
  }
end

local loaded = {}
if one_pair then
  local fields, ks = {}, {}
  for k = 1, #given - BEFORE_FIRST do
    fields[k], ks[k] = given[k + BEFORE_FIRST], k
  end
  loaded[1] = load_pair(KEYS[1], KEYS[2], fields, ks)
else
  local fields, ks = {}, {}
  for p = 1, #KEYS / 2 do
    fields[p], ks[p] = {}, {}
  end
  for k = 1, #given - BEFORE_FIRST do
    local p = unpack_struct('<I2', places, k * 2 - 1)
    table.insert(fields[p], given[k + BEFORE_FIRST])
    table.insert(ks[p], k)
  end
  for p = 1, #KEYS / 2 do
    loaded[p] = load_pair(KEYS[p * 2 - 1], KEYS[p * 2], fields[p], ks[p])
  end
end

local untils = {}
local order, changes = {}, 0

-- as in state.lua
function weir.held(k, tag)
  local value = values[k]
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

function weir.hold(k, tag, x, y, z, ends, w, g)
  if not untils[k] then
    changes = changes + 1
    order[changes] = k
  end
  local value = pack('<BdI4I6', tag, x, y, z + g * GENERATION)
  if tag == 4 then
    value = value .. pack('<I4', w)
  elseif w and w > 0 then
    value = value .. pack('<d', w)
  end
  values[k], untils[k] = value, ends
end

function weir.hold_on(k, tag, x, y, z, w, g)
  weir.hold(k, tag, x, y, z, untils[k] or UNCHANGED, w, g)
end

function weir.write_states()
  for i = 1, changes do
    local k = order[i]
    local ends, value = untils[k], values[k]
    local pair = loaded[one_pair and 1 or (unpack_struct('<I2', places, k * 2 - 1))]
    if ends == UNCHANGED then
      call('HSET', found_in[k], given[k + BEFORE_FIRST], value)
    else
      local written = pair.written
      written[#written + 1] = given[k + BEFORE_FIRST]
      written[#written + 1] = value
      if not pair.last or ends > pair.last then pair.last = ends end
    end
  end
  for _, pair in ipairs(loaded) do
    if pair.last then
      local name, number, ends = pair.young, pair.number, pair.ends
      local is_new = pair.old_ends <= gone
      if is_new then
        name, number = pair.old, number + 1
        if pair.old_is_there then call('UNLINK', name) end
      end
      -- never before the older one: what was overwritten here would come back from there
      local lives_on = is_new or pair.last > ends
      if pair.last > ends then ends = pair.last end
      local written = pair.written
      if lives_on then
        written[#written + 1] = ''
        written[#written + 1] = pack('<dd', number, ends)
      end
      call('HSET', name, unpack(written))
      if lives_on then
        local ttl = floor((ends - now) / 1000) + 1
        if ttl < weir.ttl_floor then ttl = weir.ttl_floor end
        call('PEXPIRE', name, ttl)
      end
    end
  end
end
