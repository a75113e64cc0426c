-- The limit of N = 0, whatever its algorithm: refuses everything, reads too, and touches no key. It has no rate, so no
-- other rule can hold it. Model: the same case in model.rs.
--
-- Limit   nothing more than its tag
-- State   none
-- Reply   '<BdI4': 0, 0, 0

local never = { reads = 0 }

function never.read_limit(_, position)
  return { algorithm = never }, position
end

function never.view()
  return 0, 0, false
end

function never.charge()
  return false
end

function never.answer()
  return struct.pack('<BdI4', 0, 0, 0)
end

weir.algorithms[0] = never
