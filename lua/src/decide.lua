-- Decides a batch of requests, in order. A request is a group of checks: all pass and are charged, or none is.
--
-- KEYS     the distinct keys of all checks, 1 to 2,000, all in one slot of a cluster
-- ARGV[1]  '<BB' which tags there are, the bit 2^tag for each, and which kinds of other entries, 1 for refunds and 2
--          for coalesced requests; then the distinct limits, packed one after another: tag '<B', then what that
--          algorithm's read_limit reads
-- ARGV[2]  the groups and other entries, packed one after another: '<I2' number of checks (1 or more), then for each
--          check '<I2I2dI4': place in KEYS, place of the limit (both from 1), and the cost as a whole number and a
--          numerator in the algorithm's own unit. When a group has several checks on one key, the cost of each is the
--          sum of the costs on that key so far, but a cost of 0, which only reads, stays 0.
--          Or '<I2' 0 for another entry, '<B' its kind, then what it is: 1 a refund (refund.lua), 2 a group asked
--          several times in a row (coalesced.lua)
-- ARGV[3]  in a test: see clock.lua
-- reply    '<d' now (µs since the Unix epoch); then for each check, in order, what its algorithm's answer packs: '<B'
--          the flag, and numbers of the state after the group. The flag is 0 when the group was refused, else 1 + 2·g,
--          where g is the generation of what was charged. All else (remaining, reset, wait, receipt) the caller derives
--          from these and the limit. For another entry what its file tells
--
-- Times are µs, and every number is whole and below 2^53. All writes come after all decisions, each key at most
-- once; the first write is one that Redis refuses when it is out of memory, so nothing is half written.
--
-- An algorithm has, for a state that is two or three numbers x, y, w and its generation g:
--   reads                                        1, or 0 when even a read is refused
--   read_limit(packed, position, tag)            a limit, and the position after it
--   view(k, limit)                               x, y, whether that must be written even by a refusal, w, g: what key k
--                                                holds under the limit, now
--   charge(limit, x, y, whole, numerator, w, k)  whether it passes, and the charged x, y, w; a cost of 0 is not charged
--   keep(k, limit, x, y, w, g)                   puts a state in its place
--   answer(limit, flag, x, y, w, refusal, k)     the reply; `refusal` is the w that charge told when it refused

local unpack_struct = struct.unpack
local algorithms = weir.algorithms

local limits, count, position = {}, 0, 3
weir.limits = limits
local packed_limits = ARGV[1]
while position <= #packed_limits do
  local tag
  tag, position = unpack_struct('<B', packed_limits, position)
  count = count + 1
  limits[count], position = algorithms[tag].read_limit(packed_limits, position, tag)
end

local packed, length = ARGV[2], #ARGV[2]
local reply, replies = { struct.pack('<d', weir.now) }, 1
position = 1

local function decide_group(size)
  local checks, admitted = {}, 1
  -- every check is tried on what its key held before the group
  for i = 1, size do
    local check = {}
    local whole, numerator
    check.k, check.l, whole, numerator, position = unpack_struct('<I2I2dI4', packed, position)
    local limit = limits[check.l]
    local algorithm = limit.algorithm
    local passes
    check.x, check.y, check.repair, check.w, check.g = algorithm.view(check.k, limit)
    check.costs = whole > 0 or numerator > 0
    if check.costs then
      passes, check.next_x, check.next_y, check.next_w =
        algorithm.charge(limit, check.x, check.y, whole, numerator, check.w, check.k)
    else
      passes = algorithm.reads == 1
    end
    if not passes then admitted = 0 end
    checks[i] = check
  end
  for i = 1, size do
    local check = checks[i]
    local limit = limits[check.l]
    if check.costs then
      if admitted == 1 then
        limit.algorithm.keep(check.k, limit, check.next_x, check.next_y, check.next_w, check.g)
      elseif check.repair then
        limit.algorithm.keep(check.k, limit, check.x, check.y, check.w, check.g)
      end
    end
  end
  for i = 1, size do
    local check = checks[i]
    local limit = limits[check.l]
    local answer
    if admitted == 1 then
      -- another check of the group may have charged the same key
      local x, y, _, w, g = limit.algorithm.view(check.k, limit)
      answer = limit.algorithm.answer(limit, 1 + 2 * g, x, y, w, nil, check.k)
    else
      answer = limit.algorithm.answer(limit, 0, check.x, check.y, check.w, check.next_w, check.k)
    end
    replies = replies + 1
    reply[replies] = answer
  end
end

while position <= length do
  local size
  size, position = unpack_struct('<I2', packed, position)
  if size > 1 then
    decide_group(size)
  elseif size == 0 then
    local kind
    kind, position = unpack_struct('<B', packed, position)
    replies = replies + 1
    reply[replies], position = weir.entries[kind](packed, position)
  else
    -- one check alone, which nearly all requests are
    local k, l, whole, numerator
    k, l, whole, numerator, position = unpack_struct('<I2I2dI4', packed, position)
    local limit = limits[l]
    local algorithm = limit.algorithm
    local x, y, repair, w, g = algorithm.view(k, limit)
    replies = replies + 1
    if whole == 0 and numerator == 0 then
      reply[replies] = algorithm.answer(limit, algorithm.reads, x, y, w, nil, k)
    else
      local passes, next_x, next_y, next_w = algorithm.charge(limit, x, y, whole, numerator, w, k)
      if passes then
        algorithm.keep(k, limit, next_x, next_y, next_w, g)
        reply[replies] = algorithm.answer(limit, 1 + 2 * g, next_x, next_y, next_w, nil, k)
      else
        if repair then
          algorithm.keep(k, limit, x, y, w, g)
        end
        reply[replies] = algorithm.answer(limit, 0, x, y, w, next_w, k)
      end
    end
  end
end

weir.write_states()
return table.concat(reply)
