-- The state of a task, told by where it stands. A task that has a body and stands nowhere else is ready.
local inflight  = queue .. ':inflight'
local leases    = queue .. ':leases'
local cancels   = queue .. ':cancels'
local scheduled = queue .. ':scheduled'
local retrying  = queue .. ':retrying'

local function state_of(id)
  if not is_known(id) then return nil end
  if redis.call('HEXISTS', leases, id) == 1 then return 'running', redis.call('ZSCORE', inflight, id) end
  local again_at = redis.call('ZSCORE', retrying, id)
  if again_at then return 'retrying', again_at end
  local due_at = redis.call('ZSCORE', scheduled, id)
  if due_at then return 'scheduled', due_at end
  local state, at = finished_state(id)
  if state then return STATE_NAMES[state], at end
  return 'ready', nil
end
