local out, opened, sumsAt = {}, {}, {}
local key = 0
local slow

-- Writes a row in the layout that it has: nothing but TATs, `last` and `taken` change.
-- `sums` is what follows them, false where there is no row yet.
local function saveTats(rule, tats, sums, rowKey, cost, o)
  local goes = 0
  for j = 1, rule.count do
    local t = out[o + j]
    if t >= 0 then
      local limit = rule.limits[j]
      tats[limit.place] = t
      if limit.rest > 0 then tats[limit.place + 1] = out[o + j + 0.5] end
      if limit.slowdown > 1 then t = slower(t, limit) end
      if t > goes then goes = t end
    end
  end
  if goes == 0 then return end
  goes = goes + 1 + GRACE
  if now > tats[3] then tats[3] = now end
  if now < tats[2] then tats[2] = now end
  tats[4] = tats[4] + cost
  if sums and goes <= tats[1] then
    call('SETRANGE', rowKey, rule.after, pack(rule.tats, unpack(tats, 1, rule.last)))
    return
  end
  tats[1] = goes + STEP
  local mark = sums and sums ~= '' and 'R' or '-'
  local value = rule.names .. mark .. pack(rule.tats, unpack(tats, 1, rule.last)) .. (sums or '')
  call('SET', rowKey, value, 'PX', ceil((tats[1] - now) / 1000))
end

-- The rules of a transaction start at stream[at + 2]. False if one of them needs more than this: then
-- nothing has been written.
local function decidePlain(at, n, dry)
  local allowed, o, first = true, 0, key
  for i = 1, n do
    local rule, cost = rules[stream[at + 2 * i]], stream[at + 2 * i + 1]
    if not rule.plain then key = first return false end
    key = key + 1
    local value, length, tats = call('GET', KEYS[key]), rule.length, nil
    if not value then
      tats = { 0, now, 0, 0 }
      for p = 5, rule.last do tats[p] = 0 end
      value, sumsAt[i] = '', false
    elseif sub(value, 1, length) == rule.names and rule.sizes[#value] then
      tats = { read(rule.tats, value, length + 2) }
      sumsAt[i] = sub(value, length + 2 + 8 * rule.last)
    else
      key = first
      return false
    end
    if tats[3] > now + GRACE then key = first return false end
    opened[i] = tats
    texts[size + i] = value
    letters[said + 1 + i] = not sumsAt[i] and '-' or sumsAt[i] == '' and 'n' or 's'
    local limits = rule.limits
    for j = 1, rule.count do
      local limit, next = limits[j], -1
      if limit.rest == 0 then
        next = nextTat(tats[limit.place], limit, cost, now)
      else
        local verdict = {}
        decideTat(tats[limit.place], tats[limit.place + 1], limit, cost, now, verdict, 0)
        if verdict[1] == 0 then next, out[o + j + 0.5] = verdict[5], verdict[6] end
      end
      out[o + j] = next
      if next < 0 and not rule.shadow then allowed = false end
    end
    o = o + rule.count
  end
  size = size + n
  if allowed and not dry then
    o = 0
    for i = 1, n do
      local rule = rules[stream[at + 2 * i]]
      saveTats(rule, opened[i], sumsAt[i], KEYS[first + i], stream[at + 2 * i + 1], o)
      o = o + rule.count
    end
  end
  letters[said + 1] = allowed and '1' or '0'
  said = said + 1 + n
  return true
end

local function decideOne(at, n, dry, hold, once)
  if once == 0 and decidePlain(at, n, dry) then return end
  slow = slow or wide()
  key = slow(at, n, dry, hold > 0 and ARGV[hold] or '', once, key)
  size, said = size + n, said + 1 + n
end

-- `hold` is how many reports there are, `once` how many are wanted.
local function leaseOne(at, hold, once)
  slow = slow or wide()
  key = slow(at, 1, 2, hold, once, key)
  size, said = size + 1, said + 2
end

-- A key that holds something else than a row fails its own transaction, before that has written anything,
-- and nobody else's. What Redis itself refuses fails the call.
local function passOver(at, n, once, first, problem)
  local text = type(problem) == 'table' and problem.err or tostring(problem)
  for _, refusal in ipairs({ 'OOM', 'READONLY', 'MISCONF', 'NOREPLICAS', 'MASTERDOWN', 'CLUSTERDOWN', 'non local key' }) do
    if string.find(text, refusal, 1, true) then error(problem) end
  end
  key = first + (once > 0 and 1 or 0)
  letters[said + 1] = 'x'
  for i = 1, n do
    local rule = rules[stream[at + 2 * i]]
    key = key + 1
    for j = 1, rule.count do if rule.limits[j].kind >= 3 then key = key + 1 end end
    texts[size + i], letters[said + 1 + i] = '', '-'
  end
  size, said = size + n, said + 1 + n
end

local at = 3
while at <= streamEnd do
  local times, what, hold, once, n = stream[at], stream[at + 1], stream[at + 2], stream[at + 3], stream[at + 4]
  at = at + 3
  if what == 2 then
    local first = key
    local done, problem = pcall(leaseOne, at, hold, once)
    if not done then passOver(at, 1, 0, first, problem) end
  else
    for _ = 1, times do
      local first = key
      local done, problem = pcall(decideOne, at, n, what == 1, hold, once)
      if not done then passOver(at, n, once, first, problem) end
    end
  end
  at = at + 2 + 2 * n
end
return { stepped and -now or now, table.concat(letters), table.concat(texts), unpack(records) }
