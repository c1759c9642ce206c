-- Counts an event: in all, per 10 seconds, per 5 minutes.
local totals            = queue .. ':totals'
local throughput        = queue .. ':throughput'
local throughput_coarse = queue .. ':throughput_coarse'

local function count(event, times)
  if times == 0 then return end
  redis.call('HINCRBY', totals, event, times)
  redis.call('HINCRBY', throughput, string.format('%d:%s', now - now % 10, event), times)
  redis.call('HINCRBY', throughput_coarse, string.format('%d:%s', now - now % 300, event), times)
end
