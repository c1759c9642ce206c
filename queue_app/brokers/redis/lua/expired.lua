-- expired: tasks whose lease ran out, for the reclaimer to decide on. Changes nothing.
--
-- KEYS
--   1 queue        base name of the queue's structures
--   2 paused_all   present: every queue is paused
-- ARGV
--   1 now, 2 task_prefix, 3 finished_prefix, 4 result_prefix
--   5 limit        how many at most
-- RETURNS
--   {id, token, body} each, with an empty token or body where there is none
-- include: common

local limit    = tonumber(ARGV[5])
local inflight = queue .. ':inflight'
local leases   = queue .. ':leases'

local MAX_BYTES = 4 * 1024 * 1024

local answers, bytes = {}, 0

for _, id in ipairs(redis.call('ZRANGEBYSCORE', inflight, '-inf', now, 'LIMIT', 0, limit)) do
  if bytes >= MAX_BYTES then break end
  local body = redis.call('GET', task_prefix .. id) or ''
  bytes = bytes + #body
  answers[#answers + 1] = {id, redis.call('HGET', leases, id) or '', body}
end
return answers
