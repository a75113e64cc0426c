-- `luacheck lua/src` reads each part of a script alone: what parts share is in the table `weir` (see script.rs).
std = "lua51"
globals = { "weir" }
read_globals = { "redis", "KEYS", "ARGV", "struct" }
max_line_length = 120
