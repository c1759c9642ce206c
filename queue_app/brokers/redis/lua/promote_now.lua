-- promote_now: puts a task that waits for its time in line before it.
--
-- KEYS
--   1 queue        base name of the queue's structures
--   2 paused_all   present: every queue is paused
-- ARGV
--   1 now, 2 task_prefix, 3 finished_prefix, 4 result_prefix
--   5 id
-- RETURNS
--   "done", "gone", "purging", or "wrong" for a state from which this cannot be done
-- include: common
-- include: ring
-- include: tombstones
-- include: ready
-- include: waiting
-- include: finished

local id     = ARGV[5]
local purges = queue .. ':purges'

if not is_known(id) then return 'gone' end
if not unschedule(id) then return redis.call('SCARD', purges) > 0 and 'purging' or 'wrong' end
push_tail({id}, priorities({id}))
ring()
return 'done'
