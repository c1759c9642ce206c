-- purge: takes what waits out of its structures in one step; purge_slice then drops the tasks.
--
-- KEYS
--   1 queue        base name of the queue's structures
--   2 paused_all   present: every queue is paused
-- ARGV
--   1 now, 2 task_prefix, 3 finished_prefix, 4 result_prefix
--   5 record       a name that no other purge has
--   then           from 6: any of "ready", "scheduled", "retrying"
-- RETURNS
--   "done"
-- include: common
-- include: tombstones
-- include: ready

local record    = ARGV[5]
local scheduled = queue .. ':scheduled'
local retrying  = queue .. ':retrying'
local purges    = queue .. ':purges'
local base      = queue .. ':purge:' .. record

local function set_aside(key, name)
  if redis.call('EXISTS', key) == 1 then redis.call('RENAME', key, base .. name) end
end

local take = {}

function take.ready()
  set_aside(immediate, ':immediate')
  set_aside(tombstones, ':tombstones')
  set_aside(above, ':above')
  set_aside(below, ':below')
end

-- The retrying ones stand here too. Where they are not meant, purge_slice puts them back: they stay in `retrying`.
function take.scheduled() set_aside(scheduled, ':scheduled') end

-- They stay in `scheduled` until purge_slice comes to them.
function take.retrying() set_aside(retrying, ':retrying') end

redis.call('SADD', purges, record)
for index = 6, #ARGV do take[ARGV[index]]() end
return 'done'
