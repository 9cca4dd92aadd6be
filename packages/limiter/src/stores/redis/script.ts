/** Generated from packages/limiter/{src/algorithms,lua} by `npm run build`; not to be edited. */

export const SCRIPT = `local floor, ceil, max, min = math.floor, math.ceil, math.max, math.min
local spanned = {0.5, 0.5}
local partsOf, span, tokens, decideTat, decideParts, nextTat, decideWhole
function partsOf(n, rest, amount, out)
local product = n * rest
if product < 9007199254740992 then
local q = floor(product / amount)
out[1] = q
out[2] = product - q * amount
return
end
local high = floor(n / 32768)
local low = n - high * 32768
local x = high * rest
local q1 = floor(x / amount)
local y = (x - q1 * amount) * 32768 + low * rest
local q2 = floor(y / amount)
out[1] = q1 * 32768 + q2
out[2] = y - q2 * amount
end
function span(n, limit)
if limit.rest == 0 then
spanned[1] = n * limit.whole
spanned[2] = 0
return
end
partsOf(n, limit.rest, limit.amount, spanned)
spanned[1] = spanned[1] + n * limit.whole
end
function tokens(t, f, limit, most)
if t < 0 or most <= 0 then
return 0
end
if limit.rest == 0 then
return min(
most,
floor(t / limit.whole)
)
end
local guess = floor((t + f / limit.amount) / limit.window * limit.amount)
if guess > most + 1 then
return most
end
local n = guess
span(n, limit)
while n > 0 and (spanned[1] > t or spanned[1] == t and spanned[2] > f) do
n = n - 1
span(n, limit)
end
span(n + 1, limit)
while spanned[1] < t or spanned[1] == t and spanned[2] <= f do
n = n + 1
span(n + 1, limit)
end
return min(most, n)
end
function decideTat(t, f, limit, cost, now, out, o)
if limit.rest == 0 then
decideWhole(
max(t, now),
limit,
cost,
now,
out,
o
)
elseif t < now then
decideParts(
now,
0,
limit,
cost,
now,
out,
o
)
else
decideParts(
t,
f,
limit,
cost,
now,
out,
o
)
end
end
function decideParts(t, f, limit, cost, now, out, o)
local base = t
if f > 0 then
base = t + 1
end
out[o + 3] = base
local roomT = now + limit.burstWhole - t
local roomF = limit.burstRest - f
if roomF < 0 then
roomT = roomT - 1
roomF = roomF + limit.amount
end
if roomT >= 0 then
out[o + 2] = tokens(roomT, roomF, limit, limit.burst)
else
out[o + 2] = -1 - tokens(-1 - roomT, limit.amount - 1 - roomF, limit, 64000000000)
end
if cost > limit.mostCost then
out[o + 1] = 2
out[o + 4] = 0
return
end
span(cost, limit)
local newT = t + spanned[1]
local newF = f + spanned[2]
if newF >= limit.amount then
newT = newT + 1
newF = newF - limit.amount
end
out[o + 5] = newT
out[o + 6] = newF
local topT = now + limit.burstWhole
if newT < topT or newT == topT and newF <= limit.burstRest then
out[o + 1] = 0
out[o + 4] = now
if limit.queues then
out[o + 4] = base
end
return
end
out[o + 1] = 1
local goAt = newT - limit.burstWhole
if newF > limit.burstRest then
goAt = goAt + 1
end
out[o + 4] = goAt
end
function nextTat(t, limit, cost, now)
local next = max(t, now) + cost * limit.whole
if next > now + limit.burstWhole then
return -1
end
return next
end
function decideWhole(t, limit, cost, now, out, o)
local top = now + limit.burstWhole
out[o + 2] = floor((top - t) / limit.whole)
out[o + 3] = t
if cost > limit.mostCost then
out[o + 1] = 2
out[o + 4] = 0
return
end
local next = nextTat(t, limit, cost, now)
out[o + 5] = next
out[o + 6] = 0
if next < 0 then
out[o + 1] = 1
out[o + 4] = t + cost * limit.whole - limit.burstWhole
return
end
out[o + 1] = 0
out[o + 4] = now
if limit.queues then
out[o + 4] = t
end
end
local call, pack, read, sub, rep = redis.call, struct.pack, struct.unpack, string.sub, string.rep
local KEYS, ARGV, unpack = KEYS, ARGV, unpack
local stepped = false
local streamEnd = #ARGV[1] / 8
local stream = { read('<' .. rep('d', streamEnd), ARGV[1]) }
local now = stream[1]
if now == 0 then
local time = call('TIME')
now = time[1] * 1000000 + time[2]
end
local rules = {}
for i = 1, stream[2] do
local numbers, names = ARGV[2 * i], ARGV[2 * i + 1]
local n = { read('<' .. rep('d', #numbers / 8), numbers) }
local shadow, count, plain = unpack(n, 1, 3)
local limits, p, place, at = {}, 3 + 1, 4 + 1, 0
for j = 1, count do
local kind, amount, window, burst, whole, rest, burstWhole, burstRest, queues, tick, ticks, cell, since,
slowdown, width, bounds = unpack(n, p, p + 16 - 1)
p = p + 16
local limit = {
kind = kind, amount = amount, window = window, burst = burst, mostCost = burst, whole = whole, rest = rest,
burstWhole = burstWhole, burstRest = burstRest, queues = queues == 1, tick = tick, ticks = ticks,
cell = cell, since = since, slowdown = slowdown, place = place, at = at,
}
place = place + (rest == 0 and 1 or 2)
at = at + width
if kind ~= 0 then limit.bounds = { unpack(n, p, p + bounds - 1) } end
p = p + bounds
limits[j] = limit
end
rules[i] = {
limits = limits, count = count, shadow = shadow == 1, plain = plain == 1, names = names, length = #names,
sizes = {
[#names + 1 + 8 * (place - 1)] = true,
[#names + 1 + 8 * (place - 1 + count)] = true,
},
width = at, last = place - 1, tats = '<' .. rep('d', place - 1), after = tostring(#names + 1),
}
end
local function slower(time, limit)
return now + min(ceil((time - now) * limit.slowdown), 3162240000000000)
end
local usedKeys = 0
local texts, letters, records = {}, {}, {}
local textCount, letterCount = 0, 0
local function wide()
local tat = {0.5, 0.5}
local rolled = {0.5, 0.5, 0.5}
local left = {0.5, 0.5}
local account = {0.5, 0.5, 0.5}
local leadOf, limitNumbers, convert, noteTake, write, current, decideBucket, takeBucket, bucketEmptyAt, giveBack, addToWindow, startOf, endOf, decideFixedWindow, takeFixedWindow, refundFixedWindow, fixedWindowEmptyAt, roll, writeRolled, chargeSlidingCounter, windowAt, weighted, fadedAt, resetAt, decideSlidingCounter, takeSlidingCounter, refundSlidingCounter, restartSlidingCounter, slidingCounterEmptyAt, stampOf, measure, dropSpent, chargeSlidingLog, newestLeavesAt, decideSlidingLog, takeSlidingLog, refundSlidingLog, restartSlidingLog, slidingLogEmptyAt, decideConcurrency, takeConcurrency, copyAccount, clearLeases, carryLeases, passPeriod, leasedOut, notBefore, settleTo, settleLeases, rollLeases, leasable, noteLease, leaseEnd, reportLease, returnLease, leasedGoAt, noteLeasesOut, restartBucket, isHeldTooLong, canRestart, restart, widthOf, decide, take, emptyAt
function leadOf(window)
return ceil(window / 200)
end
function limitNumbers(kind, amount, window, burst, queues)
local whole = floor(window / amount)
local rest = window - whole * amount
local parts = {0, 0}
if kind == 0 then
partsOf(burst, rest, amount, parts)
end
local tick = ceil(window / 4194304)
local cell = 1
if kind == 3 and amount > 10000 then
cell = ceil(window / 1024)
end
return {
kind = kind,
amount = amount,
window = window,
burst = burst,
mostCost = burst,
whole = whole,
rest = rest,
burstWhole = burst * whole + parts[1],
burstRest = parts[2],
queues = queues,
tick = tick,
ticks = ceil(window / tick),
cell = cell,
lead = 0,
since = 0,
bounds = {}
}
end
function convert(t, f, amount, x, limit)
local old = limitNumbers(
0,
amount,
limit.window,
1,
false
)
local used = tokens(t, f, old, 2000000000)
span(used, old)
local restT = t - spanned[1]
local restF = f - spanned[2]
if restF < 0 then
restT = restT - 1
restF = restF + amount
end
if used / limit.amount * limit.window > 3162240000000000 then
tat[1] = x + 3162240000000000
tat[2] = 0
return
end
span(used, limit)
tat[1] = x + spanned[1]
tat[2] = spanned[2]
if restT > 0 or restF > 0 then
tat[1] = tat[1] + ceil((restT + restF / amount) * amount / limit.amount) + 1
end
end
function noteTake(cost, out, o)
out[o + 2] = out[o + 2] - cost
local resetAt = out[o + 5]
if out[o + 6] > 0 then
resetAt = resetAt + 1
end
out[o + 3] = resetAt
end
function write(row, at, limit, t, f, now)
row[at + 1] = t
row[at + 2] = f
row[at + 3] = limit.amount
if now > row[at + 4] then
row[at + 4] = now
end
end
function current(row, at, limit, now)
local t = row[at + 1]
local f = row[at + 2]
local amount = row[at + 3]
tat[1] = t
tat[2] = f
if amount == limit.amount or amount == 0 then
return
end
local x = min(
now,
max(limit.since, row[at + 4])
)
local ceiling = t
if f > 0 then
ceiling = t + 1
end
tat[1] = ceiling
tat[2] = 0
if ceiling <= x then
return
end
convert(
t - x,
f,
amount,
x,
limit
)
end
function decideBucket(row, at, limit, cost, now, out, o)
local amount = row[at + 3]
if amount == limit.amount or amount == 0 then
decideTat(
row[at + 1],
row[at + 2],
limit,
cost,
now,
out,
o
)
else
current(row, at, limit, now)
decideTat(
tat[1],
tat[2],
limit,
cost,
now,
out,
o
)
end
end
function takeBucket(row, at, limit, cost, now, out, o)
write(
row,
at,
limit,
out[o + 5],
out[o + 6],
now
)
noteTake(cost, out, o)
end
function bucketEmptyAt(row, at, limit)
local amount = row[at + 3]
local emptyAt = row[at + 1]
if row[at + 2] > 0 then
emptyAt = emptyAt + 1
end
local x = row[at + 4]
if amount == limit.amount or amount == 0 or emptyAt <= x then
return emptyAt
end
convert(
row[at + 1] - x,
row[at + 2],
amount,
x,
limit
)
return max(emptyAt, tat[1] + 1)
end
function giveBack(row, at, limit, n, now)
span(n, limit)
local t = row[at + 1] - spanned[1]
local f = row[at + 2] - spanned[2]
if f < 0 then
t = t - 1
f = f + limit.amount
end
write(
row,
at,
limit,
t,
f,
now
)
end
function addToWindow(row, at, start, cost)
if row[at + 1] < start then
row[at + 1] = start
row[at + 2] = 0
end
row[at + 2] = row[at + 2] + cost
end
function startOf(limit, now)
local last = #limit.bounds - 1
if last < 0 then
return floor(now / limit.window) * limit.window
end
if now < limit.bounds[1] or now >= limit.bounds[last + 1] then
return -1
end
local i = 0
while i < last and limit.bounds[i + 2] <= now do
i = i + 1
end
return limit.bounds[i + 1]
end
function endOf(limit, start)
local last = #limit.bounds - 1
if last < 0 then
return start + limit.window
end
do
local i = 0
while i <= last do
if limit.bounds[i + 1] > start then
return limit.bounds[i + 1]
end
i = i + 1
end
end
return start + limit.window
end
function decideFixedWindow(row, at, limit, cost, now, out, o)
local start = startOf(limit, now)
if start < 0 then
out[o + 1] = 3
return
end
local count = 0
if row[at + 1] >= start then
start = row[at + 1]
count = row[at + 2]
end
local ____end = endOf(limit, start)
out[o + 2] = limit.amount - count
out[o + 3] = now
if count > 0 then
out[o + 3] = ____end
end
out[o + 4] = now
out[o + 5] = start
out[o + 6] = cost
if cost > limit.mostCost then
out[o + 1] = 2
elseif count + cost <= limit.amount then
out[o + 1] = 0
else
out[o + 1] = 1
out[o + 4] = ____end
end
end
function takeFixedWindow(row, at, limit, cost, out, o)
local start = out[o + 5]
addToWindow(row, at, start, cost)
out[o + 2] = out[o + 2] - cost
out[o + 3] = endOf(limit, start)
end
function refundFixedWindow(row, at, limit, n, now, mark)
if row[at + 1] ~= mark or endOf(limit, mark) <= now then
return 0
end
local given = min(n, row[at + 2])
row[at + 2] = row[at + 2] - given
return given
end
function fixedWindowEmptyAt(row, at, limit)
if row[at + 1] == 0 and row[at + 2] == 0 then
return 0
end
return endOf(limit, row[at + 1])
end
function roll(row, at, limit, now)
local start = max(
row[at + 1],
floor(now / limit.window) * limit.window
)
rolled[1] = start
rolled[2] = 0
rolled[3] = 0
if row[at + 1] == start then
rolled[2] = row[at + 2]
rolled[3] = row[at + 3]
elseif row[at + 1] + limit.window == start then
rolled[2] = row[at + 3]
end
end
function writeRolled(row, at)
row[at + 1] = rolled[1]
row[at + 2] = rolled[2]
row[at + 3] = rolled[3]
end
function chargeSlidingCounter(row, at, limit, n, now)
roll(row, at, limit, now)
rolled[3] = rolled[3] + n
writeRolled(row, at)
return n
end
function windowAt(row, at, limit, now)
roll(row, at, limit, now)
return rolled[1]
end
function weighted(limit, now)
local x = floor(max(0, now - rolled[1]) / limit.tick)
return floor((rolled[2] * (limit.ticks - x) + limit.ticks - 1) / limit.ticks)
end
function fadedAt(limit, start, count, m)
local x = limit.ticks - floor(m * limit.ticks / count)
return min(start + x * limit.tick, start + limit.window)
end
function resetAt(limit, now)
if rolled[3] > 0 then
return rolled[1] + 2 * limit.window
end
if rolled[2] > 0 then
return rolled[1] + limit.window
end
return now
end
function decideSlidingCounter(row, at, limit, cost, now, out, o)
roll(row, at, limit, now)
local start = rolled[1]
local count = rolled[3]
local used = count + weighted(limit, now)
out[o + 2] = limit.amount - used
out[o + 3] = resetAt(limit, now)
out[o + 4] = now
out[o + 5] = start
out[o + 6] = cost
if cost > limit.mostCost then
out[o + 1] = 2
elseif used + cost <= limit.amount then
out[o + 1] = 0
else
out[o + 1] = 1
local m = limit.amount - count - cost
if m >= 0 then
out[o + 4] = fadedAt(limit, start, rolled[2], m)
else
out[o + 4] = fadedAt(limit, start + limit.window, count, limit.amount - cost)
end
end
end
function takeSlidingCounter(row, at, limit, cost, now, out, o)
chargeSlidingCounter(
row,
at,
limit,
cost,
now
)
out[o + 2] = out[o + 2] - cost
out[o + 3] = resetAt(limit, now)
end
function refundSlidingCounter(row, at, limit, n, now, mark)
roll(row, at, limit, now)
local from = -1
if rolled[1] == mark then
from = 2
end
if rolled[1] == mark + limit.window then
from = 1
end
if from < 0 then
return 0
end
local given = min(n, rolled[from + 1])
rolled[from + 1] = rolled[from + 1] - given
writeRolled(row, at)
return given
end
function restartSlidingCounter(row, at, limit, now)
row[at + 1] = floor(now / limit.window) * limit.window
row[at + 3] = row[at + 3] + row[at + 2]
row[at + 2] = 0
end
function slidingCounterEmptyAt(row, at, limit)
if row[at + 3] > 0 then
return row[at + 1] + 2 * limit.window
end
if row[at + 1] == 0 and row[at + 2] == 0 then
return 0
end
return row[at + 1] + limit.window
end
function stampOf(limit, time)
if limit.lead > 0 then
return (floor(time / limit.lead) + 2) * limit.lead
end
return ceil(time / limit.cell) * limit.cell
end
function measure(limit, entries, time)
local edge = time - limit.window
local count = entries:count()
local i = 0
local sum = 0
while i < count and entries:stamp(i) <= edge do
sum = sum + entries:cost(i)
i = i + 1
end
left[1] = i
left[2] = sum
end
function dropSpent(entries)
while entries:count() > 0 and entries:cost(entries:count() - 1) == 0 do
entries:dropNewest()
end
end
function chargeSlidingLog(row, at, limit, n, now, entries)
local time = max(now, row[at + 2])
measure(limit, entries, time)
entries:dropOldest(left[1])
local stamp = stampOf(limit, time)
local newest = entries:count() - 1
if newest >= 0 and entries:stamp(newest) == stamp then
entries:setCost(
newest,
entries:cost(newest) + n
)
else
entries:push(stamp, n)
end
row[at + 1] = row[at + 1] - left[2] + n
row[at + 2] = time
return n
end
function newestLeavesAt(limit, entries, now)
local count = entries:count()
if count > left[1] then
return entries:stamp(count - 1) + limit.window
end
return now
end
function decideSlidingLog(row, at, limit, cost, now, out, o, entries)
local time = max(now, row[at + 2])
measure(limit, entries, time)
local used = row[at + 1] - left[2]
out[o + 2] = limit.amount - used
out[o + 3] = newestLeavesAt(limit, entries, now)
out[o + 4] = now
out[o + 5] = stampOf(limit, time)
out[o + 6] = cost
if cost > limit.mostCost then
out[o + 1] = 2
elseif used + cost <= limit.amount then
out[o + 1] = 0
else
out[o + 1] = 1
local missing = used + cost - limit.amount
local i = left[1]
missing = missing - entries:cost(i)
while missing > 0 do
i = i + 1
missing = missing - entries:cost(i)
end
out[o + 4] = entries:stamp(i) + limit.window
end
end
function takeSlidingLog(row, at, limit, cost, now, out, o, entries)
chargeSlidingLog(
row,
at,
limit,
cost,
now,
entries
)
out[o + 2] = out[o + 2] - cost
out[o + 3] = out[o + 5] + limit.window
end
function refundSlidingLog(row, at, limit, n, now, mark, entries)
if mark <= max(now, row[at + 2]) - limit.window then
return 0
end
do
local i = entries:count() - 1
while i >= 0 and entries:stamp(i) >= mark do
if entries:stamp(i) == mark then
local given = min(
n,
entries:cost(i)
)
entries:setCost(
i,
entries:cost(i) - given
)
row[at + 1] = row[at + 1] - given
dropSpent(entries)
return given
end
i = i - 1
end
end
return 0
end
function restartSlidingLog(row, at, limit, now, entries)
measure(limit, entries, row[at + 2])
local sum = row[at + 1] - left[2]
while entries:count() > 0 do
entries:dropNewest()
end
if sum > 0 then
entries:push(
stampOf(limit, now),
sum
)
end
row[at + 1] = sum
row[at + 2] = now
end
function slidingLogEmptyAt(row, at, limit, entries)
local count = entries:count()
if count > 0 then
return entries:stamp(count - 1) + limit.window
end
if row[at + 2] == 0 then
return 0
end
return row[at + 2] + limit.window
end
function decideConcurrency(limit, cost, now, out, o, holds, id)
local used = holds:live(now)
out[o + 2] = limit.amount - used
out[o + 3] = max(
now,
holds:lastExpiry()
)
out[o + 4] = now
out[o + 5] = now + limit.window
out[o + 6] = cost
if holds:expiryOf(id) > now then
out[o + 1] = 0
out[o + 6] = 0
elseif cost > limit.amount or cost > 1000 then
out[o + 1] = 2
elseif used + cost <= limit.amount then
out[o + 1] = 0
else
out[o + 1] = 1
out[o + 4] = holds:nthExpiry(used + cost - limit.amount, now)
end
end
function takeConcurrency(now, out, o, holds, id)
local expiry = out[o + 5]
local cost = out[o + 6]
if cost == 0 then
holds:renew(id, expiry)
else
holds:dropExpired(now)
holds:add(id, cost, expiry)
out[o + 2] = out[o + 2] - cost
end
out[o + 3] = holds:lastExpiry()
end
function copyAccount(lease)
account[1] = lease[1]
account[2] = lease[2]
account[3] = lease[3]
end
function clearLeases(lease, now)
lease[1] = floor(now / 500000)
lease[2] = 0
lease[3] = 0
end
function carryLeases(lease, now)
lease[1] = floor(now / 500000) + 1
lease[2] = lease[2] + lease[3]
lease[3] = 0
end
function passPeriod(lease)
lease[1] = lease[1] + 1
lease[3] = lease[2]
lease[2] = 0
end
function leasedOut(lease)
return lease[2] + lease[3]
end
function notBefore(row, at, limit, time, n)
if n == 0 then
return
end
span(n, limit)
local t = time + spanned[1]
local f = spanned[2]
if t < row[at + 1] or t == row[at + 1] and f <= row[at + 2] then
return
end
row[at + 1] = t
row[at + 2] = f
row[at + 3] = limit.amount
end
function settleTo(row, at, limit, time)
local period = floor(time / 500000)
while account[1] < period and leasedOut(account) > 0 do
notBefore(
row,
at,
limit,
(account[1] + 1) * 500000,
leasedOut(account)
)
passPeriod(account)
end
notBefore(
row,
at,
limit,
time,
leasedOut(account)
)
end
function settleLeases(row, at, limit, lease, now)
if limit.kind ~= 0 then
return
end
copyAccount(lease)
local amount = row[at + 3]
if amount ~= limit.amount and amount ~= 0 then
local x = min(
now,
max(limit.since, row[at + 4])
)
settleTo(
row,
at,
limitNumbers(
0,
amount,
limit.window,
1,
false
),
x
)
current(row, at, limit, now)
row[at + 1] = tat[1]
row[at + 2] = tat[2]
row[at + 3] = limit.amount
end
settleTo(row, at, limit, now)
end
function rollLeases(lease, now)
local period = floor(now / 500000)
while lease[1] < period and leasedOut(lease) > 0 do
passPeriod(lease)
end
if lease[1] < period then
lease[1] = period
end
end
function leasable(limit, left, lease, want)
local room = floor(limit.burst / 4) - leasedOut(lease)
return max(
0,
min(
want,
floor(left / 8),
room
)
)
end
function noteLease(lease, n)
lease[2] = lease[2] + n
return (lease[1] + 2) * 500000
end
function leaseEnd(limit, mark, ____end)
local kind = limit.kind
if kind == 0 then
return ____end
end
if kind == 1 then
return min(
____end,
endOf(limit, mark)
)
end
if kind == 2 then
return min(____end, mark + limit.window)
end
return min(____end, mark)
end
function reportLease(lease, period, n)
local from = -1
if period == lease[1] then
from = 1
end
if period == lease[1] - 1 then
from = 2
end
if from < 0 or n > lease[from + 1] then
return false
end
lease[from + 1] = lease[from + 1] - n
return true
end
function returnLease(row, at, limit, n, grantedAt, now, beside)
local kind = limit.kind
if kind == 0 then
giveBack(
row,
at,
limit,
n,
now
)
elseif kind == 1 then
if row[at + 1] <= grantedAt then
refundFixedWindow(
row,
at,
limit,
n,
now,
row[at + 1]
)
end
elseif kind == 2 then
local start = windowAt(row, at, limit, now)
if start <= grantedAt then
refundSlidingCounter(
row,
at,
limit,
n,
now,
start
)
end
else
refundSlidingLog(
row,
at,
limit,
n,
now,
stampOf(limit, grantedAt),
beside
)
end
end
function leasedGoAt(row, at, limit, lease, cost, now)
copyAccount(lease)
local t = row[at + 1]
local f = row[at + 2]
local from = now
do
while true do
local out = leasedOut(account)
local ____end = (account[1] + 1) * 500000
span(cost, limit)
local goT = t + spanned[1] - limit.burstWhole
local goF = f + spanned[2] - limit.burstRest
if goF > 0 then
goT = goT + 1
end
if goF > limit.amount then
goT = goT + 1
end
local go = max(from, goT)
if cost <= limit.burst - out and (out == 0 or go < ____end) then
return go
end
if out > 0 then
span(out, limit)
local endT = ____end + spanned[1]
if endT > t or endT == t and spanned[2] > f then
t = endT
f = spanned[2]
end
end
from = ____end
passPeriod(account)
end
end
end
function noteLeasesOut(limit, out, verdict, o)
span(out, limit)
verdict[o + 5] = verdict[o + 5] - spanned[1]
verdict[o + 6] = verdict[o + 6] - spanned[2]
if verdict[o + 6] >= 0 then
return
end
verdict[o + 5] = verdict[o + 5] - 1
verdict[o + 6] = verdict[o + 6] + limit.amount
end
function restartBucket(row, at, now)
local t = row[at + 1] - (row[at + 4] - now)
if t < now then
row[at + 1] = now
row[at + 2] = 0
else
row[at + 1] = t
end
row[at + 4] = now
end
function isHeldTooLong(limit, now, holds)
return holds:lastExpiry() > now + limit.window + 60000000
end
function canRestart(limit, now)
return limit.kind ~= 1 or startOf(limit, now) >= 0
end
function restart(row, at, limit, now, beside)
local kind = limit.kind
local latest = now + 60000000
if kind == 0 then
if row[at + 4] > latest then
restartBucket(row, at, now)
end
elseif kind == 1 then
if row[at + 1] > latest then
row[at + 1] = startOf(limit, now)
end
elseif kind == 2 then
if row[at + 1] > latest then
restartSlidingCounter(row, at, limit, now)
end
elseif kind == 4 then
if isHeldTooLong(limit, now, beside) then
beside:shorten(now + limit.window)
end
elseif row[at + 2] > latest then
restartSlidingLog(
row,
at,
limit,
now,
beside
)
end
end
function widthOf(kind)
if kind == 0 then
return 4
end
if kind == 1 then
return 2
end
if kind == 2 then
return 3
end
if kind == 3 then
return 2
end
return 0
end
function decide(row, at, limit, cost, now, out, o, beside, holdId)
local kind = limit.kind
if kind == 0 then
decideBucket(
row,
at,
limit,
cost,
now,
out,
o
)
elseif kind == 1 then
decideFixedWindow(
row,
at,
limit,
cost,
now,
out,
o
)
elseif kind == 2 then
decideSlidingCounter(
row,
at,
limit,
cost,
now,
out,
o
)
elseif kind == 3 then
decideSlidingLog(
row,
at,
limit,
cost,
now,
out,
o,
beside
)
else
decideConcurrency(
limit,
cost,
now,
out,
o,
beside,
holdId
)
end
end
function take(row, at, limit, cost, now, out, o, beside, holdId)
local kind = limit.kind
if kind == 0 then
takeBucket(
row,
at,
limit,
cost,
now,
out,
o
)
elseif kind == 1 then
takeFixedWindow(
row,
at,
limit,
cost,
out,
o
)
elseif kind == 2 then
takeSlidingCounter(
row,
at,
limit,
cost,
now,
out,
o
)
elseif kind == 3 then
takeSlidingLog(
row,
at,
limit,
cost,
now,
out,
o,
beside
)
else
takeConcurrency(
now,
out,
o,
beside,
holdId
)
end
end
function emptyAt(row, at, limit, beside)
local kind = limit.kind
if kind == 0 then
return bucketEmptyAt(row, at, limit)
end
if kind == 1 then
return fixedWindowEmptyAt(row, at, limit)
end
if kind == 2 then
return slidingCounterEmptyAt(row, at, limit)
end
if kind == 3 then
return slidingLogEmptyAt(row, at, limit, beside)
end
return beside:lastExpiry()
end
local format, gmatch, match = string.format, string.gmatch, string.match
local function isWhole(window, amount) return window - floor(window / amount) * amount == 0 end
local SIZES = { f = 2, s = 3, e = 2, c = 0 }
local function setLead(rule, leased)
for j = 1, rule.count do
local limit = rule.limits[j]
if limit.kind == 3 then limit.lead = leased and leadOf(limit.window) or 0 end
end
end
local function settleOther(other, w)
if not other.amount then return end
local numbers = other.numbers
local row = { numbers[1], other.count == 2 and numbers[2] or 0, other.amount, w.last }
settleLeases(row, 0, limitNumbers(0, other.amount, other.window, 1, false), w.lease, now)
numbers[1] = row[1]
if other.count == 2 then numbers[2] = row[2] end
end
local function keptOf(otherColumns)
local kept = {}
for _, other in ipairs(otherColumns) do
local first, second = other.numbers[1], other.numbers[2]
other.empty = other.amount and first + 1 or max(first, second) + 2 * other.window
if other.empty + 60000000 > now then kept[#kept + 1] = other end
end
return kept
end
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
local length = #text + 2
w.expires, w.birth, w.last, w.taken, p = read('<dddd', value, length + 2)
for name in gmatch(text, '[^,]+') do
local bare, amount = match(name, '^([^=]+)=?(%d*)$')
amount = tonumber(amount)
if amount then hasBucket = true end
local window = tonumber(match(bare, '^%a(%d+)')) or 2764800000000
local count = amount and (isWhole(window, amount) and 1 or 2) or SIZES[sub(bare, 1, 1)]
local numbers = { read('<' .. rep('d', count), value, p) }
p = numbers[count + 1]
local j = index[bare]
if j then
local at = rule.limits[j].at
for i = 1, count do row[at + i] = numbers[i] end
if amount then
if count == 1 then row[at + 2] = 0 end
row[at + 3] = numbers[1] == 0 and 0 or amount
end
elseif count > 0 then
otherColumns[#otherColumns + 1] =
{ name = name, amount = amount, window = window, count = count, numbers = numbers, sum = 0, place = #places + 1 }
end
places[#places + 1] = j or 0
end
local mark = sub(value, length + 1, length + 1)
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
if rule.limits[j].kind == 0 then row[rule.limits[j].at + 4] = w.last end
end
if w.lease then
for j = 1, rule.count do settleLeases(row, rule.limits[j].at, rule.limits[j], w.lease, now) end
for _, other in ipairs(otherColumns) do settleOther(other, w) end
rollLeases(w.lease, now)
end
w.otherColumns = keptOf(otherColumns)
return w
end
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
local function save(rule, key, w, sides)
local names, numbers, sums, mark, hasLog = {}, {}, {}, '-', false
local function put(value) numbers[#numbers + 1] = value end
local goes = goesAt(rule, w, sides) + 60000000
local keep = w.found and goes <= w.expires
if not keep then w.expires = max(w.expires, goes + 60000000) end
put(w.expires) put(w.birth) put(w.last) put(w.taken)
for j = 1, rule.count do
local limit, at = rule.limits[j], rule.limits[j].at
names[j] = w.names[j]
if limit.kind == 3 then hasLog = true end
if limit.kind == 0 then
local amount = w.row[at + 3]
if amount == 0 then amount = limit.amount end
names[j] = format('%s=%d', names[j], amount)
put(w.row[at + 1])
if not isWhole(limit.window, amount) then put(w.row[at + 2]) end
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
if mark == 'L' then for i = 1, 3 do put(w.lease[i]) end end
local value = '1' .. table.concat(names, ',') .. ';' .. mark .. pack('<' .. rep('d', #numbers), unpack(numbers))
if mark == 'L' then value = value .. mark end
local life = max(1, ceil((w.expires - now) / 1000))
if keep then call('SET', key, value, 'KEEPTTL') else call('SET', key, value, 'PX', life) end
for _, beside in pairs(sides) do
beside:trim()
call('PEXPIRE', beside.key, life)
end
end
local Log = {}
Log.__index = Log
function Log:count() return self.n end
function Log:entry(i)
local piece = floor(i / 128)
local found = self.pieces[piece]
if not found then
found = call('LRANGE', self.key, piece * 128, piece * 128 + 128 - 1)
self.pieces[piece] = found
end
return found[i - piece * 128 + 1]
end
function Log:stamp(i)
if i >= self.n then return now end
return (read('<d', self:entry(i)))
end
function Log:cost(i)
if i >= self.n then return 9007199254740991 end
return (read('<d', self:entry(i), 8 + 1))
end
function Log:setCost(i, cost)
call('LSET', self.key, i, pack('<dd', self:stamp(i), cost))
self.pieces = {}
end
function Log:push(stamp, cost)
self:trim()
if self.n == 0 then call('DEL', self.key) end
call('RPUSH', self.key, pack('<dd', stamp, cost))
self.n, self.pieces = self.n + 1, {}
end
function Log:dropOldest(n)
if n == 0 then return end
self:trim()
call('LTRIM', self.key, n, -1)
self.n, self.pieces = self.n - n, {}
end
function Log:dropNewest()
self.n, self.isLong = self.n - 1, true
end
function Log:trim()
if not self.isLong then return end
self.isLong = false
if self.n == 0 then call('DEL', self.key) else call('LTRIM', self.key, 0, self.n - 1) end
end
local Holds = {}
Holds.__index = Holds
function Holds:live(time) return call('ZCOUNT', self.key, format('(%.0f', time), '+inf') end
function Holds:nthExpiry(n, time)
local found = call('ZRANGEBYSCORE', self.key, format('(%.0f', time), '+inf', 'WITHSCORES', 'LIMIT', n - 1, 1)
return tonumber(found[2]) or time
end
function Holds:lastExpiry()
local found = call('ZRANGE', self.key, -1, -1, 'WITHSCORES')
return tonumber(found[2]) or 0
end
function Holds:expiryOf(id) return tonumber(call('ZSCORE', self.key, id .. '/1') or 0) end
function Holds:trim() end
function Holds:renew(id, expiry)
local k, score = 1, format('%.0f', expiry)
local words = {}
while call('ZSCORE', self.key, id .. '/' .. k) do
words[2 * k - 1], words[2 * k] = score, id .. '/' .. k
k = k + 1
end
if k > 1 then call('ZADD', self.key, 'GT', unpack(words)) end
end
function Holds:add(id, cost, expiry)
self:remove(id)
local words, score = {}, format('%.0f', expiry)
for k = 1, cost do words[2 * k - 1], words[2 * k] = score, id .. '/' .. k end
call('ZADD', self.key, unpack(words))
end
function Holds:dropExpired(time) call('ZREMRANGEBYSCORE', self.key, '-inf', format('%.0f', time)) end
function Holds:shorten(expiry)
local score = format('%.0f', expiry)
for _, id in ipairs(call('ZRANGEBYSCORE', self.key, '(' .. score, '+inf')) do call('ZADD', self.key, score, id) end
end
function Holds:remove(id)
local k = 1
while call('ZREM', self.key, id .. '/' .. k) == 1 do k = k + 1 end
return k - 1
end
function Holds:removeAll() call('DEL', self.key) end
local function sidesOf(rule, w)
local sides = {}
for j = 1, rule.count do
local limit = rule.limits[j]
if limit.kind == 3 then
usedKeys = usedKeys + 1
local n = w.found and call('LLEN', KEYS[usedKeys]) or 0
if n == 0 then w.row[limit.at + 1] = 0 end
sides[j] = setmetatable({ key = KEYS[usedKeys], n = n, pieces = {} }, Log)
elseif limit.kind == 4 then
usedKeys = usedKeys + 1
sides[j] = setmetatable({ key = KEYS[usedKeys] }, Holds)
end
end
return sides
end
local function restartOthers(otherColumns, written)
local kept = {}
for _, other in ipairs(otherColumns) do
local numbers, time = other.numbers, other.numbers[1]
if other.amount then
numbers[1], time = max(now, numbers[1] - (written - now)), 0
elseif sub(other.name, 1, 1) == 'e' then
time = numbers[2]
end
if time <= now + 60000000 then kept[#kept + 1] = other end
end
return kept
end
local function restartIfAhead(rule, w, sides, rowKey)
local ahead = w.found and w.written > now + 60000000
for j = 1, rule.count do
local limit = rule.limits[j]
if limit.kind == 4 and isHeldTooLong(limit, now, sides[j]) then ahead = true end
if not canRestart(limit, now) then return end
end
if not ahead then return end
stepped = true
for j = 1, rule.count do
local limit = rule.limits[j]
restart(w.row, limit.at, limit, now, sides[j])
w.sums[j] = w.sums[j] + 4000000000
end
if w.found then w.otherColumns = restartOthers(w.otherColumns, w.written) end
w.birth, w.last, w.written = now, now, now
if w.lease then carryLeases(w.lease, now) end
if w.found then save(rule, rowKey, w, sides) end
end
local function recordOf(name)
local known = call('GET', name)
local ends = known and read('<d', known) or 0
return ends > now and ends <= now + 300000000 + 60000000 and known
end
local function letterOf(known, fingerprint)
if sub(known, 9, 9) == '?' then return 'p' end
if sub(known, 9, 9 - 1 + #fingerprint) ~= fingerprint then return 'c' end
records[#records + 1] = known
return 'r'
end
local function change()
local refundBucket, usedUp, grantBucket, chargeBucket, raiseBucket, resetBucket, grantFixedWindow, chargeFixedWindow, raiseFixedWindow, grantSlidingCounter, raiseSlidingCounter, resetSlidingCounter, grantSlidingLog, raiseSlidingLog, renewHold, releaseAll, refund, grant, charge, atLeast, reset
function refundBucket(row, at, limit, n, now, mark, markRest, amount, since)
if row[at + 3] ~= amount or limit.amount ~= amount or since < 0 then
return 0
end
if limit.queues and (row[at + 1] ~= mark or row[at + 2] ~= markRest) then
return 0
end
if since / amount * limit.window > 3162240000000000 or since > 2000000000 then
return 0
end
local time = max(now, row[at + 4])
if row[at + 1] < time or row[at + 1] == time and row[at + 2] == 0 then
return 0
end
span(since, limit)
local t = mark - time - spanned[1]
local f = markRest - spanned[2]
if f < 0 then
t = t - 1
f = f + amount
end
local given = tokens(t, f, limit, n)
if given > 0 then
giveBack(
row,
at,
limit,
given,
now
)
end
return given
end
function usedUp(limit, now)
local t = tat[1]
local f = tat[2]
t = t - now
if t < 0 or t == 0 and f == 0 then
return 0
end
local used = tokens(t, f, limit, 2000000000)
span(used, limit)
if spanned[1] == t and spanned[2] == f then
return used
end
return used + 1
end
function grantBucket(row, at, limit, n, now)
current(row, at, limit, now)
local used = usedUp(limit, now)
if used == 0 then
return 0
end
if n >= used then
write(
row,
at,
limit,
now,
0,
now
)
return used
end
write(
row,
at,
limit,
tat[1],
tat[2],
now
)
giveBack(
row,
at,
limit,
n,
now
)
return n
end
function chargeBucket(row, at, limit, n, now)
current(row, at, limit, now)
local t = tat[1]
local f = tat[2]
local used = usedUp(limit, now)
if used == 0 then
t = now
f = 0
end
local time = floor((3162240000000000 - (t - now)) / limit.window * limit.amount)
local taken = max(
0,
min(n, 2000000000 - used, time)
)
span(taken, limit)
t = t + spanned[1]
f = f + spanned[2]
if f >= limit.amount then
t = t + 1
f = f - limit.amount
end
write(
row,
at,
limit,
t,
f,
now
)
return taken
end
function raiseBucket(row, at, limit, n, now)
current(row, at, limit, now)
local used = usedUp(limit, now)
if used >= n then
return 0
end
span(n, limit)
write(
row,
at,
limit,
now + spanned[1],
spanned[2],
now
)
return n - used
end
function resetBucket(row, at, limit, now)
local amount = row[at + 3]
current(row, at, limit, now)
local used = usedUp(limit, now)
if amount ~= limit.amount and amount ~= 0 then
tat[1] = row[at + 1]
tat[2] = row[at + 2]
used = max(
used,
usedUp(
limitNumbers(
0,
amount,
limit.window,
1,
false
),
now
)
)
end
if used > 0 then
write(
row,
at,
limit,
now,
0,
now
)
end
return used
end
function grantFixedWindow(row, at, limit, n, now)
return refundFixedWindow(
row,
at,
limit,
n,
now,
row[at + 1]
)
end
function chargeFixedWindow(row, at, limit, n, now)
addToWindow(
row,
at,
max(
row[at + 1],
startOf(limit, now)
),
n
)
return n
end
function raiseFixedWindow(row, at, limit, n, now)
local start = max(
row[at + 1],
startOf(limit, now)
)
local count = 0
if row[at + 1] == start then
count = row[at + 2]
end
local missing = max(0, n - count)
addToWindow(row, at, start, missing)
return missing
end
function grantSlidingCounter(row, at, limit, n, now)
roll(row, at, limit, now)
return refundSlidingCounter(
row,
at,
limit,
n,
now,
rolled[1]
)
end
function raiseSlidingCounter(row, at, limit, n, now)
roll(row, at, limit, now)
return chargeSlidingCounter(
row,
at,
limit,
max(
0,
n - rolled[3] - weighted(limit, now)
),
now
)
end
function resetSlidingCounter(row, at, limit, now)
roll(row, at, limit, now)
local used = rolled[3] + weighted(limit, now)
rolled[2] = 0
rolled[3] = 0
writeRolled(row, at)
return used
end
function grantSlidingLog(row, at, limit, n, now, entries)
measure(
limit,
entries,
max(now, row[at + 2])
)
local given = 0
while given < n and entries:count() > left[1] do
local newest = entries:count() - 1
local cost = entries:cost(newest)
if cost <= n - given then
entries:dropNewest()
given = given + cost
else
entries:setCost(newest, cost - (n - given))
given = n
end
end
dropSpent(entries)
row[at + 1] = row[at + 1] - given
return given
end
function raiseSlidingLog(row, at, limit, n, now, entries)
measure(
limit,
entries,
max(now, row[at + 2])
)
local missing = n - (row[at + 1] - left[2])
if missing <= 0 then
return 0
end
return chargeSlidingLog(
row,
at,
limit,
missing,
now,
entries
)
end
function renewHold(limit, now, holds, id)
if holds:expiryOf(id) <= now then
return 0
end
holds:renew(id, now + limit.window)
return now + limit.window
end
function releaseAll(now, holds)
local live = holds:live(now)
holds:removeAll()
return live
end
function refund(row, at, limit, n, now, mark, markRest, amount, since, beside)
local kind = limit.kind
if kind == 0 then
return refundBucket(
row,
at,
limit,
n,
now,
mark,
markRest,
amount,
since
)
end
if since ~= 0 then
return 0
end
if kind == 1 then
return refundFixedWindow(
row,
at,
limit,
n,
now,
mark
)
end
if kind == 2 then
return refundSlidingCounter(
row,
at,
limit,
n,
now,
mark
)
end
if kind == 3 then
return refundSlidingLog(
row,
at,
limit,
n,
now,
mark,
beside
)
end
return 0
end
function grant(row, at, limit, n, now, beside)
local kind = limit.kind
if kind == 0 then
return grantBucket(
row,
at,
limit,
n,
now
)
end
if kind == 1 then
return grantFixedWindow(
row,
at,
limit,
n,
now
)
end
if kind == 2 then
return grantSlidingCounter(
row,
at,
limit,
n,
now
)
end
if kind == 3 then
return grantSlidingLog(
row,
at,
limit,
n,
now,
beside
)
end
return 0
end
function charge(row, at, limit, n, now, beside)
local kind = limit.kind
if kind == 0 then
return chargeBucket(
row,
at,
limit,
n,
now
)
end
if kind == 1 then
return chargeFixedWindow(
row,
at,
limit,
n,
now
)
end
if kind == 2 then
return chargeSlidingCounter(
row,
at,
limit,
n,
now
)
end
if kind == 3 then
return chargeSlidingLog(
row,
at,
limit,
n,
now,
beside
)
end
return 0
end
function atLeast(row, at, limit, n, now, beside)
local kind = limit.kind
local used = min(n, limit.burst)
if kind == 0 then
return raiseBucket(
row,
at,
limit,
used,
now
)
end
if kind == 1 then
return raiseFixedWindow(
row,
at,
limit,
used,
now
)
end
if kind == 2 then
return raiseSlidingCounter(
row,
at,
limit,
used,
now
)
end
if kind == 3 then
return raiseSlidingLog(
row,
at,
limit,
used,
now,
beside
)
end
return 0
end
function reset(row, at, limit, now, beside)
local kind = limit.kind
if kind == 0 then
return resetBucket(row, at, limit, now)
end
if kind == 2 then
return resetSlidingCounter(row, at, limit, now)
end
if kind == 4 then
return releaseAll(now, beside)
end
return grant(
row,
at,
limit,
9007199254740991,
now,
beside
)
end
local function keepLeased(w, limit, beside)
if w.lease and limit.kind ~= 0 then atLeast(w.row, limit.at, limit, leasedOut(w.lease), now, beside) end
end
local function changeLimit(code, w, sides, limit, item)
local j, amount, mark, markRest, takenUnder, givenBack, takenAt = unpack(stream, item, item + 8 - 1)
local row, at, beside = w.row, limit.at, sides[j]
if code == 3 then
if not w.found or takenAt < w.birth then return 0 end
local since = w.sums[j] - givenBack
local given = refund(row, at, limit, amount, now, mark, markRest, takenUnder, since, beside)
if limit.kind == 0 then w.sums[j] = w.sums[j] + given end
return given
end
if code == 4 then
local given = grant(row, at, limit, amount, now, beside)
keepLeased(w, limit, beside)
if given > 0 then w.sums[j] = w.sums[j] + amount end
return given
end
if code == 5 then return charge(row, at, limit, amount, now, beside) end
return atLeast(row, at, limit, amount, now, beside)
end
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
w.sums[j] = w.sums[j] + 4000000000
end
w.otherColumns = {}
return used
end
local function renewRow(rule, sides, id)
local first
for j, beside in pairs(sides) do
if rule.limits[j].kind == 4 then
local expiry = renewHold(rule.limits[j], now, beside, id)
if not first or expiry < first then first = expiry end
if expiry > 0 then call('PEXPIRE', beside.key, ceil((beside:lastExpiry() - now + 60000000) / 1000)) end
end
end
return first or 0
end
local function releaseRow(rule, sides, id)
local released = 0
for j, beside in pairs(sides) do
if rule.limits[j].kind == 4 then
if beside:expiryOf(id) > now then released = released + 1 end
beside:remove(id)
end
end
return released
end
local function changeRow(code, at, text, items)
local rule, rowKey = rules[stream[at]], KEYS[usedKeys]
local w = open(rule, call('GET', rowKey))
local sides = sidesOf(rule, w)
restartIfAhead(rule, w, sides, rowKey)
if code == 8 then return { renewRow(rule, sides, ARGV[text]) } end
if code == 9 then return { releaseRow(rule, sides, ARGV[text]) } end
if code == 7 then
local used = resetRow(rule, w, sides)
if used > 0 then w.last = max(w.last, now) end
if w.found then save(rule, rowKey, w, sides) end
return { used > 0 and 1 or 0 }
end
local changed, dirty = {}, false
for i = 1, items do
local item = at + 2 + 8 * (i - 1)
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
local function create(name, kind, blank)
if call('EXISTS', name) == 1 then return end
if kind == 'e' then call('RPUSH', name, pack('<dd', 0, 0))
elseif kind == 'c' then call('ZADD', name, 0, '')
else call('SET', name, blank) end
call('PEXPIRE', name, 60000000 / 1000)
end
local function beat(name, id)
call('ZADD', name, format('%.0f', now), id)
call('ZREMRANGEBYSCORE', name, '-inf', format('%.0f', now - 7000000))
call('ZREMRANGEBYSCORE', name, format('(%.0f', now + 60000000), '+inf')
call('PEXPIRE', name, 60000)
return call('ZCARD', name)
end
local function changeRecord(code, name, text)
local owner, life, fingerprint, body = unpack(ARGV, text, text + 3)
local known = recordOf(name)
local mine = known and sub(known, 9) == '?' .. owner
if code == 13 then
if mine then call('DEL', name) end
return '1'
end
if known and not mine then return letterOf(known, fingerprint) end
local rest = code == 11 and '?' .. owner or fingerprint .. body
call('SET', name, pack('<d', now + life * 1000) .. rest, 'PX', life)
return '1'
end
return function(code, at, text, items)
local letter, numbers = '1', {}
usedKeys = usedKeys + 1
local key = KEYS[usedKeys]
if code < 10 then numbers = changeRow(code, at, text, items)
elseif code == 14 then numbers = { beat(key, ARGV[text]) }
elseif code == 10 then create(key, ARGV[text], ARGV[text + 1])
else letter = changeRecord(code, key, text) end
texts[textCount + 1] = pack('<' .. rep('d', #numbers), unpack(numbers))
letters[letterCount + 1], letters[letterCount + 2] = letter, #numbers > 0 and 'v' or '-'
end
end
local out, opened, sidesOfRow, keysAt = {}, {}, {}, {}
local function takeAll(i, rule, cost, hold, o)
local w, sides, taken = opened[i], sidesOfRow[i], false
for j = 1, rule.count do
local at = o + (j - 1) * 7
if out[at + 1] == 0 then
local limit = rule.limits[j]
out[at + 7] = w.sums[j]
take(w.row, limit.at, limit, cost, now, out, at, sides[j], hold)
if w.lease and limit.kind == 0 then noteLeasesOut(limit, leasedOut(w.lease), out, at) end
taken = true
end
end
if not taken then return end
w.last, w.birth = max(w.last, now), min(w.birth, now)
w.taken = w.taken + cost
save(rule, KEYS[keysAt[i]], w, sides)
end
local function keepLonger(i, rule)
local w, sides = opened[i], sidesOfRow[i]
if not w.found then return end
for j = 1, rule.count do
local limit, amount = rule.limits[j], w.row[rule.limits[j].at + 3]
if limit.kind == 0 and amount ~= 0 and amount ~= limit.amount then
if goesAt(rule, w, sides) + 60000000 > w.expires then save(rule, KEYS[keysAt[i]], w, sides) end
return
end
end
end
local function decideWide(at, n, dry, hold)
local allowed, other, o, pair = true, false, 0, at
for i = 1, n do
local rule, cost = rules[stream[pair]], stream[pair + 1]
pair = pair + 2
usedKeys = usedKeys + 1
keysAt[i] = usedKeys
local w = open(rule, call('GET', KEYS[usedKeys]))
local sides = sidesOf(rule, w)
restartIfAhead(rule, w, sides, KEYS[keysAt[i]])
opened[i], sidesOfRow[i] = w, sides
for j = 1, rule.count do
local limit = rule.limits[j]
for p = 2, 7 do out[o + p] = 0 end
decide(w.row, limit.at, limit, cost, now, out, o, sides[j], hold)
local status = out[o + 1]
if w.lease and limit.kind == 0 and status == 1 then
out[o + 4] = leasedGoAt(w.row, limit.at, limit, w.lease, cost, now)
end
if status == 3 then other = true end
if status ~= 0 and not rule.shadow then allowed = false end
o = o + 7
end
end
o, pair = 0, at
for i = 1, n do
local rule, cost = rules[stream[pair]], stream[pair + 1]
pair = pair + 2
if other or dry then
elseif allowed then
takeAll(i, rule, cost, hold, o)
else
keepLonger(i, rule)
end
local width = rule.count * 7
texts[textCount + i] = pack('<d' .. rep('d', width), opened[i].taken, unpack(out, o + 1, o + width))
letters[letterCount + 1 + i] = 'v'
o = o + width
end
letters[letterCount + 1] = other and 'b' or allowed and '1' or '0'
end
local run
local function runOfServer()
run = run or tonumber(sub(match(call('INFO', 'server'), 'run_id:(%x+)'), 1, 12), 16)
return run
end
local function applyReport(rule, w, sides, at)
local period, birth, from, grantedAt, spent, back = unpack(stream, at, at + 6 - 1)
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
local function leasableOf(rule, w, sides, want)
local n = want
for j = 1, rule.count do
local limit, o = rule.limits[j], (j - 1) * 7
decide(w.row, limit.at, limit, 1, now, out, o, sides[j], '')
n = leasable(limit, out[o + 2], w.lease, n)
end
return n < 2 and 0 or n
end
local function leaseOne(at, reports, want)
usedKeys = usedKeys + 1
local rule, rowKey = rules[stream[at]], KEYS[usedKeys]
local w = open(rule, call('GET', rowKey))
local sides = sidesOf(rule, w)
restartIfAhead(rule, w, sides, rowKey)
for j = 1, rule.count do
decide(w.row, rule.limits[j].at, rule.limits[j], 1, now, out, 0, sides[j], '')
if out[1] == 3 then
texts[textCount + 1], letters[letterCount + 1], letters[letterCount + 2] = '', 'b', '-'
return
end
end
local server = runOfServer()
local dirty = false
for i = 0, reports - 1 do
if applyReport(rule, w, sides, at + 2 + 6 * i) then dirty = true end
end
local ends = 0
for i = 1, rule.count * 7 do out[i] = 0 end
if not w.lease then
w.lease = { 0, 0, 0 }
clearLeases(w.lease, now)
end
if want > 0 then setLead(rule, true) end
local n = leasableOf(rule, w, sides, want)
if n > 0 then
ends = noteLease(w.lease, n)
for j = 1, rule.count do
local limit, o = rule.limits[j], (j - 1) * 7
decide(w.row, limit.at, limit, n, now, out, o, sides[j], '')
out[o + 7] = w.sums[j]
take(w.row, limit.at, limit, n, now, out, o, sides[j], '')
ends = leaseEnd(limit, out[o + 5], ends)
if limit.kind == 0 then noteLeasesOut(limit, leasedOut(w.lease), out, o) end
end
w.birth = min(w.birth, now)
w.taken = w.taken + n
end
if n > 0 or dirty then
w.last = max(w.last, now)
save(rule, rowKey, w, sides)
end
local period = w.lease[1]
texts[textCount + 1] = pack('<' .. rep('d', 7 + rule.count * 7), n, period, w.birth,
server, ends, leasedOut(w.lease), w.taken, unpack(out, 1, rule.count * 7))
letters[letterCount + 1], letters[letterCount + 2] = '1', 'v'
end
local function decideOnce(at, n, hold, textsAt)
usedKeys = usedKeys + 1
local record, fingerprint, description = KEYS[usedKeys], ARGV[textsAt], ARGV[textsAt + 1]
local known = recordOf(record)
if known then
for i = 1, n do
texts[textCount + i], letters[letterCount + 1 + i] = '', '-'
usedKeys = usedKeys + 1
sidesOf(rules[stream[at + 2 * (i - 1)]], { row = {} })
end
letters[letterCount + 1] = letterOf(known, fingerprint)
return
end
decideWide(at, n, false, hold)
if letters[letterCount + 1] == '1' then
local answer = table.concat(texts, '', textCount + 1, textCount + n)
local value = pack('<d', now + 300000000) .. fingerprint .. pack('<dI4', now, #description) .. description .. answer
call('SET', record, value, 'PX', 300000000 / 1000)
end
end
local changing
return function(code, at, n, one, two)
if code <= 1 then
local hold = one > 0 and ARGV[one] or ''
if two > 0 then return decideOnce(at, n, hold, two) end
return decideWide(at, n, code == 1, hold)
end
if code == 2 then return leaseOne(at, one, two) end
changing = changing or change()
changing(code, at, one, two)
end
end
local out, fractions, opened, sumsText = {}, {}, {}, {}
local slow
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
goes = goes + 1 + 60000000
if now > numbers[3] then numbers[3] = now end
if now < numbers[2] then numbers[2] = now end
numbers[4] = numbers[4] + cost
if sums and goes <= numbers[1] then
call('SETRANGE', rowKey, rule.after, pack(rule.tats, unpack(numbers, 1, rule.last)))
return
end
numbers[1] = goes + 60000000
local mark = sums and sums ~= '' and 'R' or '-'
local value = rule.names .. mark .. pack(rule.tats, unpack(numbers, 1, rule.last)) .. (sums or '')
call('SET', rowKey, value, 'PX', ceil((numbers[1] - now) / 1000))
end
local function decidePlain(at, n, dry)
local allowed, o, first, pair = true, 0, usedKeys, at
for i = 1, n do
local rule, cost = rules[stream[pair]], stream[pair + 1]
pair = pair + 2
if not rule.plain then usedKeys = first return false end
usedKeys = usedKeys + 1
local value, length, numbers = call('GET', KEYS[usedKeys]), rule.length, nil
if not value then
numbers = { 0, now, 0, 0 }
for p = 4 + 1, rule.last do numbers[p] = 0 end
value, sumsText[i] = '', false
elseif sub(value, 1, length) == rule.names and rule.sizes[#value] then
numbers = { read(rule.tats, value, length + 2) }
sumsText[i] = sub(value, length + 2 + 8 * rule.last)
else
usedKeys = first
return false
end
if numbers[3] > now + 60000000 then usedKeys = first return false end
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
if verdict[1] == 0 then next, fractions[o + j] = verdict[5], verdict[6] end
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
o, pair = o + rule.count, pair + 2
end
end
letters[letterCount + 1] = allowed and '1' or '0'
textCount, letterCount = textCount + n, letterCount + 1 + n
return true
end
local function run(code, at, n, one, two)
if code <= 1 and two == 0 and decidePlain(at, n, code == 1) then return end
slow = slow or wide()
slow(code, at, n, one, two)
local rows = code > 1 and 1 or n
textCount, letterCount = textCount + rows, letterCount + 1 + rows
end
local function failOperation(at, rows, hasRecord, keysBefore, problem)
local text = type(problem) == 'table' and problem.err or tostring(problem)
for _, refusal in ipairs({ 'OOM', 'READONLY', 'MISCONF', 'NOREPLICAS', 'MASTERDOWN', 'CLUSTERDOWN', 'non local key' }) do
if string.find(text, refusal, 1, true) then error(problem) end
end
usedKeys = hasRecord and keysBefore + 1 or keysBefore
letters[letterCount + 1] = 'x'
for i = 1, rows do
local rule = rules[stream[at + 2 * (i - 1)]]
usedKeys = usedKeys + 1
for j = 1, rule and rule.count or 0 do
if rule.limits[j].kind >= 3 then usedKeys = usedKeys + 1 end
end
texts[textCount + i], letters[letterCount + 1 + i] = '', '-'
end
textCount, letterCount = textCount + rows, letterCount + 1 + rows
end
local at = 3
while at <= streamEnd do
local times, code, one, two, n = unpack(stream, at, at + 5 - 1)
at = at + 5
for _ = 1, times do
local keysBefore = usedKeys
local done, problem = pcall(run, code, at, n, one, two)
if not done then
local isTransaction = code <= 1
failOperation(at, isTransaction and n or 1, isTransaction and two > 0, keysBefore, problem)
end
end
at = at + 2 * n
end
return { stepped and -now or now, table.concat(letters), table.concat(texts), unpack(records) }`
