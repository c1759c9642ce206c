-- revive: puts a dead or cancelled task back in line, with a body that somebody made from the one it has.
--
-- KEYS
--   1 queue        base name of the queue's structures
--   2 paused_all   present: every queue is paused
-- ARGV
--   1 now, 2 task_prefix, 3 finished_prefix, 4 result_prefix
--   5 id
--   6 old_body     what the new one was made from; another one there means: look again
--   7 new_body
--   8 priority
-- RETURNS
--   "done", "gone", "changed", "purging", or "wrong" for a state from which this cannot be done
-- include: common
-- include: ring
-- include: tombstones
-- include: ready
-- include: finished

local id       = ARGV[5]
local old_body = ARGV[6]
local new_body = ARGV[7]
local priority = tonumber(ARGV[8])
local purges   = queue .. ':purges'

if not is_known(id) then return 'gone' end
local state = finished_state(id)
if state ~= dead and state ~= cancelled then return 'wrong' end
local key = state == dead and task_prefix .. id or finished_prefix .. id
local body = redis.call('GET', key)
if not body then return 'gone' end
if body ~= old_body then return 'changed' end
if redis.call('SCARD', purges) > 0 then return 'purging' end

forget(id)
redis.call('SET', task_prefix .. id, new_body)
push_again(id, priority)
ring()
return 'done'
