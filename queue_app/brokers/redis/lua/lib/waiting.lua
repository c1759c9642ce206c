-- Tasks that wait for a time: all of them in one zset by due time, the retrying ones in a second one too.
local scheduled = queue .. ':scheduled'
local retrying  = queue .. ':retrying'

-- A worker that sleeps until the first due task must wake when an earlier one comes.
local function schedule(id, due_at)
  local first = tonumber(lowest_score(scheduled))
  redis.call('ZADD', scheduled, due_at, id)
  if not first or due_at < first then ring() end
end

local function unschedule(id)
  redis.call('ZREM', retrying, id)
  return redis.call('ZREM', scheduled, id) == 1
end
