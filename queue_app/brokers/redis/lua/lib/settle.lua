-- Settles outcomes under their tokens. Needs: count, finished, ready, recent, ring, waiting.
local inflight = queue .. ':inflight'
local leases   = queue .. ':leases'
local cancels  = queue .. ':cancels'

local released = {}

local function leave_running(id)
  redis.call('HDEL', leases, id)
  redis.call('ZREM', inflight, id)
  redis.call('HDEL', cancels, id)
end

-- Why a token that does not own the task is turned away.
local function refusal(id, token)
  if not is_known(id) then return 'gone' end
  if redis.call('HGET', settled, id) == token then return 'repeated' end
  return 'lost'
end

local function set_body(id, body)
  if body ~= '' then redis.call('SET', task_prefix .. id, body) end
end

local function move_to_finished(id, state, body, keep_seconds)
  set_body(id, body)
  if redis.call('EXISTS', task_prefix .. id) == 1 then
    redis.call('RENAME', task_prefix .. id, finished_prefix .. id)
  end
  redis.call('HDEL', priority_of, id)
  keep(id, state, keep_seconds)
end

local function end_cancelled(id, mark, body, keep_seconds, note)
  move_to_finished(id, cancelled, body, keep_seconds)
  count('cancelled', 1)
  remember('cancelled', {note})
  if mark == 'delete' then
    forget(id)
    count('deleted', 1)
  end
end

local apply = {}

-- Kept where it asks for that, unless somebody has asked to delete the task.
function apply.ack(outcome, mark)
  count('succeeded', 1)
  remember('succeeded', {outcome.note})
  if tonumber(outcome.seconds) <= 0 or mark == 'delete' then
    redis.call('DEL', task_prefix .. outcome.id)
    redis.call('HDEL', priority_of, outcome.id)
    return
  end
  move_to_finished(outcome.id, succeeded, outcome.body, outcome.seconds)
  if outcome.result ~= '' then redis.call('SET', result_prefix .. outcome.id, outcome.result) end
end

function apply.retry(outcome)
  local due_at = now + tonumber(outcome.seconds)
  set_body(outcome.id, outcome.body)
  redis.call('ZADD', retrying, due_at, outcome.id)
  schedule(outcome.id, due_at)
  count('retried', 1)
end

function apply.snooze(outcome)
  schedule(outcome.id, now + tonumber(outcome.seconds))
  count('snoozed', 1)
end

function apply.dead(outcome)
  set_body(outcome.id, outcome.body)
  redis.call('HDEL', priority_of, outcome.id)
  keep(outcome.id, dead, outcome.keep_dead)
  count('dead', 1)
  remember('dead', {outcome.note})
end

-- Released ones go back together, in their old order, when all outcomes are settled.
function apply.release(outcome)
  released[#released + 1] = outcome.id
end

function apply.cancel(outcome, mark)
  end_cancelled(outcome.id, mark, outcome.body, outcome.keep_cancelled, outcome.note)
end

-- The word for what was done, or for why nothing was.
local function settle(outcome)
  local id = outcome.id
  if redis.call('HGET', leases, id) ~= outcome.token then return refusal(id, outcome.token) end
  local mark = redis.call('HGET', cancels, id)
  leave_running(id)
  redis.call('HSET', settled, id, outcome.token)
  local kind = mark and outcome.kind ~= 'ack' and 'cancel' or outcome.kind
  apply[kind](outcome, mark)
  if not is_known(id) then redis.call('HDEL', settled, id) end
  return kind == outcome.kind and 'done' or 'cancelled'
end

local function put_back_released()
  if #released == 0 then return end
  push_head(released)
  count('released', #released)
  ring()
end

-- Reads one outcome of nine arguments that starts at `first`.
local OUTCOME_ARGUMENTS = 9

local function outcome_at(first)
  return {
    kind = ARGV[first], id = ARGV[first + 1], token = ARGV[first + 2], body = ARGV[first + 3],
    seconds = ARGV[first + 4], result = ARGV[first + 5], note = ARGV[first + 6],
    keep_dead = ARGV[first + 7], keep_cancelled = ARGV[first + 8],
  }
end
