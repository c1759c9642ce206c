-- Redis and Valkey run Lua 5.1 and give a script these names. `./forge check` looks at whole scripts, their shared steps
-- spliced in: each step names what it uses, so names are unused (211) or come twice (411, 421, 431, 432).
std = "lua51"
read_globals = { "redis", "server", "KEYS", "ARGV", "cjson", "cmsgpack", "struct", "bit" }
ignore = { "211", "411", "421", "431", "432" }
max_line_length = 120
