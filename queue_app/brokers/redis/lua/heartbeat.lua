-- heartbeat: moves the deadline of all that some holders hold.
--
-- KEYS
--   1 queue        base name of the queue's structures
--   2 paused_all   present: every queue is paused
-- ARGV
--   1 now, 2 task_prefix, 3 finished_prefix, 4 result_prefix
--   5 lease        seconds
--   then           names of holders
-- RETURNS
--   now, the new deadline, {holder, token, ids} per holder that holds something, ids that were asked to stop
-- include: common
-- include: holding

local lease    = tonumber(ARGV[5])
local inflight = queue .. ':inflight'
local cancels  = queue .. ':cancels'

local deadline = now + lease
local answers, asked = {}, {}
local any_asked = redis.call('EXISTS', cancels) == 1

local function renew(ids)
  local pairs_of_score = {}
  for _, id in ipairs(ids) do
    pairs_of_score[#pairs_of_score + 1] = deadline
    pairs_of_score[#pairs_of_score + 1] = id
  end
  in_slices(pairs_of_score, function(...) redis.call('ZADD', inflight, 'XX', ...) end)
end

local function collect_asked(ids)
  for index, mark in ipairs(redis.call('HMGET', cancels, unpack(ids))) do
    if mark then asked[#asked + 1] = ids[index] end
  end
end

for index = 6, #ARGV do
  local holder = ARGV[index]
  local token, ids = holding(holder)
  if token and #ids > 0 then
    renew(ids)
    if any_asked then collect_asked(ids) end
    answers[#answers + 1] = {holder, token, ids}
  end
end
return {now_text, string.format('%.6f', deadline), answers, asked}
