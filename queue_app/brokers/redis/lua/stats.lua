-- stats: the queue in numbers, of one moment. Changes nothing.
--
-- KEYS
--   1 queue        base name of the queue's structures
--   2 paused_all   present: every queue is paused
-- ARGV
--   1 now, 2 task_prefix, 3 finished_prefix, 4 result_prefix
-- RETURNS
--   ready, running, scheduled, retrying, succeeded, dead, cancelled, paused by name, paused by all, {event, total, …}
-- include: common
-- include: tombstones
-- include: ready
-- include: finished
-- include: state

local paused_all = KEYS[2]
local paused     = queue .. ':paused'
local totals     = queue .. ':totals'

local function kept(state)
  return redis.call('ZCARD', state) - redis.call('ZCOUNT', state .. UNTIL, '-inf', now)
end

local again = redis.call('ZCARD', retrying)
return {
  ready_left() - tonumber(redis.call('HGET', tombstones, ALL) or 0),
  redis.call('ZCARD', inflight),
  math.max(redis.call('ZCARD', scheduled) - again, 0),
  again,
  kept(succeeded),
  kept(dead),
  kept(cancelled),
  redis.call('EXISTS', paused),
  redis.call('EXISTS', paused_all),
  redis.call('HGETALL', totals),
}
