-- The sliding log: the instant of every unit of the last P, so that no length of P ever has more than N. A ring of
-- slots in one string, of which a decision reads and writes only parts. Model: sliding_log.rs.
--
-- Limit   packed '<dI4': P (µs), N
-- State   a header packed '<BddddI4I4B', 42 bytes: tag, s = units charged, tail = units that have passed, instant of
--         the newest unit, instant of unit `tail` (µs since the Unix epoch), M = slots of the whole ring (the largest
--         N so far), slots there are, g = generation (see state.lua; the next one when units too far ahead were cut);
--         then the slots, packed '<d': unit k is in slot k mod M. The ring is laid anew, its units numbered from 0,
--         when N is more than M or more slots are needed than there are; some 1/4 more are laid than are used, up to
--         M. Whole strings are set then: SETRANGE past the end would take half as much again
-- Check   cost, in units
-- Reply   '<BdI4d': flag, µs until the newest live unit passes, live units, µs until what was refused has room;
--         of an admitted one, until more units are left
-- Uses weir.now (µs), weir.values, weir.tags. In a check x = s, y = live units, w = µs until the newest passes.

local TAG = 5
local HEADER, LENGTH = '<BddddI4I4B', 42
local MOST = 100000
local call, pack, unpack_struct, floor, rep = redis.call, struct.pack, struct.unpack, math.floor, string.rep
local now, hold, tags, values = weir.now, weir.hold, weir.tags, weir.values
-- bytes that are read of a value to begin with: all of a short one, and more
local BEGINNING = 64

local log = { reads = 1 }

-- by place in KEYS: what is in the string, and what is not yet. Units from `from` on are charged in this call, all at
-- the instant `newest`; `patches` are units before it that have another instant now: first, one after the last, instant
local rings = {}

local function whole(number, least, most)
  return number >= least and number <= most and number % 1 == 0
end

-- What is under key k: false when nothing is, or something that is not a string. Of a long value the beginning.
function weir.value(k)
  local value = values[k]
  if value == nil then
    value = redis.pcall('GETRANGE', KEYS[k], 0, BEGINNING - 1)
    if type(value) ~= 'string' then value = false end
    values[k] = value
  end
  return value
end

local function load_ring(k)
  local value = weir.value(k)
  if not value or #value < LENGTH then
    return false
  end
  local tag, s, tail, newest, oldest, m, slots, g = unpack_struct(HEADER, value)
  if tag ~= TAG or not (whole(s, 0, 2 ^ 53) and whole(tail, 0, s) and whole(newest, 0, 2 ^ 53)
    and whole(oldest, 0, newest) and whole(m, 1, MOST) and whole(slots, 1, m) and s - tail <= m
    and (slots == m or s <= slots)) then
    return false
  end
  return {
    k = k, s = s, tail = tail, from = s, newest = newest, oldest = oldest, m = m, slots = slots, wanted = m, g = g,
  }
end

local function ring_of(k)
  local tag = tags[k]
  if tag == nil and rings[k] == nil then
    rings[k] = load_ring(k)
  end
  return (tag == nil or tag == TAG) and rings[k] or nil
end

-- the packed units a to b - 1, all in the string
local function units(ring, a, b)
  local first, count = a % ring.m, b - a
  local before_wrap = ring.m - first
  if before_wrap > count then before_wrap = count end
  local key, start = KEYS[ring.k], LENGTH + first * 8
  local bytes = call('GETRANGE', key, start, start + before_wrap * 8 - 1)
  if before_wrap < count then
    bytes = bytes .. call('GETRANGE', key, LENGTH, LENGTH + (count - before_wrap) * 8 - 1)
  end
  if #bytes < count * 8 then
    -- someone else cut the string
    bytes = rep(pack('<d', ring.newest), count)
  end
  if ring.patches then
    for _, patch in ipairs(ring.patches) do
      local from, to = patch[1], patch[2]
      if from < a then from = a end
      if to > b then to = b end
      if from < to then
        bytes = bytes:sub(1, (from - a) * 8) .. rep(pack('<d', patch[3]), to - from) .. bytes:sub((to - a) * 8 + 1)
      end
    end
  end
  return bytes
end

-- a number that can be an instant of the ring
local function sound(ring, unit)
  return whole(unit, 0, ring.newest) and unit or ring.newest
end

local function unit_at(ring, u)
  if u >= ring.from then
    return ring.newest
  end
  return sound(ring, (unpack_struct('<d', units(ring, u, u + 1))))
end

-- the first unit after `edge`, and its instant, when unit `low` is not after it and some unit is
local function first_after(ring, low, edge)
  local high, instant = ring.from, ring.newest
  if high == ring.s then high = high - 1 end
  -- mostly one of the next few
  local few = high - low - 1
  if few > 8 then few = 8 end
  if few > 0 then
    local bytes = units(ring, low + 1, low + 1 + few)
    for i = 1, few do
      local unit = sound(ring, (unpack_struct('<d', bytes, i * 8 - 7)))
      if unit > edge then
        return low + i, unit
      end
    end
    low = low + few
  end
  while low + 1 < high do
    local middle = floor((low + high) / 2)
    local unit = unit_at(ring, middle)
    if unit > edge then
      high, instant = middle, unit
    else
      low = middle
    end
  end
  return high, instant
end

-- The instant that counts as now, and whether units later than it are taken as it: after a clock stepped back, the
-- newest instant goes on counting as now, unless it is more than one period ahead.
local function instant_of(ring, period)
  local newest = ring.newest
  if newest <= now then
    return now, false
  elseif newest - now > period then
    return now, true
  end
  return newest, false
end

function log.read_limit(argument, position)
  local period, requests, after = unpack_struct('<dI4', argument, position)
  return { algorithm = log, period = period, requests = requests }, after
end

-- The state under this limit, now: x, y, whether that must be written even by a refusal, w, g.
function log.view(k, limit)
  local ring = ring_of(k)
  if not ring then
    return 0, 0, false, 0, 0
  elseif ring.s == 0 then
    return 0, 0, false, 0, ring.g
  end
  local period, s, tail, newest, g = limit.period, ring.s, ring.tail, ring.newest, ring.g
  local instant, cut = instant_of(ring, period)
  local edge = instant - period
  if newest <= edge then
    return s, 0, false, 0, g
  end
  if ring.oldest <= edge then
    tail, ring.next_oldest = first_after(ring, tail, edge)
    ring.next_tail = tail
  end
  if cut then
    newest, g = now, (g + 1) % 64
  end
  return s, s - tail, cut, newest + period - now, g
end

-- The state x, y with the cost charged: whether it passes, x, y, w. When it does not, w = µs until it has room.
function log.charge(limit, x, y, cost, _, _, k)
  local period, requests, live = limit.period, limit.requests, y + cost
  local ring = ring_of(k)
  local instant, cut = now, false
  if ring then
    instant, cut = instant_of(ring, period)
  end
  if live <= requests then
    return true, x + cost, live, instant + period - now
  elseif cost > requests then
    return false, x, y, 0
  end
  local unit = unit_at(ring, x + cost - 1 - requests)
  if cut and unit > now then unit = now end
  return false, x, y, unit + period - now
end

function log.keep(k, limit, x, y, _, g)
  local ring = ring_of(k)
  if not ring then
    ring = { k = k, s = 0, tail = 0, from = 0, newest = 0, oldest = 0, m = 0, slots = 0, wanted = 0 }
    rings[k] = ring
  end
  ring.g = g
  local instant, cut = instant_of(ring, limit.period)
  if cut then
    -- what is later becomes now
    if ring.oldest > now then
      ring.from, ring.oldest = ring.tail, now
    else
      ring.from = first_after(ring, ring.tail, now)
    end
    ring.newest = now
  end
  local before, tail = ring.s, x - y
  if x > before then
    ring.s, ring.newest = x, instant
  end
  if tail >= before then
    ring.tail, ring.oldest = tail, instant
  elseif tail > ring.tail then
    ring.tail, ring.oldest = tail, tail == ring.next_tail and ring.next_oldest or unit_at(ring, tail)
    if ring.oldest > ring.newest then ring.oldest = ring.newest end
  end
  if limit.requests > ring.wanted then ring.wanted = limit.requests end
  hold(k, TAG, 0, 0, 0, ring.newest + limit.period, nil, g)
end

-- µs until one of the live units y of s = x passes, and as many before it as there are more of them than N
local function more_in(limit, x, y, k)
  local ring, period = rings[k], limit.period
  local _, cut = instant_of(ring, period)
  local unit = ring.oldest
  if y > limit.requests then
    unit = unit_at(ring, x - limit.requests)
  elseif x - y ~= ring.tail then
    unit = ring.next_oldest
  end
  if cut and unit > now then unit = now end
  return unit + period - now
end

function log.answer(limit, flag, x, y, w, refusal, k)
  if flag > 0 then
    refusal = y > 0 and more_in(limit, x, y, k) or 0
  end
  return pack('<BdI4d', flag, w, y, refusal or 0)
end

local function header(ring)
  return pack(HEADER, TAG, ring.s, ring.tail, ring.newest, ring.oldest, ring.m, ring.slots, ring.g)
end

if weir.refunds then
  -- Units of one instant are as good as each other. The newest and the oldest go; those between become as old as the
  -- one before them, for no slot is ever moved.
  function log.refund(k, _, g, _, instant, period, _, units_taken)
    local ring = ring_of(k)
    if not ring or ring.g ~= g or ring.s == ring.tail or instant + period <= now
      or instant > ring.newest or instant < ring.oldest then
      return false
    end
    local tail, first = ring.tail, ring.tail
    if ring.oldest < instant then
      local found
      first, found = first_after(ring, tail, instant - 1)
      if found ~= instant then
        return false
      end
    end
    local s, after = ring.s, ring.s
    if ring.newest > instant then after = first_after(ring, first, instant) end
    local given = after - first
    if given > units_taken then given = units_taken end
    if after == s then
      s = s - given
      ring.s = s
      if ring.from > s then ring.from = s end
      if s == tail then
        ring.newest, ring.oldest = 0, 0
      elseif s == first then
        ring.newest = unit_at(ring, s - 1)
      end
    elseif first == tail then
      ring.tail = first + given
      ring.oldest = unit_at(ring, ring.tail)
    else
      ring.patches = ring.patches or {}
      table.insert(ring.patches, { first, first + given, unit_at(ring, first - 1) })
    end
    weir.hold_on(k, TAG, 0, 0, 0, nil, g)
    return true
  end
end

-- writes slots a to b - 1 of the ring, all of one instant
local function write_units(ring, a, b, instant)
  local key, one, m = KEYS[ring.k], pack('<d', instant), ring.m
  local first, count = a % m, b - a
  local before_wrap = m - first
  if before_wrap >= count then
    call('SETRANGE', key, LENGTH + first * 8, rep(one, count))
  else
    call('SETRANGE', key, LENGTH + first * 8, rep(one, before_wrap))
    call('SETRANGE', key, LENGTH, rep(one, count - before_wrap))
  end
end

-- writes what changed, with its time to live (ms), or false for the one that it has
weir.writers[TAG] = function(k, ttl)
  local ring, key = rings[k], KEYS[k]
  local s, tail, from, m = ring.s, ring.tail, ring.from, ring.m
  if from < tail then from = tail end
  if ring.wanted > m or (s > ring.slots and ring.slots < m) then
    local kept = from > tail and units(ring, tail, from) or ''
    local live = s - tail
    local slots = floor(live * 5 / 4) + 4
    if slots > ring.wanted then slots = ring.wanted end
    ring.s, ring.tail, ring.m, ring.slots = live, 0, ring.wanted, slots
    local added = rep(pack('<d', ring.newest), s - from)
    call('SET', key, header(ring) .. kept .. added .. rep('\0', (slots - live) * 8), 'PX', ttl)
    return
  end
  if ring.patches then
    for _, patch in ipairs(ring.patches) do
      write_units(ring, patch[1], patch[2], patch[3])
    end
  end
  if from < s then write_units(ring, from, s, ring.newest) end
  call('SETRANGE', key, 0, header(ring))
  if ttl then call('PEXPIRE', key, ttl) end
end

weir.algorithms[TAG] = log
