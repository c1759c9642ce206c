-- purge_slice: drops some of the tasks that a purge has set aside.
--
-- KEYS
--   1 queue        base name of the queue's structures
--   2 paused_all   present: every queue is paused
-- ARGV
--   1 now, 2 task_prefix, 3 finished_prefix, 4 result_prefix
--   5 record       the purge's name
--   6 limit        how many at most
-- RETURNS
--   1 while there are more, else 0
-- include: common
-- include: count
-- include: tombstones
-- include: ready

local record    = ARGV[5]
local limit     = tonumber(ARGV[6])
local scheduled = queue .. ':scheduled'
local retrying  = queue .. ':retrying'
local settled   = queue .. ':settled'
local purges    = queue .. ':purges'
local counts    = queue .. ':purges:count'
local base      = queue .. ':purge:' .. record

local aside = {
  immediate = base .. ':immediate', tombstones = base .. ':tombstones',
  above = base .. ':above', below = base .. ':below',
  scheduled = base .. ':scheduled', retrying = base .. ':retrying',
}
local looked, purged = 0, 0

local function drop(id)
  redis.call('HDEL', priority_of, id)
  redis.call('HDEL', settled, id)
  purged = purged + redis.call('DEL', task_prefix .. id)
end

local function is_stale(id)
  local stale = tonumber(redis.call('HGET', aside.tombstones, id))
  if not stale or stale == 0 then return false end
  redis.call('HINCRBY', aside.tombstones, id, -1)
  return true
end

local function slice_list()
  local ids = redis.call('RPOP', aside.immediate, limit - looked) or {}
  for _, id in ipairs(ids) do
    if not is_stale(id) then drop(id) end
  end
  looked = looked + #ids
end

local function slice_zset(zset, handle)
  if looked >= limit then return end
  local popped = redis.call('ZPOPMIN', zset, limit - looked)
  for index = 1, #popped, 2 do handle(popped[index], popped[index + 1]) end
  looked = looked + #popped / 2
end

-- Came with the scheduled ones but was not meant: its due time goes back.
local function drop_unless_retrying(id, due_at)
  if redis.call('ZSCORE', retrying, id) == due_at then
    redis.call('ZADD', scheduled, due_at, id)
  else
    drop(id)
  end
end

-- Not where it was set aside: it was promoted meanwhile and runs its course.
local function drop_if_waiting(id, due_at)
  if redis.call('ZSCORE', scheduled, id) == due_at then
    redis.call('ZREM', scheduled, id)
    drop(id)
  end
end

slice_list()
slice_zset(aside.above, drop)
slice_zset(aside.below, drop)
slice_zset(aside.scheduled, drop_unless_retrying)
slice_zset(aside.retrying, drop_if_waiting)

count('purged', purged)
redis.call('HINCRBY', counts, record, purged)
if looked >= limit then return 1 end
redis.call('DEL', aside.tombstones)
redis.call('SREM', purges, record)
return 0
