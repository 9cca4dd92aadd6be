-- Decides transactions one after the other: each takes from every limit of its rules, or from none.
-- KEYS     of each transaction: its idempotency record if it has one, then of each rule the row and what
--          its logs and holds keep beside
-- ARGV     1: doubles: the time or 0, how many rules, then runs of transactions that ask the same: how
--          many, dry run, hold id, idempotency (places in ARGV or 0), rules; of each rule its number and
--          the cost. A lease is a run of one: 2 for dry run, how many reports, how many are wanted, half the
--          numbers that follow: the rule's number, a zero, six of each report. From 2 on: of each rule its numbers and the names of its columns; then the texts.
-- returns  the time, negative where a row was found that a clock wrote which has since stepped back; letters: of each transaction 1 allowed, 0 denied, b other calendar bounds are needed,
--          r replayed, c conflict, p in progress, x a key that is no row, then of each of its rules what stands for it in the
--          third text: n the row as it was found, s the same with sums of refunds, from which the caller
--          reckons the answer as this script did; v what was ever taken and the verdicts, where that would
--          not do; - nothing. Of a lease: how many, the period, the row's birth, the server's run, the end,
--          what is out, what was ever taken and the verdicts. After that the records that are replayed.
--
-- This part is what nearly all calls need, and short, because Redis runs all of it at every call: rules of
-- nothing but buckets, whose row is missing or was written by the same rule. Everything else is in
-- wide(), whose functions come into being when they are first needed. rows.lua says how rows are kept.
local call, pack, read, sub, rep = redis.call, struct.pack, struct.unpack, string.sub, string.rep
local KEYS, ARGV, unpack = KEYS, ARGV, unpack
local WIDTH, FIXED, GRACE, STEP, HORIZON = 7, 4, 60000000, 60000000, 3162240000000000

-- Whether a row was found that a clock wrote which has since stepped back.
local stepped = false

local streamEnd = #ARGV[1] / 8
local stream = { read('<' .. rep('d', streamEnd), ARGV[1]) }
-- Tests pass the time in; everyone else is told the server's.
local now = stream[1]
if now == 0 then
  local time = call('TIME')
  now = time[1] * 1000000 + time[2]
end

local rules = {}
for i = 1, stream[2] do
  local n = { read('<' .. rep('d', #ARGV[2 * i] / 8), ARGV[2 * i]) }
  local limits, p, place, at = {}, 4, FIXED + 1, 0
  for j = 1, n[2] do
    local limit = {
      kind = n[p], amount = n[p + 1], window = n[p + 2], burst = n[p + 3], mostCost = n[p + 3],
      whole = n[p + 4], rest = n[p + 5],
      burstWhole = n[p + 6], burstRest = n[p + 7], queues = n[p + 8] == 1, tick = n[p + 9], ticks = n[p + 10],
      cell = n[p + 11], since = n[p + 12], slowdown = n[p + 13], place = place, at = at,
    }
    place = place + (limit.rest == 0 and 1 or 2)
    at = at + n[p + 14]
    local bounds = n[p + 15]
    if limit.kind > 0 then
      limit.bounds = {}
      for b = 1, bounds do limit.bounds[b] = n[p + 15 + b] end
    end
    p = p + 16 + bounds
    limits[j] = limit
  end
  local names, doubles = ARGV[2 * i + 1], rep('d', place - FIXED - 1)
  rules[i] = {
    limits = limits, count = n[2], shadow = n[1] == 1, plain = n[3] == 1, names = names, length = #names,
    sizes = { [#names + 1 + 8 * (place - 1)] = true, [#names + 1 + 8 * (place - 1 + n[2])] = true },
    width = at, last = place - 1, tats = '<dddd' .. doubles, after = tostring(#names + 1),
  }
end

-- When a slower variant of the rule would find the row empty that this one finds empty at `time`.
local function slower(time, limit)
  return now + min(ceil((time - now) * limit.slowdown), HORIZON)
end
