-- The capped list of recently finished tasks: "<time> <state> <note>".
local recent = queue .. ':recent'

local RECENT_LIMIT = 100

local function remember(state, notes)
  local lines = {}
  local stamp = now_text .. ' ' .. state .. ' '
  for index = math.max(#notes - RECENT_LIMIT + 1, 1), #notes do
    if notes[index] ~= '' then lines[#lines + 1] = stamp .. notes[index] end
  end
  if #lines == 0 then return end
  redis.call('LPUSH', recent, unpack(lines))
  redis.call('LTRIM', recent, 0, RECENT_LIMIT - 1)
end
