-- reclaim: takes tasks back whose lease ran out. Expiry and token are looked at again here, where it is written.
--
-- KEYS
--   1 queue        base name of the queue's structures
--   2 paused_all   present: every queue is paused
-- ARGV
--   1 now, 2 task_prefix, 3 finished_prefix, 4 result_prefix
--   then           from 5: outcomes of nine arguments; kind "drop" lets go of a lease that has no body
-- RETURNS
--   how many, whether more have expired, when the next lease does
-- include: common
-- include: ring
-- include: count
-- include: tombstones
-- include: ready
-- include: waiting
-- include: recent
-- include: finished
-- include: settle

local reclaimed = 0

local function is_expired(id)
  local expiry = redis.call('ZSCORE', inflight, id)
  return expiry and tonumber(expiry) <= now
end

local function reclaim(outcome)
  if not is_expired(outcome.id) then return end
  if (redis.call('HGET', leases, outcome.id) or '') ~= outcome.token then return end
  if outcome.kind == 'drop' then
    leave_running(outcome.id)
    redis.call('HDEL', priority_of, outcome.id)
  else
    -- An entry that a foreign worker left without a lease gets one for this step.
    redis.call('HSET', leases, outcome.id, outcome.token)
    settle(outcome)
    -- To the worker that comes late the lease is lost: it is no call of its own that was settled here.
    redis.call('HDEL', settled, outcome.id)
  end
  count('reclaimed', 1)
  reclaimed = reclaimed + 1
end

for first = 5, #ARGV, OUTCOME_ARGUMENTS do
  reclaim(outcome_at(first))
end
put_back_released()
local next_expiry = lowest_score(inflight)
return {reclaimed, next_expiry and tonumber(next_expiry) <= now and 1 or 0, next_expiry}
