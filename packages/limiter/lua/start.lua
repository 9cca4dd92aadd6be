-- The script that does everything the store asks of Redis: operations on rows of one slot, one after the other.
-- A transaction takes from every limit of its rules, or from none.
--
-- KEYS     of each operation, in order: of a transaction its idempotency record if it has one; then of each
--          rule the row, and what its logs and holds keep beside it. Of records, beats and CREATE the one key.
-- ARGV     1: doubles: the time or 0, how many rules, then operations. Each has HEAD numbers: how many
--          in a row are the same, which it is (script-protocol.ts), two that depend on it, and how many pairs
--          follow. A pair is a rule (from 1 on; 0: none) and the cost.
--            transactions   the places in ARGV of the hold's id, and of fingerprint and description; 0: none.
--                           A pair for each rule.
--            LEASE          how many reports, how many tokens are wanted. The rule, then the reports.
--            changes        the place in ARGV of the hold's id, how many items. The rule, then the items.
--            records        the place in ARGV of owner, life in milliseconds, fingerprint and answer.
--            BEAT, CREATE   the place in ARGV of the instance's id; of the key's kind and its value.
--          From 2 on: of each rule its numbers and the names of its columns; then the texts.
-- returns  1: the time, negative if a row was found that was written by a clock that has since stepped back.
--          2: letters: of each operation 1 done or allowed, 0 denied, b other calendar bounds are needed,
--             r replayed, c conflict, p in progress, x it failed (its key is of another type); then one letter for
--             each row, which says what the third text has for it: n the row as it was found, s the same
--             with sums of refunds (the caller computes the answer from it as this script did), v numbers,
--             - nothing.
--          3: texts. Numbers are, of a transaction what was ever taken from the row and the verdicts; of a
--             lease LEASE_REPLY_WIDTH numbers (how many, the period, the row's birth, the server's run, the
--             end, what is out, what was ever taken) and the verdicts; of a change one for each item; of RENEW, RELEASE,
--             RESET_ROW and BEAT one; of CREATE and records none.
--          4 on: records that are replayed.
--
-- This part reads the arguments. Constants in capitals are put in as numbers by scripts/generate-lua.mjs:
-- those of the algorithms, of script-protocol.ts and of transaction.ts, and those that a Lua file defines alone on a
-- line, as below.
local call, pack, read, sub, rep = redis.call, struct.pack, struct.unpack, string.sub, string.rep
local KEYS, ARGV, unpack = KEYS, ARGV, unpack
-- A key's expiry is set this much later than needed, in microseconds, so that most writes need not move it.
local STEP = 60000000
-- What a row's numbers begin with, before its columns (rows.lua).
local EXPIRES = 1
local BIRTH = 2
local WRITTEN = 3
local TAKEN = 4
local FIXED = 4

-- A row's text is the names of its columns; behind it come a mark and the numbers, each of DOUBLE bytes.
local MARK_AT = 1
local NUMBERS_AT = 2
local DOUBLE = 8
-- A record begins with the time of its end; its text begins at this byte.
local RECORD_TEXT_AT = 9
-- Where the stream has the time, how many rules there are, and the first operation.
local TIME_AT = 1
local RULES_AT = 2
local OPERATIONS_AT = 3
-- Numbers of a pair.
local PAIR = 2
-- Numbers of a rule before its limits, and of a limit before the boundaries of its calendar.
local RULE_HEAD = 3
local LIMIT_HEAD = 16

-- Whether a row was found that was written by a clock that has since stepped back.
local stepped = false

local streamEnd = #ARGV[1] / DOUBLE
local stream = { read('<' .. rep('d', streamEnd), ARGV[1]) }
-- Tests pass the time in; otherwise it is the server's.
local now = stream[TIME_AT]
if now == 0 then
  local time = call('TIME')
  now = time[1] * 1000000 + time[2]
end

-- Of a rule: whether it is in shadow, how many limits, whether all are buckets; then its limits. `place`: the first of
-- its numbers in a row of buckets as Redis keeps it. `at`: how many numbers are before the limit's in a row as the
-- algorithms know it. `slowdown`: a bucket's amount divided by the smallest amount of its family.
local rules = {}
for i = 1, stream[RULES_AT] do
  local numbers, names = ARGV[2 * i], ARGV[2 * i + 1]
  local n = { read('<' .. rep('d', #numbers / DOUBLE), numbers) }
  local shadow, count, plain = unpack(n, 1, RULE_HEAD)
  local limits, p, place, at = {}, RULE_HEAD + 1, FIXED + 1, 0
  for j = 1, count do
    local kind, amount, window, burst, whole, rest, burstWhole, burstRest, queues, tick, ticks, cell, since,
      slowdown, width, bounds = unpack(n, p, p + LIMIT_HEAD - 1)
    p = p + LIMIT_HEAD
    local limit = {
      kind = kind, amount = amount, window = window, burst = burst, mostCost = burst, whole = whole, rest = rest,
      burstWhole = burstWhole, burstRest = burstRest, queues = queues == 1, tick = tick, ticks = ticks,
      cell = cell, since = since, slowdown = slowdown, place = place, at = at,
    }
    place = place + (rest == 0 and 1 or 2)
    at = at + width
    if kind ~= BUCKET then limit.bounds = { unpack(n, p, p + bounds - 1) } end
    p = p + bounds
    limits[j] = limit
  end
  rules[i] = {
    limits = limits, count = count, shadow = shadow == 1, plain = plain == 1, names = names, length = #names,
    sizes = {
      [#names + MARK_AT + DOUBLE * (place - 1)] = true,
      [#names + MARK_AT + DOUBLE * (place - 1 + count)] = true,
    },
    width = at, last = place - 1, tats = '<' .. rep('d', place - 1), after = tostring(#names + MARK_AT),
  }
end

-- When the row is empty under the slowest variant of the rule, if it is empty at `time` under this one.
local function slower(time, limit)
  return now + min(ceil((time - now) * limit.slowdown), HORIZON_US)
end

-- How many of KEYS were used. Whoever uses one counts it.
local usedKeys = 0
-- What is answered, and how far it is: texts and letters so far.
local texts, letters, records = {}, {}, {}
local textCount, letterCount = 0, 0
