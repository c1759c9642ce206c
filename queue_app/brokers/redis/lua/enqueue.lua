-- enqueue: stores tasks of one queue, ready or scheduled. What the store knows already is left as it is.
--
-- KEYS
--   1 queue        base name of the queue's structures
--   2 paused_all   present: every queue is paused
-- ARGV
--   1 now, 2 task_prefix, 3 finished_prefix, 4 result_prefix
--   5 forget_after seconds after which an idempotency key is forgotten
--   then           per task: id, body, priority, due, key, fingerprint, generation;
--                  due is '' for at once, '@' and a time, or '+' and seconds; key is '' for none
-- RETURNS
--   {id, word} per task, word being "created", "known" or "conflict"; and whether the queue was new
-- include: common
-- include: ring
-- include: count
-- include: tombstones
-- include: ready
-- include: waiting
-- include: finished

local forget_after = ARGV[5]
local keys         = queue .. ':keys'
local keys_until   = queue .. ':keys:until'

local FIRST, ARGUMENTS = 6, 7

local answers = {}
local made, pushes = 0, {}
local priority_by_id = {}

-- Under a key that is remembered the store's id counts, and the same arguments must come again.
local function remembered(key, fingerprint)
  local deadline = redis.call('ZSCORE', keys_until, key)
  if not deadline or tonumber(deadline) <= now then return end
  local id, print = string.match(redis.call('HGET', keys, key), '^%S+ (%S+) (%S+)$')
  return {id, print == fingerprint and 'known' or 'conflict'}
end

local function due_time(due)
  local mark, seconds = string.sub(due, 1, 1), tonumber(string.sub(due, 2))
  if mark == '@' then return seconds end
  return seconds and now + seconds or now
end

local function store(id, body, priority, due_at)
  redis.call('SET', task_prefix .. id, body)
  if priority ~= 0 then redis.call('HSET', priority_of, id, priority) end
  if due_at > now then
    schedule(id, due_at)
  elseif priority ~= 0 then
    priority_by_id[id] = priority
    pushes[#pushes + 1] = id
  elseif redis.call('EXISTS', tombstones) == 0 or not lift_tombstone(id) then
    pushes[#pushes + 1] = id
  end
end

local function remember_key(key, generation, id, fingerprint)
  redis.call('HSET', keys, key, generation .. ' ' .. id .. ' ' .. fingerprint)
  redis.call('ZADD', keys_until, now + tonumber(forget_after), key)
end

local function enqueue(id, body, priority, due, key, fingerprint, generation)
  local known = key ~= '' and remembered(key, fingerprint)
  if known then return known end
  if is_known(id) then return {id, 'known'} end
  if redis.call('EXISTS', task_prefix .. id, finished_prefix .. id) > 0 then forget(id) end
  store(id, body, tonumber(priority), due_time(due))
  if key ~= '' then remember_key(key, generation, id, fingerprint) end
  made = made + 1
  return {id, 'created'}
end

for first = FIRST, #ARGV, ARGUMENTS do
  answers[#answers + 1] = enqueue(unpack(ARGV, first, first + ARGUMENTS - 1))
end
push_tail(pushes, priority_by_id)
if #pushes > 0 or made > 0 and ready_left() > 0 then ring() end
local is_new = redis.call('EXISTS', totals) == 0 and 1 or 0
count('enqueued', made)
return {answers, is_new}
