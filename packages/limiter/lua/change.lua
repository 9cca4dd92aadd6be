-- Everything but deciding, one operation after the other.
-- KEYS     of each operation: the row and what its logs and holds keep beside; of records and beats one key
-- ARGV     1: doubles: the time or 0, how many rules, then operations: which, its rule (0: none), its text's
--          place in ARGV (0: none), how many items, and of each item a limit, an amount, and of refunds the
--          mark and its rest, the amount it was taken under, what had been given back, and its time.
--          From 2 on: the rules, then the texts.
-- returns  the time, negative where a row was found that a clock wrote which has since stepped back; then a number for each item; of operations without items one number or text
local REFUND, GRANT, CHARGE, RAISE, RESET, RENEW, RELEASE = 1, 2, 3, 4, 5, 6, 7
local CLAIM, CONFIRM, UNCLAIM, BEAT, CREATE = 8, 9, 10, 11, 12
local ITEM, VOID = 7, 4000000000
local reply, key, at = { now }, 0, 3

local function answer(value) reply[#reply + 1] = value end

-- What is leased out of a window or a log stays charged, whatever is given back: somebody may spend it yet.
local function keepLeased(w, limit, beside)
  if w.lease and limit.kind > 0 then atLeast(w.row, limit.at, limit, leasedOut(w.lease), now, beside) end
end

local function change(operation, w, besides, limit, j, p)
  local row, amount = w.row, stream[p + 1]
  if operation == REFUND then
    if not w.found or stream[p + 6] < w.birth then return 0 end
    local since = w.sums[j] - stream[p + 5]
    local given = refund(row, limit.at, limit, amount, now, stream[p + 2], stream[p + 3], stream[p + 4], since, besides[j])
    if limit.kind == 0 then w.sums[j] = w.sums[j] + given end
    return given
  end
  if operation == GRANT then
    local given = grant(row, limit.at, limit, amount, now, besides[j])
    keepLeased(w, limit, besides[j])
    if given > 0 then w.sums[j] = w.sums[j] + amount end
    return given
  end
  if operation == CHARGE then return charge(row, limit.at, limit, amount, now, besides[j]) end
  return atLeast(row, limit.at, limit, amount, now, besides[j])
end

-- Calls `step` for a limit; what that does not change is not written either, not even brought up to date.
local function ifChanged(w, limit, step)
  local first, last = limit.at + 1, limit.at + widthOf(limit.kind)
  local before = { unpack(w.row, first, last) }
  local changed = step()
  if changed == 0 then for i = first, last do w.row[i] = before[i - limit.at] end end
  return changed
end

local function resetRow(rule, w, besides)
  local used = 0
  for j = 1, rule.count do
    local limit = rule.limits[j]
    used = used + ifChanged(w, limit, function() return reset(w.row, limit.at, limit, now, besides[j]) end)
    keepLeased(w, limit, besides[j])
    w.sums[j] = w.sums[j] + VOID
  end
  w.extras = {}
  return used
end

-- A claim: its end, a question mark, whose it is. A record: its end, the fingerprint, the answer.
local function record(operation, name, owner, life, fingerprint, body)
  local known = call('GET', name)
  local ends = known and read('<d', known) or 0
  if ends <= now or ends > now + 300000000 + GRACE then known = false end
  local mine = known and sub(known, 9) == '?' .. owner
  if operation == UNCLAIM then
    if mine then call('DEL', name) end
    return '0'
  end
  if known and not mine then
    if sub(known, 9, 9) == '?' then return 'p' end
    if sub(known, 9, 8 + #fingerprint) ~= fingerprint then return 'c' end
    return 'r' .. known
  end
  local rest = operation == CLAIM and '?' .. owner or fingerprint .. body
  call('SET', name, pack('<d', now + life * 1000) .. rest, 'PX', life)
  return '1'
end

-- Makes what is not there, saying nothing: a row of zeros, a log with one entry of long ago, holds with
-- one that has expired. While a slot moves, a call needs all its keys in one place.
local function create(name, letter, blank)
  if call('EXISTS', name) == 1 then return end
  if letter == 'e' then call('RPUSH', name, pack('<dd', 0, 0))
  elseif letter == 'c' then call('ZADD', name, 0, '')
  else call('SET', name, blank) end
  call('PEXPIRE', name, GRACE / 1000)
end

while at <= streamEnd do
  local operation, rule, text, count = stream[at], rules[stream[at + 1]], stream[at + 2], stream[at + 3]
  at = at + 4
  key = key + 1
  if operation == BEAT then
    local name, id = KEYS[key], ARGV[text]
    call('ZADD', name, format('%.0f', now), id)
    call('ZREMRANGEBYSCORE', name, '-inf', format('%.0f', now - 7000000))
    call('ZREMRANGEBYSCORE', name, format('(%.0f', now + GRACE), '+inf')
    call('PEXPIRE', name, 60000)
    answer(call('ZCARD', name))
  elseif operation == CREATE then
    create(KEYS[key], ARGV[text], ARGV[text + 1])
    answer(0)
  elseif operation >= CLAIM then
    answer(record(operation, KEYS[key], ARGV[text], tonumber(ARGV[text + 1]), ARGV[text + 2], ARGV[text + 3]))
  else
    local rowKey = KEYS[key]
    local w, besides = open(rule, call('GET', rowKey)), nil
    besides, key = besidesOf(rule, w, key)
    restartIfAhead(rule, w, besides, rowKey)
    local dirty = false
    if operation == RESET then
      local used = resetRow(rule, w, besides)
      dirty = w.found
      if used > 0 then w.last = max(w.last, now) end
      answer(used > 0 and 1 or 0)
    elseif operation == RENEW then
      local first
      for j, beside in pairs(besides) do
        if rule.limits[j].kind == 4 then
          local expiry = renewHold(rule.limits[j], now, beside, ARGV[text])
          if not first or expiry < first then first = expiry end
          if expiry > 0 then call('PEXPIRE', beside.key, ceil((beside:lastExpiry() - now + GRACE) / 1000)) end
        end
      end
      answer(first or 0)
    elseif operation == RELEASE then
      local released = 0
      for j, beside in pairs(besides) do
        if rule.limits[j].kind == 4 then
          if beside:expiryOf(ARGV[text]) > now then released = released + 1 end
          beside:remove(ARGV[text])
        end
      end
      answer(released)
    else
      for _ = 1, count do
        local j = stream[at]
        local limit = rule.limits[j]
        local changed = ifChanged(w, limit, function() return change(operation, w, besides, limit, j, at) end)
        if changed > 0 then dirty = true end
        answer(changed)
        at = at + ITEM
      end
    end
    if dirty then
      if operation ~= RESET then w.last = max(w.last, now) end
      save(rule, rowKey, w, besides)
    end
  end
end
reply[1] = stepped and -now or now
return reply
