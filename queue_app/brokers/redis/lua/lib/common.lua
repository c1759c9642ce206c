-- The queue, the time, and the keys of one task. Every script takes these first.
local queue           = KEYS[1]
local given_now       = ARGV[1]
local task_prefix     = ARGV[2]
local finished_prefix = ARGV[3]
local result_prefix   = ARGV[4]

-- Production passes no time: the store's clock decides. Only a testing broker passes one.
local function store_time()
  local time = redis.call('TIME')
  return tonumber(time[1]) + tonumber(time[2]) / 1000000
end

local now = tonumber(given_now) or store_time()

-- Lua's own number-to-text keeps 14 digits; a time needs 16.
local function seconds_text(seconds)
  return seconds and string.format('%.6f', seconds)
end

local function task_key(id) return task_prefix .. id end
local function finished_key(id) return finished_prefix .. id end
local function result_key(id) return result_prefix .. id end

-- A variadic call takes at most this many arguments from unpack: Lua's stack ends near 8,000.
local SLICE = 1000

local function in_slices(list, call)
  for first = 1, #list, SLICE do
    call(unpack(list, first, math.min(first + SLICE - 1, #list)))
  end
end

local function lowest_score(zset)
  local first = redis.call('ZRANGE', zset, 0, 0, 'WITHSCORES')
  return first[2] or false
end
