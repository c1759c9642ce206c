-- takeover: moves one entry of a foreign dead list, which holds whole bodies, into our own dead tasks.
--
-- KEYS
--   1 queue        base name of the queue's structures
--   2 paused_all   present: every queue is paused
-- ARGV
--   1 now, 2 task_prefix, 3 finished_prefix, 4 result_prefix
--   5 entry        what stands at the end of the list
--   6 id           the task in it
--   7 keep_dead    seconds to keep it, '' for ever
-- RETURNS
--   1 when it was moved, 0 when another entry stands there now
-- include: common
-- include: finished

local entry     = ARGV[5]
local id        = ARGV[6]
local keep_dead = ARGV[7]
local foreign   = queue .. ':dead'

if redis.call('LINDEX', foreign, -1) ~= entry then return 0 end
if not is_known(id) then
  forget(id)
  redis.call('SET', task_prefix .. id, entry)
  keep(id, dead, keep_dead)
end
redis.call('RPOP', foreign)
return 1
