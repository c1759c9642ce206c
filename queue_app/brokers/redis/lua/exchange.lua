-- exchange: settles what a holder finished, then claims for it, in one step.
--
-- KEYS
--   1 queue        base name of the queue's structures
--   2 paused_all   present: every queue is paused
-- ARGV
--   1 now, 2 task_prefix, 3 finished_prefix, 4 result_prefix
--   5 holder, 6 token: who claims, and under which token
--   7 want         how many tasks, 0 for none
--   8 lease        seconds
--   9 groups       how many groups of plain successes follow, each: token, n, n ids, n notes
--   then           how many other outcomes follow, each: kind, id, token, body, seconds, result, note,
--                  seconds to keep a dead one, seconds to keep a cancelled one
-- RETURNS
--   now, standing, next due, next expiry, {id, word, …} of what was not plainly done, ids, bodies
-- include: common
-- include: ring
-- include: count
-- include: ready
-- include: waiting
-- include: recent
-- include: finished
-- include: settle

local paused_all = KEYS[2]
local holder     = ARGV[5]
local token      = ARGV[6]
local want       = tonumber(ARGV[7])
local lease      = tonumber(ARGV[8])
local groups     = tonumber(ARGV[9])
local holders    = queue .. ':holders'
local closed     = queue .. ':closed'
local paused     = queue .. ':paused'

local MAX_BYTES = 4 * 1024 * 1024
local MAX_DEAD_ENTRIES = 1000
-- Bodies are fetched in this many at a time, so that a run of large ones stops near MAX_BYTES.
local FETCH = 16

local answers = {}

local function answer(id, word)
  if word == 'done' then return end
  answers[#answers + 1] = id
  answers[#answers + 1] = word
end

-- settle ---------------------------------------------------------------------------------------------------------

-- Plain successes of one token leave together: a few calls, however many they are.
local function ack_group(group_token, ids, notes)
  local owned, kept_notes, keys, seen = {}, {}, {}, {}
  local owners = redis.call('HMGET', leases, unpack(ids))
  for index, id in ipairs(ids) do
    if owners[index] == group_token and not seen[id] then
      seen[id] = true
      owned[#owned + 1] = id
      keys[#keys + 1] = task_key(id)
      kept_notes[#kept_notes + 1] = notes[index]
    end
  end
  if #owned > 0 then
    redis.call('DEL', unpack(keys))
    redis.call('HDEL', leases, unpack(owned))
    redis.call('ZREM', inflight, unpack(owned))
    if redis.call('EXISTS', cancels) == 1 then redis.call('HDEL', cancels, unpack(owned)) end
    if redis.call('EXISTS', priority_of) == 1 then redis.call('HDEL', priority_of, unpack(owned)) end
    count('succeeded', #owned)
    remember('succeeded', kept_notes)
  end
  for index, id in ipairs(ids) do
    if seen[id] then
      seen[id] = false
    elseif owners[index] ~= group_token or seen[id] == false then
      answer(id, refusal(id, group_token))
    end
  end
end

local function settle_all()
  local at = 10
  for _ = 1, groups do
    local size = tonumber(ARGV[at + 1])
    local ids, notes = {}, {}
    for index = 1, size do
      ids[index] = ARGV[at + 1 + index]
      notes[index] = ARGV[at + 1 + size + index]
    end
    ack_group(ARGV[at], ids, notes)
    at = at + 2 + 2 * size
  end
  local others = tonumber(ARGV[at])
  for index = 0, others - 1 do
    local outcome = outcome_at(at + 1 + index * OUTCOME_ARGUMENTS)
    answer(outcome.id, settle(outcome))
  end
  put_back_released()
end

-- claim ----------------------------------------------------------------------------------------------------------

local ids, bodies, bytes = {}, {}, 0
local dropped = 0

-- What this holder claimed under this token before, as far as it still owns it.
local function claim_again(record)
  for id in string.gmatch(string.match(record, '^%S+ %S+ (.*)$'), '%S+') do
    local body = redis.call('HGET', leases, id) == token and redis.call('GET', task_key(id))
    if body then
      ids[#ids + 1] = id
      bodies[#bodies + 1] = body
    end
  end
end

-- The next few ids in line. Those of the zsets come with their scores.
local function next_in_line(wanted)
  local popped = redis.call('ZPOPMIN', above, wanted)
  if #popped == 0 then
    local plain = redis.call('RPOP', immediate, wanted)
    if plain and #plain > 0 then return plain, true end
    popped = redis.call('ZPOPMIN', below, wanted)
  end
  local line = {}
  for index = 1, #popped, 2 do line[#line + 1] = popped[index] end
  return line, false
end

local function without_tombstones(line)
  if redis.call('EXISTS', tombstones) == 0 then return line end
  local standing = {}
  for _, id in ipairs(line) do
    if lift_tombstone(id) then dropped = dropped + 1 else standing[#standing + 1] = id end
  end
  return standing
end

local function take(line, in_list)
  if in_list then line = without_tombstones(line) end
  if #line == 0 then return end
  local keys, back = {}, {}
  for index, id in ipairs(line) do keys[index] = task_key(id) end
  for index, body in ipairs(redis.call('MGET', unpack(keys))) do
    local id = line[index]
    if not body then
      dropped = dropped + 1
      redis.call('HDEL', priority_of, id)
    elseif #ids > 0 and bytes + #body > MAX_BYTES then
      back[#back + 1] = id
      bytes = MAX_BYTES
    else
      ids[#ids + 1] = id
      bodies[#bodies + 1] = body
      bytes = bytes + #body
    end
  end
  if #back > 0 then push_head(back) end
end

local function fill()
  while #ids < want and dropped < MAX_DEAD_ENTRIES and bytes < MAX_BYTES do
    local line, in_list = next_in_line(math.min(want - #ids, FETCH))
    if #line == 0 then
      redis.call('DEL', tombstones)
      return
    end
    take(line, in_list)
  end
end

local function grant()
  local lease_pairs, expiry_pairs = {}, {}
  local expires_at = now + lease
  for _, id in ipairs(ids) do
    lease_pairs[#lease_pairs + 1] = id
    lease_pairs[#lease_pairs + 1] = token
    expiry_pairs[#expiry_pairs + 1] = expires_at
    expiry_pairs[#expiry_pairs + 1] = id
  end
  in_slices(lease_pairs, function(...) redis.call('HSET', leases, ...) end)
  in_slices(expiry_pairs, function(...) redis.call('ZADD', inflight, ...) end)
  if redis.call('EXISTS', settled) == 1 then redis.call('HDEL', settled, unpack(ids)) end
  redis.call('HSET', holders, holder, token .. ' ' .. seconds_text(now) .. ' ' .. table.concat(ids, ' '))
end

local function is_closed()
  local deadline = redis.call('ZSCORE', closed, holder)
  return deadline and tonumber(deadline) > now
end

local function claim()
  if want == 0 then return 'unasked' end
  if is_closed() then return 'closed' end
  local record = redis.call('HGET', holders, holder)
  if record and string.sub(record, 1, #token + 1) == token .. ' ' then
    claim_again(record)
    return #ids > 0 and 'claimed' or 'empty'
  end
  if redis.call('EXISTS', paused, paused_all) > 0 then
    redis.call('DEL', marker)
    return 'paused'
  end
  fill()
  if #ids > 0 then
    grant()
    if ready_left() > 0 then ring() end
    return 'claimed'
  end
  return dropped >= MAX_DEAD_ENTRIES and 'more' or 'empty'
end

-- answer ---------------------------------------------------------------------------------------------------------

settle_all()
local standing = claim()
local next_due = want > 0 and lowest_score(scheduled)
local next_expiry = want > 0 and lowest_score(inflight)
return {seconds_text(now), standing, next_due, next_expiry, answers, ids, bodies}
