-- Where ready tasks stand: priority 0 in the list, larger ones in a zset before it, smaller ones in one behind it.
-- Needs: tombstones. A zset's score is -priority * 2^44 + sequence: exact in a double for priorities of -100 to 100.
local immediate   = queue .. ':immediate'
local above       = queue .. ':above'
local below       = queue .. ':below'
local priority_of = queue .. ':priority_of'
local sequences   = queue .. ':sequences'

local BAND = 2 ^ 44

local function priority_zset(priority)
  return priority > 0 and above or below
end

local function priorities(ids)
  if #ids == 0 or redis.call('EXISTS', priority_of) == 0 then return {} end
  local found = {}
  for first = 1, #ids, SLICE do
    local last = math.min(first + SLICE - 1, #ids)
    for offset, value in ipairs(redis.call('HMGET', priority_of, unpack(ids, first, last))) do
      found[ids[first + offset - 1]] = tonumber(value)
    end
  end
  return found
end

local function lay_tombstone(id)
  redis.call('HINCRBY', tombstones, id, 1)
  redis.call('HINCRBY', tombstones, ALL, 1)
end

local function place(id, priority, sequence_name, step)
  local sequence = redis.call('HINCRBY', sequences, sequence_name, step)
  redis.call('ZADD', priority_zset(priority), -priority * BAND + sequence, id)
end

-- Puts ids at the tail, the first one first in line. `priority_by_id` lacks those of priority 0.
local function push_tail(ids, priority_by_id)
  local plain = {}
  for _, id in ipairs(ids) do
    local priority = priority_by_id[id]
    if priority then place(id, priority, 'tail', 1) else plain[#plain + 1] = id end
  end
  in_slices(plain, function(...) redis.call('LPUSH', immediate, ...) end)
end

-- Puts ids back at the head, the first one first in line.
local function push_head(ids)
  local priority_by_id = priorities(ids)
  local plain = {}
  for index = #ids, 1, -1 do
    local id = ids[index]
    local priority = priority_by_id[id]
    if priority then place(id, priority, 'head', -1) else plain[#plain + 1] = id end
  end
  in_slices(plain, function(...) redis.call('RPUSH', immediate, ...) end)
end

-- Puts back an id that may have a stale entry in the list: that one then counts again, at its old place.
local function push_again(id, priority)
  if priority == 0 then
    if not lift_tombstone(id) then redis.call('LPUSH', immediate, id) end
  else
    redis.call('HSET', priority_of, id, priority)
    place(id, priority, 'tail', 1)
  end
end

-- Takes an id out of the line without walking the list.
local function pull(id)
  local priority = tonumber(redis.call('HGET', priority_of, id))
  if priority then
    redis.call('ZREM', priority_zset(priority), id)
  else
    lay_tombstone(id)
  end
end

local function ready_left()
  return redis.call('LLEN', immediate) + redis.call('ZCARD', above) + redis.call('ZCARD', below)
end
