-- Coalesced requests: one group asked n times in a row, decided at once as if it had been asked one after another. At
-- one instant who comes after a refusal is refused too, so the first k are admitted, and k is found in a few tries.
-- In Rust: Entry::Coalesced in reply.rs makes n answers of one.
--
-- Entry   packed '<I2I2': n, 2 or more; number of checks, 1 or more; then the checks as those of a group (decide.lua),
--         each on a key of its own and none under N = 0
-- Reply   '<I2': k; then, where k is more than 0, what the k-th of the groups would be answered, and, where k is less
--         than n, what those after it would be

local COALESCED = 2
local floor, pack, unpack_struct = math.floor, struct.pack, struct.unpack

-- The cost m times. A product that reaches 2^53 is rounded, and still more than any limit has room for.
local function times(limit, m, whole, numerator)
  if numerator == 0 then
    return whole * m, 0
  end
  local product, requests = numerator * m, limit.requests
  local rest = product % requests
  return whole * m + (product - rest) / requests, rest
end

-- whether m of them pass, one after another
local function pass(check, m)
  local limit, x, y, w = check.limit, check.x, check.y, check.w
  local charge, whole, numerator = limit.algorithm.charge, check.whole, check.numerator
  if limit.latest then
    -- in a queue the last one must be able to wait for those before it
    local before, part = times(limit, m - 1, whole, numerator)
    local passes
    passes, x, y = charge(limit, x, y, before, part, w)
    return passes and (charge(limit, x, y, whole, numerator, w))
  end
  whole, numerator = times(limit, m, whole, numerator)
  return (charge(limit, x, y, whole, numerator, w, check.k))
end

-- how many of n pass, one after another
local function most(check, n)
  if n == 0 or pass(check, n) then
    return n
  elseif n == 1 or not pass(check, 1) then
    return 0
  end
  local low, high = 1, n
  while high - low > 1 do
    local middle = floor((low + high) / 2)
    if pass(check, middle) then
      low = middle
    else
      high = middle
    end
  end
  return low
end

weir.entries[COALESCED] = function(packed, position)
  local n, size
  n, size, position = unpack_struct('<I2I2', packed, position)
  local checks, admitted = {}, n
  for i = 1, size do
    local check = {}
    local l
    check.k, l, check.whole, check.numerator, position = unpack_struct('<I2I2dI4', packed, position)
    local limit = weir.limits[l]
    check.limit = limit
    check.x, check.y, check.repair, check.w, check.g = limit.algorithm.view(check.k, limit)
    check.costs = check.whole > 0 or check.numerator > 0
    if check.costs then admitted = most(check, admitted) end
    checks[i] = check
  end
  for i = 1, size do
    local check = checks[i]
    local limit = check.limit
    local algorithm = limit.algorithm
    if check.costs and admitted > 0 then
      local whole, numerator = times(limit, admitted, check.whole, check.numerator)
      local _
      _, check.x, check.y, check.w = algorithm.charge(limit, check.x, check.y, whole, numerator, check.w, check.k)
      algorithm.keep(check.k, limit, check.x, check.y, check.w, check.g)
    elseif check.costs and check.repair then
      algorithm.keep(check.k, limit, check.x, check.y, check.w, check.g)
    end
  end
  local reply = { pack('<I2', admitted) }
  if admitted > 0 then
    for i = 1, size do
      local check = checks[i]
      local limit = check.limit
      reply[i + 1] = limit.algorithm.answer(limit, 1 + 2 * check.g, check.x, check.y, check.w, nil, check.k)
    end
  end
  if admitted < n then
    for i = 1, size do
      local check = checks[i]
      local limit = check.limit
      local algorithm, x, y, w = limit.algorithm, check.x, check.y, check.w
      local _, refusal
      if check.costs then
        _, _, _, refusal = algorithm.charge(limit, x, y, check.whole, check.numerator, w, check.k)
      end
      reply[#reply + 1] = algorithm.answer(limit, 0, x, y, w, refusal, check.k)
    end
  end
  return table.concat(reply), position
end
