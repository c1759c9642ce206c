-- look: which state each of some tasks is in. Changes nothing.
--
-- KEYS
--   1 queue        base name of the queue's structures
--   2 paused_all   present: every queue is paused
-- ARGV
--   1 now, 2 task_prefix, 3 finished_prefix, 4 result_prefix
--   then           from 5: ids
-- RETURNS
--   {state, time, body, result, mark} per id, state being '' for one that the store does not know; time is when it
--   is due, its lease ends or it finished; mark is what was asked of a running one
-- include: common
-- include: finished
-- include: state

local answers = {}

-- A foreign producer may have stored a second body under the id of a task that is over.
local function body_of(id, state)
  local is_over = state == 'succeeded' or state == 'cancelled'
  local first, second = task_prefix .. id, finished_prefix .. id
  if is_over then first, second = second, first end
  return redis.call('GET', first) or redis.call('GET', second)
end

for index = 5, #ARGV do
  local id = ARGV[index]
  local state, at = state_of(id)
  local body = state and body_of(id, state)
  local result = state == 'succeeded' and redis.call('GET', result_prefix .. id)
  answers[#answers + 1] = {state or '', at or '', body or '', result, redis.call('HGET', cancels, id)}
end
return answers
