local out, opened, besidesAt, keysAt = {}, {}, {}, {}

local function takeAll(rule, w, besides, rowKey, cost, hold, o)
  local taken = false
  for j = 1, rule.count do
    local at = o + (j - 1) * WIDTH
    if out[at + 1] == 0 then
      local limit = rule.limits[j]
      out[at + 7] = w.sums[j]
      take(w.row, limit.at, limit, cost, now, out, at, besides[j], hold)
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
    opened[i], besidesAt[i] = w, besides
    for j = 1, rule.count do
      local limit = rule.limits[j]
      for p = 2, WIDTH do out[o + p] = 0 end
      decide(w.row, limit.at, limit, cost, now, out, o, besides[j], hold)
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

-- A record: its end, the fingerprint of the request, the answer; or a claim, see change.lua.
return function(at, n, dry, hold, once, key)
  if once == 0 then return decideWide(at, n, dry, hold, key) end
  local record, fingerprint, description = KEYS[key + 1], ARGV[once], ARGV[once + 1]
  key = key + 1
  local known = call('GET', record)
  if known and read('<d', known) > now then
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
