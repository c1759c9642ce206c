-- What a holder holds: its record says what it claimed last ("<token> <time> <id> …"), the leases what of that it owns.
local leases  = queue .. ':leases'
local holders = queue .. ':holders'

-- The token, the ids owned, and when they were claimed.
local function holding(holder)
  local record = redis.call('HGET', holders, holder)
  if not record then return nil, {} end
  local token, claimed_at, rest = string.match(record, '^(%S+) (%S+) (.*)$')
  local claimed, owned = {}, {}
  for id in string.gmatch(rest, '%S+') do claimed[#claimed + 1] = id end
  for index, owner in ipairs(redis.call('HMGET', leases, unpack(claimed))) do
    if owner == token then owned[#owned + 1] = claimed[index] end
  end
  return token, owned, tonumber(claimed_at)
end
