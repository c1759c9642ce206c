-- promote: moves tasks whose time has come to the line, oldest due first.
--
-- KEYS
--   1 queue        base name of the queue's structures
--   2 paused_all   present: every queue is paused
-- ARGV
--   1 now, 2 task_prefix, 3 finished_prefix, 4 result_prefix
--   5 limit        how many at most
-- RETURNS
--   how many, whether more are due, when the next one is
-- include: common
-- include: ring
-- include: tombstones
-- include: ready
-- include: waiting

local limit = tonumber(ARGV[5])

local due = redis.call('ZRANGEBYSCORE', scheduled, '-inf', now, 'LIMIT', 0, limit)
if #due > 0 then
  push_tail(due, priorities(due))
  in_slices(due, function(...)
    redis.call('ZREM', scheduled, ...)
    redis.call('ZREM', retrying, ...)
  end)
  ring()
end
local next_due = lowest_score(scheduled)
return {#due, next_due and tonumber(next_due) <= now and 1 or 0, next_due}
