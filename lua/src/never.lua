-- The limit of N = 0, whatever its algorithm: refuses everything, reads too, and touches no key. It has no rate, so no
-- other rule can hold it. Model: the same case in model.rs.
--
-- Limit   nothing more than its tag
-- State   none

local never = { tag = 0 }

function never.read_limit(_, position)
  return { algorithm = never, unit = 1 }, position
end

function never.view()
  return weir.now, 0, false
end

function never.charge()
  return false, weir.now, 0
end

weir.algorithms = { [0] = never }
