-- sweep: drops finished tasks past retention, and what else of the queue is past its time.
--
-- KEYS
--   1 queue        base name of the queue's structures
--   2 paused_all   present: every queue is paused
-- ARGV
--   1 now, 2 task_prefix, 3 finished_prefix, 4 result_prefix
--   5 limit        how many finished tasks, and how many idempotency keys, at most
--   6 forget_after seconds after which the record of a holder that holds nothing goes
-- RETURNS
--   how many finished tasks, whether more are past their time
-- include: common
-- include: finished
-- include: holding

local limit             = tonumber(ARGV[5])
local forget_after      = tonumber(ARGV[6])
local keys              = queue .. ':keys'
local keys_until        = queue .. ':keys:until'
local closed            = queue .. ':closed'
local cursors           = queue .. ':sequences'
local throughput        = queue .. ':throughput'
local throughput_coarse = queue .. ':throughput_coarse'

-- A key that is past its time but whose task is still known keeps its generation. It waits below every real time.
local LOOKED_AT = 1
local FINE_REACH, COARSE_REACH = 3600, 7 * 86400

local swept = 0

local function sweep_state(state)
  local past = redis.call('ZRANGEBYSCORE', state .. UNTIL, '-inf', now, 'LIMIT', 0, limit - swept)
  for _, id in ipairs(past) do forget(id) end
  swept = swept + #past
end

local function sweep_keys(from, to)
  for _, key in ipairs(redis.call('ZRANGEBYSCORE', keys_until, from, to, 'LIMIT', 0, math.ceil(limit / 2))) do
    local id = string.match(redis.call('HGET', keys, key) or '', '^%S+ (%S+)')
    if id and is_known(id) then
      redis.call('ZADD', keys_until, now / 1e12, key)
    else
      redis.call('ZREM', keys_until, key)
      redis.call('HDEL', keys, key)
    end
  end
end

-- Goes on where the last sweep stopped. A record is kept while a repeated claim could still ask for it.
local function sweep_holders()
  local cursor = redis.call('HGET', cursors, 'holders_seen') or '0'
  local found = redis.call('HSCAN', holders, cursor, 'COUNT', 100)
  redis.call('HSET', cursors, 'holders_seen', found[1])
  for index = 1, #found[2], 2 do
    local _, owned, claimed_at = holding(found[2][index])
    if #owned == 0 and claimed_at < now - forget_after then redis.call('HDEL', holders, found[2][index]) end
  end
end

local function sweep_throughput(hash, reach)
  local past = {}
  for _, field in ipairs(redis.call('HKEYS', hash)) do
    if tonumber(string.match(field, '^%d+')) < now - reach then past[#past + 1] = field end
  end
  in_slices(past, function(...) redis.call('HDEL', hash, ...) end)
end

for _, state in ipairs({succeeded, cancelled, dead}) do sweep_state(state) end
sweep_keys(0, '(' .. LOOKED_AT)
sweep_keys(LOOKED_AT, now)
redis.call('ZREMRANGEBYSCORE', closed, '-inf', now)
if redis.call('EXISTS', holders) == 1 then sweep_holders() end
sweep_throughput(throughput, FINE_REACH)
sweep_throughput(throughput_coarse, COARSE_REACH)
return {swept, swept >= limit and 1 or 0}
