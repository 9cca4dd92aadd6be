local out, opened, besidesAt, keysAt = {}, {}, {}, {}

local function takeAll(rule, w, besides, rowKey, cost, hold, o)
  local taken = false
  for j = 1, rule.count do
    local at = o + (j - 1) * WIDTH
    if out[at + 1] == 0 then
      local limit = rule.limits[j]
      out[at + 7] = w.sums[j]
      take(w.row, limit.at, limit, cost, now, out, at, besides[j], hold)
      if w.lease and limit.kind == 0 then noteLeasesOut(limit, leasedOut(w.lease), out, at) end
      taken = true
    end
  end
  if not taken then return end
  w.last, w.birth = max(w.last, now), min(w.birth, now)
  w.taken = w.taken + cost
  save(rule, rowKey, w, besides)
end

-- A denial writes one thing: that a row which slower rules have found will be needed for longer.
local function keepLonger(rule, w, besides, rowKey)
  if not w.found then return end
  for j = 1, rule.count do
    local limit, amount = rule.limits[j], w.row[rule.limits[j].at + 3]
    if limit.kind == 0 and amount ~= 0 and amount ~= limit.amount then
      if goesAt(rule, w, besides) + GRACE > w.expires then save(rule, rowKey, w, besides) end
      return
    end
  end
end

local function decideWide(at, n, dry, hold, key)
  local allowed, other, o = true, false, 0
  for i = 1, n do
    local rule, cost = rules[stream[at + 2 * i]], stream[at + 2 * i + 1]
    keysAt[i] = key + 1
    local w = open(rule, call('GET', KEYS[key + 1]))
    local besides
    besides, key = besidesOf(rule, w, key + 1)
    restartIfAhead(rule, w, besides, KEYS[keysAt[i]])
    opened[i], besidesAt[i] = w, besides
    for j = 1, rule.count do
      local limit = rule.limits[j]
      for p = 2, WIDTH do out[o + p] = 0 end
      decide(w.row, limit.at, limit, cost, now, out, o, besides[j], hold)
      if w.lease and limit.kind == 0 and out[o + 1] == 1 then
        out[o + 4] = leasedGoAt(w.row, limit.at, limit, w.lease, cost, now)
      end
      if out[o + 1] == 3 then other = true end
      if out[o + 1] ~= 0 and not rule.shadow then allowed = false end
      o = o + WIDTH
    end
  end
  o = 0
  for i = 1, n do
    local rule, rowKey = rules[stream[at + 2 * i]], KEYS[keysAt[i]]
    if other or dry then
      -- Nothing is written.
    elseif allowed then
      takeAll(rule, opened[i], besidesAt[i], rowKey, stream[at + 2 * i + 1], hold, o)
    else
      keepLonger(rule, opened[i], besidesAt[i], rowKey)
    end
    local width = rule.count * WIDTH
    texts[size + i] = pack('<d' .. rep('d', width), opened[i].taken, unpack(out, o + 1, o + width))
    letters[said + 1 + i] = 'v'
    o = o + width
  end
  letters[said + 1] = other and 'b' or allowed and '1' or '0'
  return key
end

-- Which run of the server this is, as a number. A replica that has become the primary is another one, and
-- may know nothing of what was leased before.
local run
local function runOfServer()
  run = run or tonumber(sub(match(call('INFO', 'server'), 'run_id:(%x+)'), 1, 12), 16)
  return run
end

-- Of one lease: its period, the row's birth, the server's run, when it was granted, then how many of it were
-- spent and how many are given back. What the row does not know of changes nothing.
local function hear(rule, w, besides, at)
  local period, birth, from, grantedAt, spent, back = unpack(stream, at, at + 5)
  if not w.found or birth ~= w.birth or from ~= runOfServer() then return false end
  if not w.lease or not reportLease(w.lease, period, spent + back) then return false end
  if back > 0 then
    for j = 1, rule.count do
      local limit = rule.limits[j]
      returnLease(w.row, limit.at, limit, back, grantedAt, now, besides[j])
    end
    w.taken = w.taken - back
  end
  return true
end

-- So many can be leased from every limit of the row; none where two are not there.
local function leasableOf(rule, w, besides, want)
  local n = want
  for j = 1, rule.count do
    local limit = rule.limits[j]
    decide(w.row, limit.at, limit, 1, now, out, (j - 1) * WIDTH, besides[j], '')
    n = leasable(limit, out[(j - 1) * WIDTH + 2], w.lease, n)
  end
  return n < 2 and 0 or n
end

-- Reports, then a grant of at most `want`: the same taken from every limit.
local function leaseOne(at, reports, want, key)
  local rule, rowKey = rules[stream[at + 2]], KEYS[key + 1]
  local w = open(rule, call('GET', rowKey))
  local besides
  besides, key = besidesOf(rule, w, key + 1)
  restartIfAhead(rule, w, besides, rowKey)
  -- It will be asked again with other bounds, reports and all: nothing is heard yet.
  for j = 1, rule.count do
    decide(w.row, rule.limits[j].at, rule.limits[j], 1, now, out, 0, besides[j], '')
    if out[1] == 3 then
      texts[size + 1], letters[said + 1], letters[said + 2] = '', 'b', '-'
      return key
    end
  end
  local dirty = false
  for i = 1, reports do
    if hear(rule, w, besides, at + 4 + 6 * (i - 1)) then dirty = true end
  end
  local ends = 0
  for i = 1, rule.count * WIDTH do out[i] = 0 end
  if not w.lease then
    w.lease = { 0, 0, 0 }
    clearLeases(w.lease, now)
  end
  if want > 0 then setLead(rule, true) end
  local n = leasableOf(rule, w, besides, want)
  if n > 0 then
    ends = noteLease(w.lease, n)
    for j = 1, rule.count do
      local limit, o = rule.limits[j], (j - 1) * WIDTH
      decide(w.row, limit.at, limit, n, now, out, o, besides[j], '')
      out[o + 7] = w.sums[j]
      take(w.row, limit.at, limit, n, now, out, o, besides[j], '')
      ends = leaseEnd(limit, out[o + 5], ends)
      if limit.kind == 0 then noteLeasesOut(limit, leasedOut(w.lease), out, o) end
    end
    w.birth = min(w.birth, now)
    w.taken = w.taken + n
  end
  if n > 0 or dirty then
    w.last = max(w.last, now)
    save(rule, rowKey, w, besides)
  end
  texts[size + 1] = pack('<ddddddd' .. rep('d', rule.count * WIDTH), n, w.lease[1], w.birth, runOfServer(), ends,
    leasedOut(w.lease), w.taken, unpack(out, 1, rule.count * WIDTH))
  letters[said + 1], letters[said + 2] = '1', 'v'
  return key
end

-- A record: its end, the fingerprint of the request, the answer; or a claim, see change.lua.
return function(at, n, dry, hold, once, key)
  if dry == 2 then return leaseOne(at, hold, once, key) end
  if once == 0 then return decideWide(at, n, dry, hold, key) end
  local record, fingerprint, description = KEYS[key + 1], ARGV[once], ARGV[once + 1]
  key = key + 1
  local known = call('GET', record)
  -- One that a clock wrote which has since stepped back is not believed.
  local ends = known and read('<d', known) or 0
  if ends > now and ends <= now + 300000000 + GRACE then
    for i = 1, n do
      local _
      texts[size + i], letters[said + 1 + i] = '', '-'
      _, key = besidesOf(rules[stream[at + 2 * i]], { row = {} }, key + 1)
    end
    local letter = 'c'
    if sub(known, 9, 9) == '?' then letter = 'p'
    elseif sub(known, 9, 8 + #fingerprint) == fingerprint then
      letter = 'r'
      records[#records + 1] = known
    end
    letters[said + 1] = letter
    return key
  end
  key = decideWide(at, n, false, hold, key)
  if letters[said + 1] == '1' then
    local answer = table.concat(texts, '', size + 1, size + n)
    local value = pack('<d', now + 300000000) .. fingerprint .. pack('<dI4', now, #description) .. description .. answer
    call('SET', record, value, 'PX', 300000)
  end
  return key
end
