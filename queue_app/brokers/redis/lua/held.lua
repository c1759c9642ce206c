-- held: what some holders hold, with the bodies.
--
-- KEYS
--   1 queue        base name of the queue's structures
--   2 paused_all   present: every queue is paused
-- ARGV
--   1 now, 2 task_prefix, 3 finished_prefix, 4 result_prefix
--   then           from 5: names of holders
-- RETURNS
--   {holder, token, ids, bodies} per holder that holds something
-- include: common
-- include: holding

local answers = {}

for index = 5, #ARGV do
  local holder = ARGV[index]
  local token, ids = holding(holder)
  if #ids > 0 then
    local keys = {}
    for place, id in ipairs(ids) do keys[place] = task_prefix .. id end
    answers[#answers + 1] = {holder, token, ids, redis.call('MGET', unpack(keys))}
  end
end
return answers
