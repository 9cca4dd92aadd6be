-- What is rarer still: changes of rows that are no decisions, records of requests that are decided in several
-- slots, beats.
-- KEYS     of a change the row and what it keeps beside; of all others the one key.
-- ARGV     where the operation says: the hold's id; the record's owner, life, fingerprint and answer; the
--          instance's id; a new key's kind and value. Items are in the stream.
-- returns  a letter for the operation; one for its row: v and its numbers (one for each item, or one), or nothing (-).

-- What is leased out of a window or a log stays charged, whatever is given back: somebody may spend it yet.
local function keepLeased(w, limit, beside)
  if w.lease and limit.kind ~= BUCKET then atLeast(w.row, limit.at, limit, leasedOut(w.lease), now, beside) end
end

-- By how much an item changed its limit j.
local function changeLimit(code, w, sides, limit, item)
  local j, amount, mark, markRest, takenUnder, givenBack, takenAt = unpack(stream, item, item + ITEM_WIDTH - 1)
  local row, at, beside = w.row, limit.at, sides[j]
  if code == REFUND then
    if not w.found or takenAt < w.birth then return 0 end
    local since = w.sums[j] - givenBack
    local given = refund(row, at, limit, amount, now, mark, markRest, takenUnder, since, beside)
    if limit.kind == BUCKET then w.sums[j] = w.sums[j] + given end
    return given
  end
  if code == GRANT then
    local given = grant(row, at, limit, amount, now, beside)
    keepLeased(w, limit, beside)
    if given > 0 then w.sums[j] = w.sums[j] + amount end
    return given
  end
  if code == CHARGE then return charge(row, at, limit, amount, now, beside) end
  return atLeast(row, at, limit, amount, now, beside)
end

-- Calls `step` for a limit. If that changed nothing, the limit's numbers are put back as they were read.
local function ifChanged(w, limit, step)
  local first, last = limit.at + 1, limit.at + widthOf(limit.kind)
  local before = { unpack(w.row, first, last) }
  local changed = step()
  if changed == 0 then for i = first, last do w.row[i] = before[i - limit.at] end end
  return changed
end

local function resetRow(rule, w, sides)
  local used = 0
  for j = 1, rule.count do
    local limit = rule.limits[j]
    used = used + ifChanged(w, limit, function() return reset(w.row, limit.at, limit, now, sides[j]) end)
    keepLeased(w, limit, sides[j])
    w.sums[j] = w.sums[j] + RESET
  end
  w.otherColumns = {}
  return used
end

-- The earliest new expiry of the row's limits; 0 if none holds the id any more.
local function renewRow(rule, sides, id)
  local first
  for j, beside in pairs(sides) do
    if rule.limits[j].kind == CONCURRENCY then
      local expiry = renewHold(rule.limits[j], now, beside, id)
      if not first or expiry < first then first = expiry end
      if expiry > 0 then call('PEXPIRE', beside.key, ceil((beside:lastExpiry() - now + GRACE_US) / 1000)) end
    end
  end
  return first or 0
end

-- How many of the row's limits held the id.
local function releaseRow(rule, sides, id)
  local released = 0
  for j, beside in pairs(sides) do
    if rule.limits[j].kind == CONCURRENCY then
      if beside:expiryOf(id) > now then released = released + 1 end
      beside:remove(id)
    end
  end
  return released
end

-- Returns one number for each item, or one for the row.
local function changeRow(code, at, text, items)
  local rule, rowKey = rules[stream[at]], KEYS[usedKeys]
  local w = open(rule, call('GET', rowKey))
  local sides = sidesOf(rule, w)
  restartIfAhead(rule, w, sides, rowKey)
  if code == RENEW then return { renewRow(rule, sides, ARGV[text]) } end
  if code == RELEASE then return { releaseRow(rule, sides, ARGV[text]) } end
  if code == RESET_ROW then
    local used = resetRow(rule, w, sides)
    if used > 0 then w.last = max(w.last, now) end
    if w.found then save(rule, rowKey, w, sides) end
    return { used > 0 and 1 or 0 }
  end
  local changed, dirty = {}, false
  for i = 1, items do
    local item = at + PAIR + ITEM_WIDTH * (i - 1)
    local limit = rule.limits[stream[item]]
    changed[i] = ifChanged(w, limit, function() return changeLimit(code, w, sides, limit, item) end)
    if changed[i] > 0 then dirty = true end
  end
  if dirty then
    w.last = max(w.last, now)
    save(rule, rowKey, w, sides)
  end
  return changed
end

-- Creates a key that does not exist: a row of zeros, a log with one entry of long ago, holds with one that has
-- expired. While a slot moves, a call needs all its keys in one place.
local function create(name, kind, blank)
  if call('EXISTS', name) == 1 then return end
  if kind == 'e' then call('RPUSH', name, pack('<dd', 0, 0))
  elseif kind == 'c' then call('ZADD', name, 0, '')
  else call('SET', name, blank) end
  call('PEXPIRE', name, GRACE_US / 1000)
end

-- How many instances have sent a heartbeat in the last COUNTED_FOR microseconds, this one included.
local COUNTED_FOR = 7000000
local INSTANCES_LIVE_MS = 60000
local function beat(name, id)
  call('ZADD', name, format('%.0f', now), id)
  call('ZREMRANGEBYSCORE', name, '-inf', format('%.0f', now - COUNTED_FOR))
  call('ZREMRANGEBYSCORE', name, format('(%.0f', now + GRACE_US), '+inf')
  call('PEXPIRE', name, INSTANCES_LIVE_MS)
  return call('ZCARD', name)
end

local function changeRecord(code, name, text)
  local owner, life, fingerprint, body = unpack(ARGV, text, text + 3)
  local known = recordOf(name)
  local mine = known and sub(known, RECORD_TEXT_AT) == '?' .. owner
  if code == UNCLAIM then
    if mine then call('DEL', name) end
    return '1'
  end
  if known and not mine then return letterOf(known, fingerprint) end
  local rest = code == CLAIM and '?' .. owner or fingerprint .. body
  call('SET', name, pack('<d', now + life * 1000) .. rest, 'PX', life)
  return '1'
end

-- Does an operation: `text` is the place of its texts in ARGV, `items` how many it has.
return function(code, at, text, items)
  local letter, numbers = '1', {}
  usedKeys = usedKeys + 1
  local key = KEYS[usedKeys]
  if code < CREATE then numbers = changeRow(code, at, text, items)
  elseif code == BEAT then numbers = { beat(key, ARGV[text]) }
  elseif code == CREATE then create(key, ARGV[text], ARGV[text + 1])
  else letter = changeRecord(code, key, text) end
  texts[textCount + 1] = pack('<' .. rep('d', #numbers), unpack(numbers))
  letters[letterCount + 1], letters[letterCount + 2] = letter, #numbers > 0 and 'v' or '-'
end
