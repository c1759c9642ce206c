-- announce: records what a worker says of itself, and forgets those that were not heard of for a while.
--
-- KEYS
--   1 workers      hash: name to record
--   2 seen         zset: names by when they were last heard of
-- ARGV
--   1 now, 2 gone_after seconds
--   3 name, 4 record: both empty to forget the silent ones only
-- RETURNS
--   whether the record is the first of this worker, and {name, record, seen} of each that is alive
local workers     = KEYS[1]
local seen        = KEYS[2]
local given_now   = ARGV[1]
local gone_after  = tonumber(ARGV[2])
local name        = ARGV[3]
local record      = ARGV[4]

local function store_time()
  local time = redis.call('TIME')
  return tonumber(time[1]) + tonumber(time[2]) / 1000000
end

local now = tonumber(given_now) or store_time()

for _, gone in ipairs(redis.call('ZRANGEBYSCORE', seen, '-inf', now - gone_after)) do
  redis.call('HDEL', workers, gone)
  redis.call('ZREM', seen, gone)
end
local is_first = 0
if name ~= '' then
  is_first = redis.call('HSET', workers, name, record)
  redis.call('ZADD', seen, now, name)
end
local answers = {}
for _, alive in ipairs(redis.call('ZRANGE', seen, 0, -1)) do
  local said = redis.call('HGET', workers, alive)
  if said then answers[#answers + 1] = {alive, said, redis.call('ZSCORE', seen, alive)} end
end
return {is_first, answers}
