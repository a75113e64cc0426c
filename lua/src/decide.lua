-- Decides a batch of requests, in order. A request is a group of checks: all pass and are charged, or none is.
--
-- KEYS     the distinct keys of all checks, 1 to 2,000, all in one slot of a cluster
-- ARGV[1]  the distinct limits, packed one after another: tag '<B', then what that algorithm's read_limit reads
-- ARGV[2]  the groups, packed one after another: '<I2' number of checks (1 or more; 0 is kept for other entries),
--          then for each check '<I2I2dI4': place in KEYS, place of the limit (both from 1), and the cost as a whole
--          number and a numerator in the algorithm's own unit. When a group has several checks on one key, the cost
--          of each is the sum of the costs on that key so far, but a cost of 0, which only reads, stays 0
-- ARGV[3]  in a test: see clock.lua
-- reply    for each check '<BdI4': 1 when its group was admitted, else 0; x minus now (µs); y. x and y are the
--          state's (see state.lua) after the group. All else (remaining, reset, wait) the caller derives from these
--          and the limit
--
-- Times are µs, and every number is whole and below 2^53. All writes come after all decisions, each key at most
-- once; the first write is one that Redis refuses when it is out of memory, so nothing is half written.

local unpack_struct, pack = struct.unpack, struct.pack
local algorithms, hold = weir.algorithms, weir.hold

weir.read_clock(ARGV[3])
weir.load_states()

local now = weir.now

local limits, count, position = {}, 0, 1
local packed_limits = ARGV[1]
while position <= #packed_limits do
  local tag
  tag, position = unpack_struct('<B', packed_limits, position)
  count = count + 1
  limits[count], position = algorithms[tag].read_limit(packed_limits, position)
end

local packed, length = ARGV[2], #ARGV[2]
local reply, replies = {}, 0
position = 1

-- one check alone, which nearly all requests are
local function decide_one()
  local k, l, whole, numerator
  k, l, whole, numerator, position = unpack_struct('<I2I2dI4', packed, position)
  local limit = limits[l]
  local algorithm = limit.algorithm
  local x, y, repair = algorithm.view(k, limit)
  local passes, next_x, next_y = algorithm.charge(limit, x, y, whole, numerator)
  local costs = whole > 0 or numerator > 0
  if passes then
    if costs then
      hold(k, algorithm.tag, next_x, next_y, limit.unit)
    end
    x, y = next_x, next_y
  elseif repair and costs then
    hold(k, algorithm.tag, x, y, limit.unit)
  end
  replies = replies + 1
  reply[replies] = pack('<BdI4', passes and 1 or 0, x - now, y)
end

local function decide_group(size)
  local keys, rules, reads, xs, ys, repairs, next_xs, next_ys = {}, {}, {}, {}, {}, {}, {}, {}
  local admitted = true
  -- every check is tried on what its key held before the group
  for i = 1, size do
    local k, l, whole, numerator
    k, l, whole, numerator, position = unpack_struct('<I2I2dI4', packed, position)
    local limit = limits[l]
    local x, y, repair = limit.algorithm.view(k, limit)
    local passes, next_x, next_y = limit.algorithm.charge(limit, x, y, whole, numerator)
    admitted = admitted and passes
    keys[i], rules[i], reads[i] = k, limit, whole == 0 and numerator == 0
    xs[i], ys[i], repairs[i], next_xs[i], next_ys[i] = x, y, repair, next_x, next_y
  end
  for i = 1, size do
    local limit = rules[i]
    if not reads[i] then
      if admitted then
        hold(keys[i], limit.algorithm.tag, next_xs[i], next_ys[i], limit.unit)
      elseif repairs[i] then
        hold(keys[i], limit.algorithm.tag, xs[i], ys[i], limit.unit)
      end
    end
  end
  for i = 1, size do
    local x, y = xs[i], ys[i]
    if admitted then
      -- another check of the group may have charged the same key
      x, y = rules[i].algorithm.view(keys[i], rules[i])
    end
    replies = replies + 1
    reply[replies] = pack('<BdI4', admitted and 1 or 0, x - now, y)
  end
end

while position <= length do
  local size
  size, position = unpack_struct('<I2', packed, position)
  if size == 1 then
    decide_one()
  else
    decide_group(size)
  end
end

weir.write_states()
return table.concat(reply)
