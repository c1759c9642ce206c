-- cancel: ends a waiting task at once, and asks a running one to stop. With "delete", what is cancelled is then gone.
--
-- KEYS
--   1 queue        base name of the queue's structures
--   2 paused_all   present: every queue is paused
-- ARGV
--   1 now, 2 task_prefix, 3 finished_prefix, 4 result_prefix
--   5 id
--   6 mark         "cancel" or "delete"
--   7 keep_cancelled  seconds
-- RETURNS
--   "done", "requested", "gone", "purging", or the finished state that the task is in
-- include: common
-- include: count
-- include: tombstones
-- include: ready
-- include: finished

local id             = ARGV[5]
local mark           = ARGV[6]
local keep_cancelled = ARGV[7]
local leases         = queue .. ':leases'
local cancels        = queue .. ':cancels'
local scheduled      = queue .. ':scheduled'
local retrying       = queue .. ':retrying'
local purges         = queue .. ':purges'

local function ask_its_runner()
  if redis.call('HGET', cancels, id) ~= 'delete' then redis.call('HSET', cancels, id, mark) end
  return 'requested'
end

local function take_out()
  redis.call('ZREM', retrying, id)
  if redis.call('ZREM', scheduled, id) == 0 then pull(id) end
  redis.call('HDEL', priority_of, id)
end

local function cancel_waiting()
  take_out()
  if mark == 'delete' then
    redis.call('DEL', task_prefix .. id)
    redis.call('HDEL', settled, id)
    count('deleted', 1)
  else
    redis.call('RENAME', task_prefix .. id, finished_prefix .. id)
    keep(id, cancelled, keep_cancelled)
    count('cancelled', 1)
  end
  return 'done'
end

local function delete_finished()
  forget(id)
  redis.call('HDEL', priority_of, id)
  count('deleted', 1)
  return 'done'
end

if not is_known(id) then return 'gone' end
if redis.call('HEXISTS', leases, id) == 1 then return ask_its_runner() end
local state = finished_state(id)
if state then
  if mark == 'delete' then return delete_finished() end
  return STATE_NAMES[state]
end
-- A body that was kept and has no record: it stands nowhere, and a tombstone for it would hide another entry.
if redis.call('EXISTS', task_prefix .. id) == 0 then return mark == 'delete' and delete_finished() or 'gone' end
-- While a purge is under way nobody knows whether the task still stands in the line: finish that first.
if redis.call('SCARD', purges) > 0 then return 'purging' end
return cancel_waiting()
