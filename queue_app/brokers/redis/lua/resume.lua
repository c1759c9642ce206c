-- resume: lifts a pause and wakes whoever waits.
--
-- KEYS
--   1 queue        base name of the queue's structures
--   2 paused_all   present: every queue is paused
-- ARGV
--   1 now, 2 task_prefix, 3 finished_prefix, 4 result_prefix
--   5 flag         "queue" or "all"
-- RETURNS
--   "done"
-- include: common
-- include: ring

local flag       = ARGV[5]
local paused_all = KEYS[2]
local paused     = queue .. ':paused'

redis.call('DEL', flag == 'all' and paused_all or paused)
ring()
return 'done'
