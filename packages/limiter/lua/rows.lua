-- How rows are read and written.
-- KEYS     the row's, which is handed in, and those of what it keeps beside (side-keys.lua).
-- ARGV     2 on: the rule's numbers and the names of its columns, as start.lua has read them.
-- returns  nothing: the callers answer.
--
-- Rows as they are kept in Redis: one string for all limits of one rule and one subject value,
--   1t60000000=10,f3600000000;-  then doubles: expires, birth, last, taken, and each column's numbers.
-- The text names the columns: a letter for the algorithm, the window, of buckets the amount that they
-- were written under. A rule uses the columns that it knows, so that changed rules carry use over.
-- The mark after it is R if tokens were given back at some time: a sum for each column follows. It is L if tokens are
-- leased out, or were in a row with a log: sums, the account of leases and one more byte follow. With that byte no such
-- row has the length of another.
--   expires  when the key may go; it is moved in steps, so that most writes leave the key's TTL alone
--   birth    the earliest time that wrote it: a receipt from before is worth nothing
--   last     the latest time that wrote it, which matters to buckets only
--   taken    all that was ever taken, for telling whose part of it is how large
-- A calendar column's window has no number of microseconds: a month of 32 days, which is longer than any.
local LONGEST_MONTH = 2764800000000

local format, gmatch, match = string.format, string.gmatch, string.match

local function isWhole(window, amount) return window - floor(window / amount) * amount == 0 end

-- Numbers of a column, by its letter.
local SIZES = { f = 2, s = 3, e = 2, c = 0 }

-- From its first lease on, the entries of a row's logs get stamps in the future.
local function setLead(rule, leased)
  for j = 1, rule.count do
    local limit = rule.limits[j]
    if limit.kind == SLIDING_LOG then limit.lead = leased and leadOf(limit.window) or 0 end
  end
end

-- Other variants of the rule count in the same row. What is leased out is out of their buckets too.
local function settleOther(other, w)
  if not other.amount then return end
  local numbers = other.numbers
  local row = { numbers[T + 1], other.count == 2 and numbers[F + 1] or 0, other.amount, w.last }
  settleLeases(row, 0, limitNumbers(BUCKET, other.amount, other.window, 1, false), w.lease, now)
  numbers[T + 1] = row[T + 1]
  if other.count == 2 then numbers[F + 1] = row[F + 1] end
end

-- Columns of other variants that still count something.
local function keptOf(otherColumns)
  local kept = {}
  for _, other in ipairs(otherColumns) do
    local first, second = other.numbers[1], other.numbers[2]
    other.empty = other.amount and first + 1 or max(first, second) + 2 * other.window
    if other.empty + GRACE_US > now then kept[#kept + 1] = other end
  end
  return kept
end

-- The row in the algorithms' own numbers, whatever it was written with. `value` is false where there is none.
local function open(rule, value)
  local row, sums, otherColumns, names, index = {}, {}, {}, {}, {}
  local w = {
    row = row, sums = sums, otherColumns = otherColumns, names = names, expires = 0, birth = now, last = 0, taken = 0,
  }
  for i = 1, rule.width do row[i] = 0 end
  for name in gmatch(sub(rule.names, 2, -2), '[^,]+') do
    local bare = match(name, '^[^=]+')
    names[#names + 1] = bare
    sums[#names] = 0
    index[bare] = #names
  end
  local text = value and match(value, '^1([^;]*);')
  if not text then
    setLead(rule, false)
    return w
  end
  w.found = true
  local p, places, hasBucket = 0, {}, false
  -- The text with what encloses it: 1 and a semicolon.
  local length = #text + 2
  w.expires, w.birth, w.last, w.taken, p = read('<dddd', value, length + NUMBERS_AT)
  for name in gmatch(text, '[^,]+') do
    local bare, amount = match(name, '^([^=]+)=?(%d*)$')
    amount = tonumber(amount)
    if amount then hasBucket = true end
    local window = tonumber(match(bare, '^%a(%d+)')) or LONGEST_MONTH
    local count = amount and (isWhole(window, amount) and 1 or 2) or SIZES[sub(bare, 1, 1)]
    local numbers = { read('<' .. rep('d', count), value, p) }
    p = numbers[count + 1]
    local j = index[bare]
    if j then
      local at = rule.limits[j].at
      for i = 1, count do row[at + i] = numbers[i] end
      if amount then
        if count == 1 then row[at + F + 1] = 0 end
        row[at + AMOUNT + 1] = numbers[T + 1] == 0 and 0 or amount
      end
    elseif count > 0 then
      otherColumns[#otherColumns + 1] =
        { name = name, amount = amount, window = window, count = count, numbers = numbers, sum = 0, place = #places + 1 }
    end
    places[#places + 1] = j or 0
  end
  local mark = sub(value, length + MARK_AT, length + MARK_AT)
  if mark ~= '-' then
    local all = { read('<' .. rep('d', #places), value, p) }
    for i = 1, #places do if places[i] > 0 then sums[places[i]] = all[i] end end
    for _, other in ipairs(otherColumns) do other.sum = all[other.place] end
    if mark == 'L' then w.lease = { read('<ddd', value, all[#places + 1]) } end
  end
  setLead(rule, w.lease)
  w.written = w.last
  if not hasBucket then w.last = 0 end
  for j = 1, rule.count do
    if rule.limits[j].kind == BUCKET then row[rule.limits[j].at + LAST + 1] = w.last end
  end
  if w.lease then
    for j = 1, rule.count do settleLeases(row, rule.limits[j].at, rule.limits[j], w.lease, now) end
    for _, other in ipairs(otherColumns) do settleOther(other, w) end
    rollLeases(w.lease, now)
  end
  w.otherColumns = keptOf(otherColumns)
  return w
end

-- When the row says nothing any more, also under the slowest variant of the rule. It is kept for the grace longer.
local function goesAt(rule, w, sides)
  local last = 0
  for j = 1, rule.count do
    local limit = rule.limits[j]
    local empty = emptyAt(w.row, limit.at, limit, sides[j])
    if limit.slowdown > 1 and empty > now then empty = slower(empty, limit) end
    if empty > last then last = empty end
  end
  for _, other in ipairs(w.otherColumns) do if other.empty > last then last = other.empty end end
  return last
end

-- Writes the row and sees to it that what it has beside lives as long.
local function save(rule, key, w, sides)
  local names, numbers, sums, mark, hasLog = {}, {}, {}, '-', false
  local function put(value) numbers[#numbers + 1] = value end
  local goes = goesAt(rule, w, sides) + GRACE_US
  local keep = w.found and goes <= w.expires
  if not keep then w.expires = max(w.expires, goes + STEP) end
  put(w.expires) put(w.birth) put(w.last) put(w.taken)
  for j = 1, rule.count do
    local limit, at = rule.limits[j], rule.limits[j].at
    names[j] = w.names[j]
    if limit.kind == SLIDING_LOG then hasLog = true end
    if limit.kind == BUCKET then
      local amount = w.row[at + AMOUNT + 1]
      if amount == 0 then amount = limit.amount end
      names[j] = format('%s=%d', names[j], amount)
      put(w.row[at + T + 1])
      if not isWhole(limit.window, amount) then put(w.row[at + F + 1]) end
    else
      for i = 1, widthOf(limit.kind) do put(w.row[at + i]) end
    end
    sums[j] = w.sums[j]
  end
  for _, other in ipairs(w.otherColumns) do
    names[#names + 1], sums[#sums + 1] = other.name, other.sum
    if sub(other.name, 1, 1) == 'e' then hasLog = true end
    for i = 1, other.count do put(other.numbers[i]) end
  end
  for j = 1, #sums do if sums[j] > 0 then mark = 'R' end end
  if w.lease and (hasLog or leasedOut(w.lease) > 0) then mark = 'L' end
  if mark ~= '-' then for j = 1, #sums do put(sums[j]) end end
  if mark == 'L' then for i = 1, LEASE_WIDTH do put(w.lease[i]) end end
  local value = '1' .. table.concat(names, ',') .. ';' .. mark .. pack('<' .. rep('d', #numbers), unpack(numbers))
  if mark == 'L' then value = value .. mark end
  local life = max(1, ceil((w.expires - now) / 1000))
  if keep then call('SET', key, value, 'KEEPTTL') else call('SET', key, value, 'PX', life) end
  for _, beside in pairs(sides) do
    beside:trim()
    call('PEXPIRE', beside.key, life)
  end
end
