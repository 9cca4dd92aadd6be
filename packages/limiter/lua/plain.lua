-- What nearly all calls need, and short, because Redis runs all of it at every call: transactions with rules
-- of nothing but buckets, whose row is missing or was written by the same rule. Everything else is in wide(),
-- whose functions are created when they are first needed. rows.lua says how rows are kept.
-- KEYS     of each transaction its rows: buckets keep nothing beside.
-- ARGV     1: the operations, from stream[OPERATIONS_AT] on: their HEAD numbers, then the pairs, which start at stream[at].
-- returns  all that was answered (start.lua). A row of a transaction here is as it was found (n, or s with sums of
--          refunds), or nothing (-). An operation that failed is x, and its rows have no text (-).
--
-- Of limit j of a transaction: out[o + j] is its next TAT, or -1; fractions[o + j] its fraction. Of rule i:
-- opened[i] are the row's numbers, sumsText[i] the text that follows them; false if there is no row yet.
local out, fractions, opened, sumsText = {}, {}, {}, {}
local slow

-- Writes a row in the layout that it has: nothing but TATs, the time of the last write and what was taken
-- change.
local function saveTats(i, rule, rowKey, cost, o)
  local numbers, sums, goes = opened[i], sumsText[i], 0
  for j = 1, rule.count do
    local t = out[o + j]
    if t >= 0 then
      local limit = rule.limits[j]
      numbers[limit.place] = t
      if limit.rest > 0 then numbers[limit.place + 1] = fractions[o + j] end
      if limit.slowdown > 1 then t = slower(t, limit) end
      if t > goes then goes = t end
    end
  end
  if goes == 0 then return end
  goes = goes + 1 + GRACE_US
  if now > numbers[WRITTEN] then numbers[WRITTEN] = now end
  if now < numbers[BIRTH] then numbers[BIRTH] = now end
  numbers[TAKEN] = numbers[TAKEN] + cost
  if sums and goes <= numbers[EXPIRES] then
    call('SETRANGE', rowKey, rule.after, pack(rule.tats, unpack(numbers, 1, rule.last)))
    return
  end
  numbers[EXPIRES] = goes + STEP
  local mark = sums and sums ~= '' and 'R' or '-'
  local value = rule.names .. mark .. pack(rule.tats, unpack(numbers, 1, rule.last)) .. (sums or '')
  call('SET', rowKey, value, 'PX', ceil((numbers[EXPIRES] - now) / 1000))
end

-- A transaction with n rules. False if one of them needs more than this: then nothing has been written.
local function decidePlain(at, n, dry)
  local allowed, o, first, pair = true, 0, usedKeys, at
  for i = 1, n do
    local rule, cost = rules[stream[pair]], stream[pair + 1]
    pair = pair + PAIR
    if not rule.plain then usedKeys = first return false end
    usedKeys = usedKeys + 1
    local value, length, numbers = call('GET', KEYS[usedKeys]), rule.length, nil
    if not value then
      numbers = { 0, now, 0, 0 }
      for p = FIXED + 1, rule.last do numbers[p] = 0 end
      value, sumsText[i] = '', false
    elseif sub(value, 1, length) == rule.names and rule.sizes[#value] then
      numbers = { read(rule.tats, value, length + NUMBERS_AT) }
      sumsText[i] = sub(value, length + NUMBERS_AT + DOUBLE * rule.last)
    else
      usedKeys = first
      return false
    end
    if numbers[WRITTEN] > now + GRACE_US then usedKeys = first return false end
    opened[i] = numbers
    texts[textCount + i] = value
    letters[letterCount + 1 + i] = not sumsText[i] and '-' or sumsText[i] == '' and 'n' or 's'
    local limits = rule.limits
    for j = 1, rule.count do
      local limit, next = limits[j], -1
      if limit.rest == 0 then
        next = nextTat(numbers[limit.place], limit, cost, now)
      else
        local verdict = {}
        decideTat(numbers[limit.place], numbers[limit.place + 1], limit, cost, now, verdict, 0)
        if verdict[STATUS + 1] == YES then next, fractions[o + j] = verdict[MARK + 1], verdict[MARK_REST + 1] end
      end
      out[o + j] = next
      if next < 0 and not rule.shadow then allowed = false end
    end
    o = o + rule.count
  end
  if allowed and not dry then
    o, pair = 0, at
    for i = 1, n do
      local rule = rules[stream[pair]]
      saveTats(i, rule, KEYS[first + i], stream[pair + 1], o)
      o, pair = o + rule.count, pair + PAIR
    end
  end
  letters[letterCount + 1] = allowed and '1' or '0'
  textCount, letterCount = textCount + n, letterCount + 1 + n
  return true
end

-- `n`: how many pairs of numbers it has. `one` and `two` are the operation's own two numbers.
local function run(code, at, n, one, two)
  if code <= LOOK and two == 0 and decidePlain(at, n, code == LOOK) then return end
  slow = slow or wide()
  slow(code, at, n, one, two)
  local rows = code > LOOK and 1 or n
  textCount, letterCount = textCount + rows, letterCount + 1 + rows
end

-- An error within an operation fails that operation and no other: most often its key is of another type. A decision
-- has taken nothing by then; a release or a renewal may have done a part. What Redis itself refuses fails the whole call.
local function failOperation(at, rows, hasRecord, keysBefore, problem)
  local text = type(problem) == 'table' and problem.err or tostring(problem)
  for _, refusal in ipairs({ 'OOM', 'READONLY', 'MISCONF', 'NOREPLICAS', 'MASTERDOWN', 'CLUSTERDOWN', 'non local key' }) do
    if string.find(text, refusal, 1, true) then error(problem) end
  end
  usedKeys = hasRecord and keysBefore + 1 or keysBefore
  letters[letterCount + 1] = 'x'
  for i = 1, rows do
    local rule = rules[stream[at + PAIR * (i - 1)]]
    usedKeys = usedKeys + 1
    for j = 1, rule and rule.count or 0 do
      if rule.limits[j].kind >= SLIDING_LOG then usedKeys = usedKeys + 1 end
    end
    texts[textCount + i], letters[letterCount + 1 + i] = '', '-'
  end
  textCount, letterCount = textCount + rows, letterCount + 1 + rows
end

local at = OPERATIONS_AT
while at <= streamEnd do
  local times, code, one, two, n = unpack(stream, at, at + HEAD - 1)
  at = at + HEAD
  for _ = 1, times do
    local keysBefore = usedKeys
    local done, problem = pcall(run, code, at, n, one, two)
    if not done then
      local isTransaction = code <= LOOK
      failOperation(at, isTransaction and n or 1, isTransaction and two > 0, keysBefore, problem)
    end
  end
  at = at + PAIR * n
end
return { stepped and -now or now, table.concat(letters), table.concat(texts), unpack(records) }
