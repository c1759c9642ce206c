-- Wakes one idle worker: at most one marker stands in the list on which they block.
local marker = queue .. ':marker'

local function ring()
  if redis.call('LLEN', marker) == 0 then
    redis.call('LPUSH', marker, '1')
  end
end
