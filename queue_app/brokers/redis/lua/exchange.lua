-- exchange: settles what a holder finished, then claims for it, in one step.
--
-- KEYS
--   1 queue        base name of the queue's structures
--   2 paused_all   present: every queue is paused
-- ARGV
--   1 now, 2 task_prefix, 3 finished_prefix, 4 result_prefix
--   5 holder, 6 token: who claims, and under which token
--   7 want         how many tasks, none for zero
--   8 lease        seconds
--   9 groups       how many groups of plain successes follow, each: token, n, n ids, n notes;
--                  no id comes twice in them
--   then           how many other outcomes follow, each: kind, id, token, body, seconds, result, note,
--                  seconds to keep a dead one, seconds to keep a cancelled one
-- RETURNS
--   now, standing, next due, next expiry, {id, word, …} of what was not plainly done, ids, bodies
-- include: common
-- include: ring
-- include: count
-- include: recent

local paused_all  = KEYS[2]
local holder      = ARGV[5]
local token       = ARGV[6]
local want        = tonumber(ARGV[7])
local lease       = tonumber(ARGV[8])
local groups      = tonumber(ARGV[9])
local cancels     = queue .. ':cancels'
local holders     = queue .. ':holders'
local immediate   = queue .. ':immediate'
local inflight    = queue .. ':inflight'
local leases      = queue .. ':leases'
local priority_of = queue .. ':priority_of'

local answers = {}

-- plain successes: a few calls, however many they are ---------------------------------------------------------------

local refused = {}

local function ack_group(group_token, ids, notes)
  local owned, keys, kept_notes = {}, {}, {}
  local owners = redis.call('HMGET', leases, unpack(ids))
  for index, id in ipairs(ids) do
    if owners[index] == group_token then
      local place = #owned + 1
      owned[place], keys[place], kept_notes[place] = id, task_prefix .. id, notes[index]
    else
      refused[#refused + 1] = {id, group_token}
    end
  end
  if #owned == 0 then return end
  redis.call('DEL', unpack(keys))
  redis.call('HDEL', leases, unpack(owned))
  redis.call('ZREM', inflight, unpack(owned))
  if redis.call('EXISTS', cancels) == 1 then redis.call('HDEL', cancels, unpack(owned)) end
  if redis.call('EXISTS', priority_of) == 1 then redis.call('HDEL', priority_of, unpack(owned)) end
  count('succeeded', #owned)
  remember('succeeded', kept_notes)
end

local at = 10
for _ = 1, groups do
  local size = tonumber(ARGV[at + 1])
  ack_group(ARGV[at], {unpack(ARGV, at + 2, at + 1 + size)}, {unpack(ARGV, at + 2 + size, at + 1 + 2 * size)})
  at = at + 2 + 2 * size
end

-- the others, where there are any: what they need is made only then -------------------------------------------------

local others = tonumber(ARGV[at])

if others > 0 or #refused > 0 then
-- include: tombstones
-- include: ready
-- include: waiting
-- include: finished
-- include: settle

  local function answer(id, word)
    if word == 'done' then return end
    answers[#answers + 1] = id
    answers[#answers + 1] = word
  end

  for _, pair in ipairs(refused) do answer(pair[1], refusal(pair[1], pair[2])) end
  for index = 0, others - 1 do
    local outcome = outcome_at(at + 1 + index * OUTCOME_ARGUMENTS)
    answer(outcome.id, settle(outcome))
  end
  put_back_released()
end

-- nothing wanted -----------------------------------------------------------------------------------------------------

if want == 0 then return {now_text, 'unasked', false, false, answers, {}, {}} end

-- claim --------------------------------------------------------------------------------------------------------------

local above     = queue .. ':above'
local below     = queue .. ':below'
local closed    = queue .. ':closed'
local paused    = queue .. ':paused'
local scheduled = queue .. ':scheduled'
local settled   = queue .. ':settled'

local MAX_BYTES = 4 * 1024 * 1024
local MAX_DEAD_ENTRIES = 1000
-- Bodies are fetched in this many at a time, so that a run of large ones stops near MAX_BYTES.
local FETCH = 16

local ids, bodies, bytes, dropped = {}, {}, 0, 0

-- What this holder claimed under this token before, as far as it still owns it.
local function claim_again(record)
  for id in string.gmatch(string.match(record, '^%S+ %S+ (.*)$'), '%S+') do
    local body = redis.call('HGET', leases, id) == token and redis.call('GET', task_prefix .. id)
    if body then
      ids[#ids + 1] = id
      bodies[#bodies + 1] = body
    end
  end
end

-- Leaves out the stale ones of some entries of the list.
local function standing_of(line)
-- include: tombstones
  local standing = {}
  for _, id in ipairs(line) do
    if lift_tombstone(id) then dropped = dropped + 1 else standing[#standing + 1] = id end
  end
  return standing
end

-- A foreign producer may have used an id that ours cannot be called: its body is dead under an id made from it.
local function bury(id)
-- include: finished
  local name = 'unreadable-' .. redis.sha1hex(id)
  if redis.call('EXISTS', task_prefix .. id) == 1 then
    redis.call('RENAME', task_prefix .. id, task_prefix .. name)
    keep(name, dead, '')
    count('dead', 1)
  end
  redis.call('HDEL', priority_of, id)
end

-- Takes the bodies of some ids. Says which ids found no room.
local function take(line)
  local keys, back = {}, {}
  for index, id in ipairs(line) do keys[index] = task_prefix .. id end
  for index, body in ipairs(redis.call('MGET', unpack(keys))) do
    local id = line[index]
    if not string.find(id, '^[%w_.:-]+$') then
      dropped = dropped + 1
      bury(id)
    elseif not body then
      dropped = dropped + 1
      redis.call('HDEL', priority_of, id)
    elseif #ids > 0 and bytes + #body > MAX_BYTES then
      back[#back + 1] = id
      bytes = MAX_BYTES
    else
      local place = #ids + 1
      ids[place], bodies[place] = id, body
      bytes = bytes + #body
    end
  end
  return back
end

local function has_room()
  return #ids < want and dropped < MAX_DEAD_ENTRIES and bytes < MAX_BYTES
end

local function take_from_zset(zset)
  while has_room() do
    local popped = redis.call('ZPOPMIN', zset, math.min(want - #ids, FETCH))
    if #popped == 0 then return end
    local line, score_of = {}, {}
    for index = 1, #popped, 2 do
      line[#line + 1] = popped[index]
      score_of[popped[index]] = popped[index + 1]
    end
    for _, id in ipairs(take(line)) do redis.call('ZADD', zset, score_of[id], id) end
  end
end

local function take_from_list()
  local has_tombstones = redis.call('EXISTS', queue .. ':tombstones') == 1
  while has_room() do
    local line = redis.call('RPOP', immediate, math.min(want - #ids, FETCH))
    if not line or #line == 0 then
      if has_tombstones then redis.call('DEL', queue .. ':tombstones') end
      return
    end
    if has_tombstones then line = standing_of(line) end
    if #line > 0 then
      local back = take(line)
      for index = #back, 1, -1 do redis.call('RPUSH', immediate, back[index]) end
    end
  end
end

-- A zset of up to 128 is kept as a list that is walked from its head, each score parsed from text on the way: entries
-- of one score go in fastest with the last id first.
local function in_order_of_insertion()
  local order = {unpack(ids)}
  if #order > 1 and redis.call('ZCARD', inflight) < 128 then table.sort(order) end
  return order
end

local function grant()
  local lease_pairs, expiry_pairs = {}, {}
  local expires_at = string.format('%.6f', now + lease)
  for index, id in ipairs(ids) do
    lease_pairs[2 * index - 1], lease_pairs[2 * index] = id, token
  end
  local order = in_order_of_insertion()
  for index = #order, 1, -1 do
    local place = 2 * (#order - index)
    expiry_pairs[place + 1], expiry_pairs[place + 2] = expires_at, order[index]
  end
  in_slices(lease_pairs, function(...) redis.call('HSET', leases, ...) end)
  in_slices(expiry_pairs, function(...) redis.call('ZADD', inflight, ...) end)
  if redis.call('EXISTS', settled) == 1 then redis.call('HDEL', settled, unpack(ids)) end
  redis.call('HSET', holders, holder, token .. ' ' .. now_text .. ' ' .. table.concat(ids, ' '))
end

local function claim()
  local closed_until = redis.call('ZSCORE', closed, holder)
  if closed_until and tonumber(closed_until) > now then return 'closed' end
  local record = redis.call('HGET', holders, holder)
  if record and string.sub(record, 1, #token + 1) == token .. ' ' then
    claim_again(record)
    return #ids > 0 and 'claimed' or 'empty'
  end
  if redis.call('EXISTS', paused, paused_all) > 0 then
    redis.call('DEL', marker)
    return 'paused'
  end
  take_from_zset(above)
  take_from_list()
  take_from_zset(below)
  if #ids == 0 then return dropped >= MAX_DEAD_ENTRIES and 'more' or 'empty' end
  grant()
  if redis.call('EXISTS', immediate, above, below) > 0 then ring() end
  return 'claimed'
end

local standing = claim()
return {now_text, standing, lowest_score(scheduled), lowest_score(inflight), answers, ids, bodies}
