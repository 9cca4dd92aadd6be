-- Generated from packages/limiter/src/algorithms by `npm run build`; not to be edited.
-- Returns the algorithms' functions by name. Rows and answers are tables of doubles indexed from 0 in the
-- calls' arguments, that is, argument i is table index i + 1.
local floor, ceil, max, min = math.floor, math.ceil, math.max, math.min
local spanned = {0.5, 0.5}
local tat = {0.5, 0.5}
local rolled = {0.5, 0.5, 0.5}
local left = {0.5, 0.5}
local account = {0.5, 0.5, 0.5}
local leadOf, partsOf, limitNumbers, span, tokens, convert, decideTat, decideParts, nextTat, decideWhole, noteTake, write, current, decideBucket, takeBucket, bucketEmptyAt, giveBack, refundBucket, usedUp, grantBucket, chargeBucket, raiseBucket, resetBucket, addToWindow, startOf, endOf, decideFixedWindow, takeFixedWindow, refundFixedWindow, grantFixedWindow, chargeFixedWindow, raiseFixedWindow, fixedWindowEmptyAt, roll, writeRolled, chargeSlidingCounter, windowAt, weighted, fadedAt, resetAt, decideSlidingCounter, takeSlidingCounter, refundSlidingCounter, grantSlidingCounter, raiseSlidingCounter, resetSlidingCounter, restartSlidingCounter, slidingCounterEmptyAt, stampOf, measure, dropSpent, chargeSlidingLog, newestLeavesAt, decideSlidingLog, takeSlidingLog, refundSlidingLog, grantSlidingLog, raiseSlidingLog, restartSlidingLog, slidingLogEmptyAt, decideConcurrency, takeConcurrency, renewHold, releaseAll, copyAccount, clearLeases, carryLeases, passPeriod, leasedOut, notBefore, settleTo, settleLeases, rollLeases, leasable, noteLease, leaseEnd, reportLease, returnLease, leasedGoAt, noteLeasesOut, restartBucket, isHeldTooLong, canRestart, restart, widthOf, decide, take, refund, grant, charge, atLeast, reset, emptyAt
function leadOf(window)
    return ceil(window / 200)
end
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
return { nextTat = nextTat, decideTat = decideTat, decide = decide, take = take, emptyAt = emptyAt, widthOf = widthOf, settleLeases = settleLeases, rollLeases = rollLeases, leasedOut = leasedOut, leadOf = leadOf, limitNumbers = limitNumbers, clearLeases = clearLeases, leasable = leasable, noteLease = noteLease, leaseEnd = leaseEnd, reportLease = reportLease, returnLease = returnLease, leasedGoAt = leasedGoAt, noteLeasesOut = noteLeasesOut, restart = restart, canRestart = canRestart, isHeldTooLong = isHeldTooLong, carryLeases = carryLeases, refund = refund, grant = grant, charge = charge, reset = reset, atLeast = atLeast, renewHold = renewHold }
