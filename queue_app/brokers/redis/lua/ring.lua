-- ring: wakes one idle worker, as a task that becomes ready does.
--
-- KEYS
--   1 queue        base name of the queue's structures
--   2 paused_all   present: every queue is paused
-- ARGV
--   1 now, 2 task_prefix, 3 finished_prefix, 4 result_prefix
-- RETURNS
--   "done"
-- include: common
-- include: ring

ring()
return 'done'
