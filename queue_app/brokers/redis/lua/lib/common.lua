-- The queue, the time, and the keys of one task. Every script of a queue takes these first.
local queue           = KEYS[1]
local given_now       = ARGV[1]
local task_prefix     = ARGV[2]
local finished_prefix = ARGV[3]
local result_prefix   = ARGV[4]

-- Production passes no time: the store's clock decides. Only a testing broker passes one.
local now = tonumber(given_now)
if not now then
  local time = redis.call('TIME')
  now = tonumber(time[1]) + tonumber(time[2]) / 1000000
end

-- Lua's own number-to-text keeps 14 digits; a time needs 16.
local now_text = string.format('%.6f', now)

-- A variadic call takes at most this many arguments from unpack: Lua's stack ends near 8,000.
local SLICE = 1000

local function in_slices(list, call)
  for first = 1, #list, SLICE do
    call(unpack(list, first, math.min(first + SLICE - 1, #list)))
  end
end

local function lowest_score(zset)
  return redis.call('ZRANGE', zset, 0, 0, 'WITHSCORES')[2] or false
end
