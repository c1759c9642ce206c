-- A task that leaves the list out of turn leaves its entry behind. A tombstone says how many stale entries of an id
-- stand in the list: the first ones that a claim meets.
local tombstones = queue .. ':tombstones'

-- The field that holds the sum of all. No id looks like it.
local ALL = '*'

-- Forgets one stale entry of `id`. Says whether there was one.
local function lift_tombstone(id)
  local stale = tonumber(redis.call('HGET', tombstones, id)) or 0
  if stale == 0 then return false end
  if stale == 1 then
    redis.call('HDEL', tombstones, id)
  else
    redis.call('HINCRBY', tombstones, id, -1)
  end
  if redis.call('HINCRBY', tombstones, ALL, -1) <= 0 then
    redis.call('DEL', tombstones)
  end
  return true
end
