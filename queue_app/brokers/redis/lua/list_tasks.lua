-- list_tasks: a page of the tasks of one state. Changes nothing.
--
-- KEYS
--   1 queue        base name of the queue's structures
--   2 paused_all   present: every queue is paused
-- ARGV
--   1 now, 2 task_prefix, 3 finished_prefix, 4 result_prefix
--   5 wanted       a state
--   6 offset       how many entries of the structure to pass over
--   7 limit        how many entries to look at
-- RETURNS
--   how many entries were looked at, then {id, time, body} each
-- include: common
-- include: tombstones
-- include: ready
-- include: finished
-- include: state

local wanted = ARGV[5]
local offset = tonumber(ARGV[6])
local limit  = tonumber(ARGV[7])

local looked, answers = 0, {}
local stale_seen = {}

local function show(id, at)
  local body = redis.call('GET', task_prefix .. id) or redis.call('GET', finished_prefix .. id)
  if body then answers[#answers + 1] = {id, at, body} end
end

-- The first entries of an id that has tombstones are stale.
local function is_stale(id)
  local stale = tonumber(redis.call('HGET', tombstones, id)) or 0
  stale_seen[id] = (stale_seen[id] or 0) + 1
  return stale_seen[id] <= stale
end

local function each_of_zset(zset, handle, newest_first)
  local size = redis.call('ZCARD', zset)
  if offset >= size then
    offset = offset - size
    return
  end
  local read = newest_first and 'ZREVRANGE' or 'ZRANGE'
  local found = redis.call(read, zset, offset, offset + limit - looked - 1, 'WITHSCORES')
  for index = 1, #found, 2 do handle(found[index], found[index + 1]) end
  looked = looked + #found / 2
  offset = 0
end

local function each_of_list(handle)
  local size = redis.call('LLEN', immediate)
  if offset >= size then
    offset = offset - size
    return
  end
  local found = redis.call('LRANGE', immediate, -(offset + limit - looked), -(offset + 1))
  for index = #found, 1, -1 do handle(found[index]) end
  looked = looked + #found
  offset = 0
end

local list = {}

function list.ready()
  local function show_ready(id) show(id, '') end
  local function show_standing(id)
    if not is_stale(id) then show(id, '') end
  end
  each_of_zset(above, show_ready)
  if looked < limit then each_of_list(show_standing) end
  if looked < limit then each_of_zset(below, show_ready) end
end

function list.running() each_of_zset(inflight, show) end

function list.retrying() each_of_zset(retrying, show) end

function list.scheduled()
  each_of_zset(scheduled, function(id, at)
    if not redis.call('ZSCORE', retrying, id) then show(id, at) end
  end)
end

local function list_finished(state)
  each_of_zset(state, function(id, at)
    if not is_past(id, state) then show(id, at) end
  end, true)
end

function list.succeeded() list_finished(succeeded) end
function list.cancelled() list_finished(cancelled) end
function list.dead() list_finished(dead) end

list[wanted]()
return {looked, answers}
