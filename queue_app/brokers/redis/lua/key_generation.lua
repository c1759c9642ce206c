-- key_generation: which generation of ids the next enqueue under an idempotency key has. Changes nothing.
--
-- KEYS
--   1 queue        base name of the queue's structures
--   2 paused_all   present: every queue is paused
-- ARGV
--   1 now, 2 task_prefix, 3 finished_prefix, 4 result_prefix
--   5 key
-- RETURNS
--   the number
-- include: common
-- include: finished

local key        = ARGV[5]
local keys       = queue .. ':keys'
local keys_until = queue .. ':keys:until'

local record = redis.call('HGET', keys, key)
if not record then return 0 end
local generation, id = string.match(record, '^(%S+) (%S+)')
if tonumber(redis.call('ZSCORE', keys_until, key) or 0) > now then return tonumber(generation) end
return is_known(id) and tonumber(generation) + 1 or 0
