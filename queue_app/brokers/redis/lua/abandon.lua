-- abandon: closes the names of dead holders, settles what is known of their tasks, and releases the rest.
--
-- KEYS
--   1 queue        base name of the queue's structures
--   2 paused_all   present: every queue is paused
-- ARGV
--   1 now, 2 task_prefix, 3 finished_prefix, 4 result_prefix
--   5 closed_for   seconds for which the names stay closed
--   6 keep_cancelled  seconds to keep what was asked to be cancelled
--   7 names        how many names of holders follow, then they
--   then           how many outcomes follow, then they, nine arguments each
-- RETURNS
--   now, {id, word, …} of what was not plainly done
-- include: common
-- include: ring
-- include: count
-- include: tombstones
-- include: ready
-- include: waiting
-- include: recent
-- include: finished
-- include: settle
-- include: holding

local closed_for     = tonumber(ARGV[5])
local keep_cancelled = ARGV[6]
local names          = tonumber(ARGV[7])
local closed         = queue .. ':closed'

local answers = {}
local first = 8 + names

for index = 0, tonumber(ARGV[first]) - 1 do
  local outcome = outcome_at(first + 1 + index * OUTCOME_ARGUMENTS)
  local word = settle(outcome)
  if word ~= 'done' then
    answers[#answers + 1] = outcome.id
    answers[#answers + 1] = word
  end
end

for index = 8, 7 + names do
  local holder = ARGV[index]
  local token, ids = holding(holder)
  for _, id in ipairs(ids) do
    settle({kind = 'release', id = id, token = token, body = '', note = '', keep_cancelled = keep_cancelled})
    -- An outcome of the dead runner that still arrives is lost, not a repeat.
    redis.call('HDEL', settled, id)
  end
  redis.call('HDEL', holders, holder)
  redis.call('ZADD', closed, now + closed_for, holder)
end
put_back_released()
return {now_text, answers}
