-- What few calls need: transactions with other rows than plain.lua knows, idempotency records, and leases.
-- KEYS     of a transaction its record if it has one; then of each rule the row and what it keeps beside.
-- ARGV     the hold's id, the request's fingerprint and its description, where the operation says; reports and
--          pairs are in the stream.
-- returns  a letter for the operation; of each row v and its text: of a transaction what was ever taken from it and
--          the verdicts, of a lease its LEASE_REPLY_WIDTH numbers and the verdicts. Nothing (-) for a row of a
--          transaction that its record answers, and of a lease that needs other calendar bounds.
--
-- Verdicts are in `out`, VERDICT_WIDTH numbers for each limit. Of rule i: opened[i] is the row, sidesOfRow[i] what it
-- keeps beside, keysAt[i] the row's place in KEYS.
local out, opened, sidesOfRow, keysAt = {}, {}, {}, {}

local function takeAll(i, rule, cost, hold, o)
  local w, sides, taken = opened[i], sidesOfRow[i], false
  for j = 1, rule.count do
    local at = o + (j - 1) * VERDICT_WIDTH
    if out[at + STATUS + 1] == YES then
      local limit = rule.limits[j]
      out[at + GIVEN_BACK + 1] = w.sums[j]
      take(w.row, limit.at, limit, cost, now, out, at, sides[j], hold)
      if w.lease and limit.kind == BUCKET then noteLeasesOut(limit, leasedOut(w.lease), out, at) end
      taken = true
    end
  end
  if not taken then return end
  w.last, w.birth = max(w.last, now), min(w.birth, now)
  w.taken = w.taken + cost
  save(rule, KEYS[keysAt[i]], w, sides)
end

-- A denial may extend the row's expiry: slower variants of the rule need the row for longer.
local function keepLonger(i, rule)
  local w, sides = opened[i], sidesOfRow[i]
  if not w.found then return end
  for j = 1, rule.count do
    local limit, amount = rule.limits[j], w.row[rule.limits[j].at + AMOUNT + 1]
    if limit.kind == BUCKET and amount ~= 0 and amount ~= limit.amount then
      if goesAt(rule, w, sides) + GRACE_US > w.expires then save(rule, KEYS[keysAt[i]], w, sides) end
      return
    end
  end
end

-- `hold` is the hold's id; empty if there is none.
local function decideWide(at, n, dry, hold)
  local allowed, other, o, pair = true, false, 0, at
  for i = 1, n do
    local rule, cost = rules[stream[pair]], stream[pair + 1]
    pair = pair + PAIR
    usedKeys = usedKeys + 1
    keysAt[i] = usedKeys
    local w = open(rule, call('GET', KEYS[usedKeys]))
    local sides = sidesOf(rule, w)
    restartIfAhead(rule, w, sides, KEYS[keysAt[i]])
    opened[i], sidesOfRow[i] = w, sides
    for j = 1, rule.count do
      local limit = rule.limits[j]
      for p = 2, VERDICT_WIDTH do out[o + p] = 0 end
      decide(w.row, limit.at, limit, cost, now, out, o, sides[j], hold)
      local status = out[o + STATUS + 1]
      if w.lease and limit.kind == BUCKET and status == NOT_NOW then
        out[o + GO_AT + 1] = leasedGoAt(w.row, limit.at, limit, w.lease, cost, now)
      end
      if status == OTHER_BOUNDS then other = true end
      if status ~= YES and not rule.shadow then allowed = false end
      o = o + VERDICT_WIDTH
    end
  end
  o, pair = 0, at
  for i = 1, n do
    local rule, cost = rules[stream[pair]], stream[pair + 1]
    pair = pair + PAIR
    if other or dry then
      -- Nothing is taken.
    elseif allowed then
      takeAll(i, rule, cost, hold, o)
    else
      keepLonger(i, rule)
    end
    local width = rule.count * VERDICT_WIDTH
    texts[textCount + i] = pack('<d' .. rep('d', width), opened[i].taken, unpack(out, o + 1, o + width))
    letters[letterCount + 1 + i] = 'v'
    o = o + width
  end
  letters[letterCount + 1] = other and 'b' or allowed and '1' or '0'
end

-- Which run of the server this is, as a number. A replica that has become the primary is another one, and
-- may know nothing of what was leased before.
local run
local function runOfServer()
  run = run or tonumber(sub(match(call('INFO', 'server'), 'run_id:(%x+)'), 1, 12), 16)
  return run
end

-- A report: of which lease it is (its period, the row's birth, the server's run, when it was granted), how many
-- were spent and how many are given back. What the row does not know of changes nothing.
local function applyReport(rule, w, sides, at)
  local period, birth, from, grantedAt, spent, back = unpack(stream, at, at + REPORT_WIDTH - 1)
  if not w.found or birth ~= w.birth or from ~= runOfServer() then return false end
  if not w.lease or not reportLease(w.lease, period, spent + back) then return false end
  if back > 0 then
    for j = 1, rule.count do
      local limit = rule.limits[j]
      returnLease(w.row, limit.at, limit, back, grantedAt, now, sides[j])
    end
    w.taken = w.taken - back
  end
  return true
end

-- How many can be leased from every limit of the row; 0 if fewer than 2.
local function leasableOf(rule, w, sides, want)
  local n = want
  for j = 1, rule.count do
    local limit, o = rule.limits[j], (j - 1) * VERDICT_WIDTH
    decide(w.row, limit.at, limit, 1, now, out, o, sides[j], '')
    n = leasable(limit, out[o + REMAINING + 1], w.lease, n)
  end
  return n < 2 and 0 or n
end

-- Reports, then a grant of at most `want`: the same taken from every limit.
local function leaseOne(at, reports, want)
  usedKeys = usedKeys + 1
  local rule, rowKey = rules[stream[at]], KEYS[usedKeys]
  local w = open(rule, call('GET', rowKey))
  local sides = sidesOf(rule, w)
  restartIfAhead(rule, w, sides, rowKey)
  -- It will be sent again with other bounds, reports and all: no report is applied yet.
  for j = 1, rule.count do
    decide(w.row, rule.limits[j].at, rule.limits[j], 1, now, out, 0, sides[j], '')
    if out[STATUS + 1] == OTHER_BOUNDS then
      texts[textCount + 1], letters[letterCount + 1], letters[letterCount + 2] = '', 'b', '-'
      return
    end
  end
  -- Fails where INFO is not allowed: before anything is taken.
  local server = runOfServer()
  local dirty = false
  for i = 0, reports - 1 do
    if applyReport(rule, w, sides, at + PAIR + REPORT_WIDTH * i) then dirty = true end
  end
  local ends = 0
  for i = 1, rule.count * VERDICT_WIDTH do out[i] = 0 end
  if not w.lease then
    w.lease = { 0, 0, 0 }
    clearLeases(w.lease, now)
  end
  if want > 0 then setLead(rule, true) end
  local n = leasableOf(rule, w, sides, want)
  if n > 0 then
    ends = noteLease(w.lease, n)
    for j = 1, rule.count do
      local limit, o = rule.limits[j], (j - 1) * VERDICT_WIDTH
      decide(w.row, limit.at, limit, n, now, out, o, sides[j], '')
      out[o + GIVEN_BACK + 1] = w.sums[j]
      take(w.row, limit.at, limit, n, now, out, o, sides[j], '')
      ends = leaseEnd(limit, out[o + MARK + 1], ends)
      if limit.kind == BUCKET then noteLeasesOut(limit, leasedOut(w.lease), out, o) end
    end
    w.birth = min(w.birth, now)
    w.taken = w.taken + n
  end
  if n > 0 or dirty then
    w.last = max(w.last, now)
    save(rule, rowKey, w, sides)
  end
  local period = w.lease[PERIOD + 1]
  texts[textCount + 1] = pack('<' .. rep('d', LEASE_REPLY_WIDTH + rule.count * VERDICT_WIDTH), n, period, w.birth,
    server, ends, leasedOut(w.lease), w.taken, unpack(out, 1, rule.count * VERDICT_WIDTH))
  letters[letterCount + 1], letters[letterCount + 2] = '1', 'v'
end

-- A transaction with an idempotency key.
local function decideOnce(at, n, hold, textsAt)
  usedKeys = usedKeys + 1
  local record, fingerprint, description = KEYS[usedKeys], ARGV[textsAt], ARGV[textsAt + 1]
  local known = recordOf(record)
  if known then
    for i = 1, n do
      texts[textCount + i], letters[letterCount + 1 + i] = '', '-'
      usedKeys = usedKeys + 1
      sidesOf(rules[stream[at + PAIR * (i - 1)]], { row = {} })
    end
    letters[letterCount + 1] = letterOf(known, fingerprint)
    return
  end
  decideWide(at, n, false, hold)
  if letters[letterCount + 1] == '1' then
    local answer = table.concat(texts, '', textCount + 1, textCount + n)
    local value = pack('<d', now + REPLAYABLE_US) .. fingerprint .. pack('<dI4', now, #description) .. description .. answer
    call('SET', record, value, 'PX', REPLAYABLE_US / 1000)
  end
end

local changing
-- Does an operation: as `run` in plain.lua.
return function(code, at, n, one, two)
  if code <= LOOK then
    local hold = one > 0 and ARGV[one] or ''
    if two > 0 then return decideOnce(at, n, hold, two) end
    return decideWide(at, n, code == LOOK, hold)
  end
  if code == LEASE then return leaseOne(at, one, two) end
  changing = changing or change()
  changing(code, at, one, two)
end
