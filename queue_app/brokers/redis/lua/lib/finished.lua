-- Finished tasks: a zset per state by time of finish, and one beside it by the time until which the record is kept.
-- A dead task's body stays at task:<id>; the others' moves to finished:<id>, so that nothing can run it.
local succeeded = queue .. ':succeeded'
local dead      = queue .. ':dead_ids'
local cancelled = queue .. ':cancelled'
local settled   = queue .. ':settled'

local UNTIL = ':until'
local STATE_NAMES = {[dead] = 'dead', [succeeded] = 'succeeded', [cancelled] = 'cancelled'}

-- `keep_seconds` of '' keeps the record for ever.
local function keep(id, state, keep_seconds)
  redis.call('ZADD', state, now, id)
  if keep_seconds ~= '' then
    redis.call('ZADD', state .. UNTIL, now + tonumber(keep_seconds), id)
  end
end

local function is_past(id, state)
  local deadline = redis.call('ZSCORE', state .. UNTIL, id)
  return deadline and tonumber(deadline) <= now
end

-- Which finished state a record is in, and since when; nothing when there is none, or it is past its time.
local function finished_state(id)
  for _, state in ipairs({dead, succeeded, cancelled}) do
    local at = redis.call('ZSCORE', state, id)
    if at and not is_past(id, state) then return state, at end
  end
end

-- Whether the store still knows the task, in any state.
local function is_known(id)
  if redis.call('EXISTS', task_prefix .. id) == 1 then return not is_past(id, dead) end
  if redis.call('EXISTS', finished_prefix .. id) == 0 then return false end
  return not (is_past(id, succeeded) or is_past(id, cancelled))
end

local function unlist(id)
  for _, state in ipairs({dead, succeeded, cancelled}) do
    redis.call('ZREM', state, id)
    redis.call('ZREM', state .. UNTIL, id)
  end
  redis.call('HDEL', settled, id)
end

-- Drops every trace of a finished task.
local function forget(id)
  unlist(id)
  redis.call('DEL', task_prefix .. id, finished_prefix .. id, result_prefix .. id)
end
