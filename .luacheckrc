-- Redis and Valkey run Lua 5.1 and give a script these names.
std = "lua51"
read_globals = { "redis", "server", "KEYS", "ARGV", "cjson", "cmsgpack", "struct", "bit" }
max_line_length = 120
-- Shared steps are spliced into scripts by the loader: seen alone, they define what nobody uses.
files["queue_app/brokers/redis/lua/lib"] = { allow_defined_top = true, ignore = { "211" } }
