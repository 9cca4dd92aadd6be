-- Generated from packages/limiter/src/algorithms by `npm run build`; not to be edited.
-- Returns the table of algorithms: decide, take, refund, grant, charge, reset, emptyAt, widthOf, and
-- limitNumbers. Rows and answers are tables of doubles indexed from 0 in the calls' arguments, that is,
-- argument i is table index i + 1. No globals, no library: it runs in Redis as it stands.
local modules = {}
local function require(name) return modules[name] end
modules['./verdict.js'] = (function()
local ____exports = {}
____exports.VERDICT_WIDTH = 7
____exports.STATUS = 0
____exports.REMAINING = 1
____exports.RESET_AT = 2
____exports.GO_AT = 3
____exports.MARK = 4
____exports.MARK_REST = 5
____exports.GIVEN_BACK = 6
____exports.YES = 0
____exports.NOT_NOW = 1
____exports.NEVER = 2
____exports.OTHER_BOUNDS = 3
return ____exports
end)()
modules['./limit-numbers.js'] = (function()
local ____exports = {}
____exports.BUCKET = 0
____exports.FIXED_WINDOW = 1
____exports.SLIDING_COUNTER = 2
____exports.SLIDING_LOG = 3
____exports.CONCURRENCY = 4
____exports.HORIZON_US = 3162240000000000
local LOG_EXACT_UP_TO = 10000
function ____exports.partsOf(n, rest, amount, out)
    local product = n * rest
    if product < 9007199254740992 then
        local q = math.floor(product / amount)
        out[1] = q
        out[2] = product - q * amount
        return
    end
    local high = math.floor(n / 32768)
    local low = n - high * 32768
    local x = high * rest
    local q1 = math.floor(x / amount)
    local y = (x - q1 * amount) * 32768 + low * rest
    local q2 = math.floor(y / amount)
    out[1] = q1 * 32768 + q2
    out[2] = y - q2 * amount
end
function ____exports.limitNumbers(kind, amount, window, burst, queues)
    local whole = math.floor(window / amount)
    local rest = window - whole * amount
    local parts = {0, 0}
    if kind == ____exports.BUCKET then
        ____exports.partsOf(burst, rest, amount, parts)
    end
    local tick = math.ceil(window / 4194304)
    local cell = 1
    if kind == ____exports.SLIDING_LOG and amount > LOG_EXACT_UP_TO then
        cell = math.ceil(window / 1024)
    end
    return {
        kind = kind,
        amount = amount,
        window = window,
        burst = burst,
        whole = whole,
        rest = rest,
        burstWhole = burst * whole + parts[1],
        burstRest = parts[2],
        queues = queues,
        tick = tick,
        ticks = math.ceil(window / tick),
        cell = cell,
        since = 0,
        bounds = {}
    }
end
return ____exports
end)()
modules['./token-time.js'] = (function()
local ____exports = {}
local ____limit_2Dnumbers_2Ejs = require("./limit-numbers.js")
local partsOf = ____limit_2Dnumbers_2Ejs.partsOf
____exports.spanned = {0.5, 0.5}
function ____exports.span(n, limit)
    if limit.rest == 0 then
        ____exports.spanned[1] = n * limit.whole
        ____exports.spanned[2] = 0
        return
    end
    partsOf(n, limit.rest, limit.amount, ____exports.spanned)
    ____exports.spanned[1] = ____exports.spanned[1] + n * limit.whole
end
function ____exports.tokens(t, f, limit, most)
    if t < 0 or most <= 0 then
        return 0
    end
    if limit.rest == 0 then
        return math.min(
            most,
            math.floor(t / limit.whole)
        )
    end
    local guess = math.floor(t / limit.window * limit.amount)
    if guess > most + 1 then
        return most
    end
    local n = guess
    ____exports.span(n, limit)
    while n > 0 and (____exports.spanned[1] > t or ____exports.spanned[1] == t and ____exports.spanned[2] > f) do
        n = n - 1
        ____exports.span(n, limit)
    end
    ____exports.span(n + 1, limit)
    while ____exports.spanned[1] < t or ____exports.spanned[1] == t and ____exports.spanned[2] <= f do
        n = n + 1
        ____exports.span(n + 1, limit)
    end
    return math.min(most, n)
end
return ____exports
end)()
modules['./bucket.js'] = (function()
local ____exports = {}
local convert, decideParts, decideWhole
local ____limit_2Dnumbers_2Ejs = require("./limit-numbers.js")
local BUCKET = ____limit_2Dnumbers_2Ejs.BUCKET
local HORIZON_US = ____limit_2Dnumbers_2Ejs.HORIZON_US
local limitNumbers = ____limit_2Dnumbers_2Ejs.limitNumbers
local ____token_2Dtime_2Ejs = require("./token-time.js")
local span = ____token_2Dtime_2Ejs.span
local spanned = ____token_2Dtime_2Ejs.spanned
local tokens = ____token_2Dtime_2Ejs.tokens
local ____verdict_2Ejs = require("./verdict.js")
local GO_AT = ____verdict_2Ejs.GO_AT
local MARK = ____verdict_2Ejs.MARK
local MARK_REST = ____verdict_2Ejs.MARK_REST
local NEVER = ____verdict_2Ejs.NEVER
local NOT_NOW = ____verdict_2Ejs.NOT_NOW
local REMAINING = ____verdict_2Ejs.REMAINING
local RESET_AT = ____verdict_2Ejs.RESET_AT
local STATUS = ____verdict_2Ejs.STATUS
local YES = ____verdict_2Ejs.YES
function convert(t, f, amount, x, limit)
    local old = limitNumbers(
        BUCKET,
        amount,
        limit.window,
        1,
        false
    )
    local used = tokens(t, f, old, ____exports.MOST_OWED)
    span(used, old)
    local restT = t - spanned[1]
    local restF = f - spanned[2]
    if restF < 0 then
        restT = restT - 1
        restF = restF + amount
    end
    if used / limit.amount * limit.window > HORIZON_US then
        ____exports.tat[1] = x + HORIZON_US
        ____exports.tat[2] = 0
        return
    end
    span(used, limit)
    ____exports.tat[1] = x + spanned[1]
    ____exports.tat[2] = spanned[2]
    if restT > 0 or restF > 0 then
        ____exports.tat[1] = ____exports.tat[1] + math.ceil((restT + restF / amount) * amount / limit.amount) + 1
    end
end
function ____exports.decideTat(t, f, limit, cost, now, out, o)
    if limit.rest == 0 then
        decideWhole(
            math.max(t, now),
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
    out[o + RESET_AT + 1] = base
    local roomT = now + limit.burstWhole - t
    local roomF = limit.burstRest - f
    if roomF < 0 then
        roomT = roomT - 1
        roomF = roomF + limit.amount
    end
    out[o + REMAINING + 1] = tokens(roomT, roomF, limit, limit.burst)
    if cost > limit.burst then
        out[o + STATUS + 1] = NEVER
        out[o + GO_AT + 1] = 0
        return
    end
    span(cost, limit)
    local newT = t + spanned[1]
    local newF = f + spanned[2]
    if newF >= limit.amount then
        newT = newT + 1
        newF = newF - limit.amount
    end
    out[o + MARK + 1] = newT
    out[o + MARK_REST + 1] = newF
    local topT = now + limit.burstWhole
    if newT < topT or newT == topT and newF <= limit.burstRest then
        out[o + STATUS + 1] = YES
        out[o + GO_AT + 1] = now
        if limit.queues then
            out[o + GO_AT + 1] = base
        end
        return
    end
    out[o + STATUS + 1] = NOT_NOW
    local goAt = newT - limit.burstWhole
    if newF > limit.burstRest then
        goAt = goAt + 1
    end
    out[o + GO_AT + 1] = goAt
end
function decideWhole(t, limit, cost, now, out, o)
    local top = now + limit.burstWhole
    local remaining = 0
    if top > t then
        remaining = math.min(
            limit.burst,
            math.floor((top - t) / limit.whole)
        )
    end
    out[o + REMAINING + 1] = remaining
    out[o + RESET_AT + 1] = t
    if cost > limit.burst then
        out[o + STATUS + 1] = NEVER
        out[o + GO_AT + 1] = 0
        return
    end
    local newT = t + cost * limit.whole
    out[o + MARK + 1] = newT
    out[o + MARK_REST + 1] = 0
    if newT > top then
        out[o + STATUS + 1] = NOT_NOW
        out[o + GO_AT + 1] = newT - limit.burstWhole
        return
    end
    out[o + STATUS + 1] = YES
    out[o + GO_AT + 1] = now
    if limit.queues then
        out[o + GO_AT + 1] = t
    end
end
function ____exports.noteTake(cost, out, o)
    out[o + REMAINING + 1] = out[o + REMAINING + 1] - cost
    local resetAt = out[o + MARK + 1]
    if out[o + MARK_REST + 1] > 0 then
        resetAt = resetAt + 1
    end
    out[o + RESET_AT + 1] = resetAt
end
function ____exports.write(row, at, limit, t, f, now)
    row[at + ____exports.T + 1] = t
    row[at + ____exports.F + 1] = f
    row[at + ____exports.AMOUNT + 1] = limit.amount
    if now > row[at + ____exports.LAST + 1] then
        row[at + ____exports.LAST + 1] = now
    end
end
____exports.BUCKET_WIDTH = 4
____exports.T = 0
____exports.F = 1
____exports.AMOUNT = 2
____exports.LAST = 3
____exports.MOST_OWED = 2000000000
____exports.tat = {0.5, 0.5}
function ____exports.current(row, at, limit, now)
    local t = row[at + ____exports.T + 1]
    local f = row[at + ____exports.F + 1]
    local amount = row[at + ____exports.AMOUNT + 1]
    ____exports.tat[1] = t
    ____exports.tat[2] = f
    if amount == limit.amount or amount == 0 then
        return
    end
    local x = math.min(
        now,
        math.max(limit.since, row[at + ____exports.LAST + 1])
    )
    local ceiling = t
    if f > 0 then
        ceiling = t + 1
    end
    ____exports.tat[1] = ceiling
    ____exports.tat[2] = 0
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
function ____exports.decideBucket(row, at, limit, cost, now, out, o)
    local amount = row[at + ____exports.AMOUNT + 1]
    if amount == limit.amount or amount == 0 then
        ____exports.decideTat(
            row[at + ____exports.T + 1],
            row[at + ____exports.F + 1],
            limit,
            cost,
            now,
            out,
            o
        )
    else
        ____exports.current(row, at, limit, now)
        ____exports.decideTat(
            ____exports.tat[1],
            ____exports.tat[2],
            limit,
            cost,
            now,
            out,
            o
        )
    end
end
function ____exports.takeBucket(row, at, limit, cost, now, out, o)
    ____exports.write(
        row,
        at,
        limit,
        out[o + MARK + 1],
        out[o + MARK_REST + 1],
        now
    )
    ____exports.noteTake(cost, out, o)
end
function ____exports.bucketEmptyAt(row, at, limit)
    local amount = row[at + ____exports.AMOUNT + 1]
    local emptyAt = row[at + ____exports.T + 1]
    if row[at + ____exports.F + 1] > 0 then
        emptyAt = emptyAt + 1
    end
    local x = row[at + ____exports.LAST + 1]
    if amount == limit.amount or amount == 0 or emptyAt <= x then
        return emptyAt
    end
    convert(
        row[at + ____exports.T + 1] - x,
        row[at + ____exports.F + 1],
        amount,
        x,
        limit
    )
    return math.max(emptyAt, ____exports.tat[1] + 1)
end
return ____exports
end)()
modules['./bucket-changes.js'] = (function()
local ____exports = {}
local ____bucket_2Ejs = require("./bucket.js")
local AMOUNT = ____bucket_2Ejs.AMOUNT
local current = ____bucket_2Ejs.current
local F = ____bucket_2Ejs.F
local LAST = ____bucket_2Ejs.LAST
local MOST_OWED = ____bucket_2Ejs.MOST_OWED
local T = ____bucket_2Ejs.T
local tat = ____bucket_2Ejs.tat
local write = ____bucket_2Ejs.write
local ____limit_2Dnumbers_2Ejs = require("./limit-numbers.js")
local BUCKET = ____limit_2Dnumbers_2Ejs.BUCKET
local HORIZON_US = ____limit_2Dnumbers_2Ejs.HORIZON_US
local limitNumbers = ____limit_2Dnumbers_2Ejs.limitNumbers
local ____token_2Dtime_2Ejs = require("./token-time.js")
local span = ____token_2Dtime_2Ejs.span
local spanned = ____token_2Dtime_2Ejs.spanned
local tokens = ____token_2Dtime_2Ejs.tokens
local function giveBack(row, at, limit, n, now)
    span(n, limit)
    local t = row[at + T + 1] - spanned[1]
    local f = row[at + F + 1] - spanned[2]
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
function ____exports.refundBucket(row, at, limit, n, now, mark, markRest, amount, since)
    if row[at + AMOUNT + 1] ~= amount or limit.amount ~= amount or since < 0 then
        return 0
    end
    if limit.queues and (row[at + T + 1] ~= mark or row[at + F + 1] ~= markRest) then
        return 0
    end
    if since / amount * limit.window > HORIZON_US or since > MOST_OWED then
        return 0
    end
    span(since, limit)
    local t = mark - math.max(now, row[at + LAST + 1]) - spanned[1]
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
local function usedUp(limit, now)
    local t = tat[1]
    local f = tat[2]
    t = t - now
    if t < 0 or t == 0 and f == 0 then
        return 0
    end
    local used = tokens(t, f, limit, MOST_OWED)
    span(used, limit)
    if spanned[1] == t and spanned[2] == f then
        return used
    end
    return used + 1
end
function ____exports.grantBucket(row, at, limit, n, now)
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
function ____exports.chargeBucket(row, at, limit, n, now)
    current(row, at, limit, now)
    local t = tat[1]
    local f = tat[2]
    local used = usedUp(limit, now)
    if used == 0 then
        t = now
        f = 0
    end
    local time = math.floor((HORIZON_US - (t - now)) / limit.window * limit.amount)
    local taken = math.max(
        0,
        math.min(n, MOST_OWED - used, time)
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
function ____exports.resetBucket(row, at, limit, now)
    local amount = row[at + AMOUNT + 1]
    current(row, at, limit, now)
    local used = usedUp(limit, now)
    if amount ~= limit.amount and amount ~= 0 then
        tat[1] = row[at + T + 1]
        tat[2] = row[at + F + 1]
        used = math.max(
            used,
            usedUp(
                limitNumbers(
                    BUCKET,
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
return ____exports
end)()
modules['./fixed-window.js'] = (function()
local ____exports = {}
local add, START, COUNT
local ____verdict_2Ejs = require("./verdict.js")
local GO_AT = ____verdict_2Ejs.GO_AT
local MARK = ____verdict_2Ejs.MARK
local MARK_REST = ____verdict_2Ejs.MARK_REST
local NEVER = ____verdict_2Ejs.NEVER
local NOT_NOW = ____verdict_2Ejs.NOT_NOW
local OTHER_BOUNDS = ____verdict_2Ejs.OTHER_BOUNDS
local REMAINING = ____verdict_2Ejs.REMAINING
local RESET_AT = ____verdict_2Ejs.RESET_AT
local STATUS = ____verdict_2Ejs.STATUS
local YES = ____verdict_2Ejs.YES
function add(row, at, start, cost)
    if row[at + START + 1] < start then
        row[at + START + 1] = start
        row[at + COUNT + 1] = 0
    end
    row[at + COUNT + 1] = row[at + COUNT + 1] + cost
end
____exports.FIXED_WINDOW_WIDTH = 2
START = 0
COUNT = 1
local function startOf(limit, now)
    local last = #limit.bounds - 1
    if last < 0 then
        return math.floor(now / limit.window) * limit.window
    end
    if now < limit.bounds[1] or now >= limit.bounds[last + 1] then
        return -1
    end
    local i = 0
    while i < last and limit.bounds[i + 1 + 1] <= now do
        i = i + 1
    end
    return limit.bounds[i + 1]
end
local function endOf(limit, start)
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
function ____exports.decideFixedWindow(row, at, limit, cost, now, out, o)
    local start = startOf(limit, now)
    if start < 0 then
        out[o + STATUS + 1] = OTHER_BOUNDS
        return
    end
    local count = 0
    if row[at + START + 1] >= start then
        start = row[at + START + 1]
        count = row[at + COUNT + 1]
    end
    local ____end = endOf(limit, start)
    out[o + REMAINING + 1] = math.max(0, limit.amount - count)
    out[o + RESET_AT + 1] = now
    if count > 0 then
        out[o + RESET_AT + 1] = ____end
    end
    out[o + GO_AT + 1] = now
    out[o + MARK + 1] = start
    out[o + MARK_REST + 1] = cost
    if cost > limit.amount then
        out[o + STATUS + 1] = NEVER
    elseif count + cost <= limit.amount then
        out[o + STATUS + 1] = YES
    else
        out[o + STATUS + 1] = NOT_NOW
        out[o + GO_AT + 1] = ____end
    end
end
function ____exports.takeFixedWindow(row, at, limit, cost, out, o)
    local start = out[o + MARK + 1]
    add(row, at, start, cost)
    out[o + REMAINING + 1] = out[o + REMAINING + 1] - cost
    out[o + RESET_AT + 1] = endOf(limit, start)
end
function ____exports.refundFixedWindow(row, at, limit, n, now, mark)
    if row[at + START + 1] ~= mark or endOf(limit, mark) <= now then
        return 0
    end
    local given = math.min(n, row[at + COUNT + 1])
    row[at + COUNT + 1] = row[at + COUNT + 1] - given
    return given
end
function ____exports.grantFixedWindow(row, at, limit, n, now)
    return ____exports.refundFixedWindow(
        row,
        at,
        limit,
        n,
        now,
        row[at + START + 1]
    )
end
function ____exports.chargeFixedWindow(row, at, limit, n, now)
    add(
        row,
        at,
        math.max(
            row[at + START + 1],
            startOf(limit, now)
        ),
        n
    )
    return n
end
function ____exports.fixedWindowEmptyAt(row, at, limit)
    if row[at + START + 1] == 0 and row[at + COUNT + 1] == 0 then
        return 0
    end
    return endOf(limit, row[at + START + 1])
end
return ____exports
end)()
modules['./sliding-counter.js'] = (function()
local ____exports = {}
local roll, write, START, BEFORE, COUNT, rolled
local ____verdict_2Ejs = require("./verdict.js")
local GO_AT = ____verdict_2Ejs.GO_AT
local MARK = ____verdict_2Ejs.MARK
local MARK_REST = ____verdict_2Ejs.MARK_REST
local NEVER = ____verdict_2Ejs.NEVER
local NOT_NOW = ____verdict_2Ejs.NOT_NOW
local REMAINING = ____verdict_2Ejs.REMAINING
local RESET_AT = ____verdict_2Ejs.RESET_AT
local STATUS = ____verdict_2Ejs.STATUS
local YES = ____verdict_2Ejs.YES
function roll(row, at, limit, now)
    local start = math.max(
        row[at + START + 1],
        math.floor(now / limit.window) * limit.window
    )
    rolled[START + 1] = start
    rolled[BEFORE + 1] = 0
    rolled[COUNT + 1] = 0
    if row[at + START + 1] == start then
        rolled[BEFORE + 1] = row[at + BEFORE + 1]
        rolled[COUNT + 1] = row[at + COUNT + 1]
    elseif row[at + START + 1] + limit.window == start then
        rolled[BEFORE + 1] = row[at + COUNT + 1]
    end
end
function write(row, at)
    row[at + START + 1] = rolled[START + 1]
    row[at + BEFORE + 1] = rolled[BEFORE + 1]
    row[at + COUNT + 1] = rolled[COUNT + 1]
end
function ____exports.chargeSlidingCounter(row, at, limit, n, now)
    roll(row, at, limit, now)
    rolled[COUNT + 1] = rolled[COUNT + 1] + n
    write(row, at)
    return n
end
____exports.SLIDING_COUNTER_WIDTH = 3
START = 0
BEFORE = 1
COUNT = 2
rolled = {0.5, 0.5, 0.5}
local function weighted(limit, now)
    local x = math.floor(math.max(0, now - rolled[START + 1]) / limit.tick)
    return math.floor((rolled[BEFORE + 1] * (limit.ticks - x) + limit.ticks - 1) / limit.ticks)
end
local function fadedAt(limit, start, count, m)
    local x = limit.ticks - math.floor(m * limit.ticks / count)
    return math.min(start + x * limit.tick, start + limit.window)
end
local function resetAt(limit, now)
    if rolled[COUNT + 1] > 0 then
        return rolled[START + 1] + 2 * limit.window
    end
    if rolled[BEFORE + 1] > 0 then
        return rolled[START + 1] + limit.window
    end
    return now
end
function ____exports.decideSlidingCounter(row, at, limit, cost, now, out, o)
    roll(row, at, limit, now)
    local start = rolled[START + 1]
    local count = rolled[COUNT + 1]
    local used = count + weighted(limit, now)
    out[o + REMAINING + 1] = math.max(0, limit.amount - used)
    out[o + RESET_AT + 1] = resetAt(limit, now)
    out[o + GO_AT + 1] = now
    out[o + MARK + 1] = start
    out[o + MARK_REST + 1] = cost
    if cost > limit.amount then
        out[o + STATUS + 1] = NEVER
    elseif used + cost <= limit.amount then
        out[o + STATUS + 1] = YES
    else
        out[o + STATUS + 1] = NOT_NOW
        local m = limit.amount - count - cost
        if m >= 0 then
            out[o + GO_AT + 1] = fadedAt(limit, start, rolled[BEFORE + 1], m)
        else
            out[o + GO_AT + 1] = fadedAt(limit, start + limit.window, count, limit.amount - cost)
        end
    end
end
function ____exports.takeSlidingCounter(row, at, limit, cost, now, out, o)
    ____exports.chargeSlidingCounter(
        row,
        at,
        limit,
        cost,
        now
    )
    out[o + REMAINING + 1] = out[o + REMAINING + 1] - cost
    out[o + RESET_AT + 1] = resetAt(limit, now)
end
function ____exports.refundSlidingCounter(row, at, limit, n, now, mark)
    roll(row, at, limit, now)
    local from = -1
    if rolled[START + 1] == mark then
        from = COUNT
    end
    if rolled[START + 1] == mark + limit.window then
        from = BEFORE
    end
    if from < 0 then
        return 0
    end
    local given = math.min(n, rolled[from + 1])
    rolled[from + 1] = rolled[from + 1] - given
    write(row, at)
    return given
end
function ____exports.grantSlidingCounter(row, at, limit, n, now)
    roll(row, at, limit, now)
    return ____exports.refundSlidingCounter(
        row,
        at,
        limit,
        n,
        now,
        rolled[START + 1]
    )
end
function ____exports.resetSlidingCounter(row, at, limit, now)
    roll(row, at, limit, now)
    local used = rolled[COUNT + 1] + weighted(limit, now)
    rolled[BEFORE + 1] = 0
    rolled[COUNT + 1] = 0
    write(row, at)
    return used
end
function ____exports.slidingCounterEmptyAt(row, at, limit)
    if row[at + COUNT + 1] > 0 then
        return row[at + START + 1] + 2 * limit.window
    end
    if row[at + START + 1] == 0 and row[at + BEFORE + 1] == 0 then
        return 0
    end
    return row[at + START + 1] + limit.window
end
return ____exports
end)()
modules['./sliding-log.js'] = (function()
local ____exports = {}
local measure, dropSpent, SUM, SEEN, left
local ____verdict_2Ejs = require("./verdict.js")
local GO_AT = ____verdict_2Ejs.GO_AT
local MARK = ____verdict_2Ejs.MARK
local MARK_REST = ____verdict_2Ejs.MARK_REST
local NEVER = ____verdict_2Ejs.NEVER
local NOT_NOW = ____verdict_2Ejs.NOT_NOW
local REMAINING = ____verdict_2Ejs.REMAINING
local RESET_AT = ____verdict_2Ejs.RESET_AT
local STATUS = ____verdict_2Ejs.STATUS
local YES = ____verdict_2Ejs.YES
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
function ____exports.chargeSlidingLog(row, at, limit, n, now, entries)
    local time = math.max(now, row[at + SEEN + 1])
    measure(limit, entries, time)
    entries:dropOldest(left[1])
    local stamp = math.ceil(time / limit.cell) * limit.cell
    local newest = entries:count() - 1
    if newest >= 0 and entries:stamp(newest) == stamp then
        entries:setCost(
            newest,
            entries:cost(newest) + n
        )
    else
        entries:push(stamp, n)
    end
    row[at + SUM + 1] = row[at + SUM + 1] - left[2] + n
    row[at + SEEN + 1] = time
    return n
end
____exports.SLIDING_LOG_WIDTH = 2
SUM = 0
SEEN = 1
left = {0.5, 0.5}
local function newestLeavesAt(limit, entries, now)
    local count = entries:count()
    if count > left[1] then
        return entries:stamp(count - 1) + limit.window
    end
    return now
end
function ____exports.decideSlidingLog(row, at, limit, cost, now, out, o, entries)
    local time = math.max(now, row[at + SEEN + 1])
    measure(limit, entries, time)
    local used = row[at + SUM + 1] - left[2]
    out[o + REMAINING + 1] = math.max(0, limit.amount - used)
    out[o + RESET_AT + 1] = newestLeavesAt(limit, entries, now)
    out[o + GO_AT + 1] = now
    out[o + MARK + 1] = math.ceil(time / limit.cell) * limit.cell
    out[o + MARK_REST + 1] = cost
    if cost > limit.amount then
        out[o + STATUS + 1] = NEVER
    elseif used + cost <= limit.amount then
        out[o + STATUS + 1] = YES
    else
        out[o + STATUS + 1] = NOT_NOW
        local missing = used + cost - limit.amount
        local i = left[1]
        missing = missing - entries:cost(i)
        while missing > 0 do
            i = i + 1
            missing = missing - entries:cost(i)
        end
        out[o + GO_AT + 1] = entries:stamp(i) + limit.window
    end
end
function ____exports.takeSlidingLog(row, at, limit, cost, now, out, o, entries)
    ____exports.chargeSlidingLog(
        row,
        at,
        limit,
        cost,
        now,
        entries
    )
    out[o + REMAINING + 1] = out[o + REMAINING + 1] - cost
    out[o + RESET_AT + 1] = out[o + MARK + 1] + limit.window
end
function ____exports.refundSlidingLog(row, at, limit, n, now, mark, entries)
    if mark <= math.max(now, row[at + SEEN + 1]) - limit.window then
        return 0
    end
    do
        local i = entries:count() - 1
        while i >= 0 and entries:stamp(i) >= mark do
            if entries:stamp(i) == mark then
                local given = math.min(
                    n,
                    entries:cost(i)
                )
                entries:setCost(
                    i,
                    entries:cost(i) - given
                )
                row[at + SUM + 1] = row[at + SUM + 1] - given
                dropSpent(entries)
                return given
            end
            i = i - 1
        end
    end
    return 0
end
function ____exports.grantSlidingLog(row, at, limit, n, now, entries)
    measure(
        limit,
        entries,
        math.max(now, row[at + SEEN + 1])
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
    row[at + SUM + 1] = row[at + SUM + 1] - given
    return given
end
function ____exports.slidingLogEmptyAt(row, at, limit, entries)
    local count = entries:count()
    if count > 0 then
        return entries:stamp(count - 1) + limit.window
    end
    if row[at + SEEN + 1] == 0 then
        return 0
    end
    return row[at + SEEN + 1] + limit.window
end
return ____exports
end)()
modules['./concurrency.js'] = (function()
local ____exports = {}
local ____verdict_2Ejs = require("./verdict.js")
local GO_AT = ____verdict_2Ejs.GO_AT
local MARK = ____verdict_2Ejs.MARK
local MARK_REST = ____verdict_2Ejs.MARK_REST
local NEVER = ____verdict_2Ejs.NEVER
local NOT_NOW = ____verdict_2Ejs.NOT_NOW
local REMAINING = ____verdict_2Ejs.REMAINING
local RESET_AT = ____verdict_2Ejs.RESET_AT
local STATUS = ____verdict_2Ejs.STATUS
local YES = ____verdict_2Ejs.YES
function ____exports.decideConcurrency(limit, cost, now, out, o, holds, id)
    local used = holds:live(now)
    out[o + REMAINING + 1] = math.max(0, limit.amount - used)
    out[o + RESET_AT + 1] = math.max(
        now,
        holds:lastExpiry()
    )
    out[o + GO_AT + 1] = now
    out[o + MARK + 1] = now + limit.window
    out[o + MARK_REST + 1] = cost
    if holds:expiryOf(id) > now then
        out[o + STATUS + 1] = YES
        out[o + MARK_REST + 1] = 0
    elseif cost > limit.amount then
        out[o + STATUS + 1] = NEVER
    elseif used + cost <= limit.amount then
        out[o + STATUS + 1] = YES
    else
        out[o + STATUS + 1] = NOT_NOW
        out[o + GO_AT + 1] = holds:nthExpiry(used + cost - limit.amount, now)
    end
end
function ____exports.takeConcurrency(now, out, o, holds, id)
    local expiry = out[o + MARK + 1]
    local cost = out[o + MARK_REST + 1]
    if cost == 0 then
        holds:renew(id, expiry)
    else
        holds:dropExpired(now)
        holds:add(id, cost, expiry)
        out[o + REMAINING + 1] = out[o + REMAINING + 1] - cost
    end
    out[o + RESET_AT + 1] = holds:lastExpiry()
end
function ____exports.renewHold(limit, now, holds, id)
    if holds:expiryOf(id) <= now then
        return 0
    end
    holds:renew(id, now + limit.window)
    return now + limit.window
end
function ____exports.releaseAll(now, holds)
    local live = holds:live(now)
    holds:removeAll()
    return live
end
return ____exports
end)()
modules['./algorithm.js'] = (function()
local ____exports = {}
local ____bucket_2Ejs = require("./bucket.js")
local BUCKET_WIDTH = ____bucket_2Ejs.BUCKET_WIDTH
local bucketEmptyAt = ____bucket_2Ejs.bucketEmptyAt
local decideBucket = ____bucket_2Ejs.decideBucket
local takeBucket = ____bucket_2Ejs.takeBucket
local ____bucket_2Dchanges_2Ejs = require("./bucket-changes.js")
local chargeBucket = ____bucket_2Dchanges_2Ejs.chargeBucket
local grantBucket = ____bucket_2Dchanges_2Ejs.grantBucket
local refundBucket = ____bucket_2Dchanges_2Ejs.refundBucket
local resetBucket = ____bucket_2Dchanges_2Ejs.resetBucket
local ____concurrency_2Ejs = require("./concurrency.js")
local decideConcurrency = ____concurrency_2Ejs.decideConcurrency
local releaseAll = ____concurrency_2Ejs.releaseAll
local takeConcurrency = ____concurrency_2Ejs.takeConcurrency
local ____fixed_2Dwindow_2Ejs = require("./fixed-window.js")
local chargeFixedWindow = ____fixed_2Dwindow_2Ejs.chargeFixedWindow
local decideFixedWindow = ____fixed_2Dwindow_2Ejs.decideFixedWindow
local FIXED_WINDOW_WIDTH = ____fixed_2Dwindow_2Ejs.FIXED_WINDOW_WIDTH
local fixedWindowEmptyAt = ____fixed_2Dwindow_2Ejs.fixedWindowEmptyAt
local grantFixedWindow = ____fixed_2Dwindow_2Ejs.grantFixedWindow
local refundFixedWindow = ____fixed_2Dwindow_2Ejs.refundFixedWindow
local takeFixedWindow = ____fixed_2Dwindow_2Ejs.takeFixedWindow
local ____limit_2Dnumbers_2Ejs = require("./limit-numbers.js")
local BUCKET = ____limit_2Dnumbers_2Ejs.BUCKET
local CONCURRENCY = ____limit_2Dnumbers_2Ejs.CONCURRENCY
local FIXED_WINDOW = ____limit_2Dnumbers_2Ejs.FIXED_WINDOW
local SLIDING_COUNTER = ____limit_2Dnumbers_2Ejs.SLIDING_COUNTER
local SLIDING_LOG = ____limit_2Dnumbers_2Ejs.SLIDING_LOG
local ____sliding_2Dcounter_2Ejs = require("./sliding-counter.js")
local chargeSlidingCounter = ____sliding_2Dcounter_2Ejs.chargeSlidingCounter
local decideSlidingCounter = ____sliding_2Dcounter_2Ejs.decideSlidingCounter
local grantSlidingCounter = ____sliding_2Dcounter_2Ejs.grantSlidingCounter
local refundSlidingCounter = ____sliding_2Dcounter_2Ejs.refundSlidingCounter
local resetSlidingCounter = ____sliding_2Dcounter_2Ejs.resetSlidingCounter
local SLIDING_COUNTER_WIDTH = ____sliding_2Dcounter_2Ejs.SLIDING_COUNTER_WIDTH
local slidingCounterEmptyAt = ____sliding_2Dcounter_2Ejs.slidingCounterEmptyAt
local takeSlidingCounter = ____sliding_2Dcounter_2Ejs.takeSlidingCounter
local ____sliding_2Dlog_2Ejs = require("./sliding-log.js")
local chargeSlidingLog = ____sliding_2Dlog_2Ejs.chargeSlidingLog
local decideSlidingLog = ____sliding_2Dlog_2Ejs.decideSlidingLog
local grantSlidingLog = ____sliding_2Dlog_2Ejs.grantSlidingLog
local refundSlidingLog = ____sliding_2Dlog_2Ejs.refundSlidingLog
local SLIDING_LOG_WIDTH = ____sliding_2Dlog_2Ejs.SLIDING_LOG_WIDTH
local slidingLogEmptyAt = ____sliding_2Dlog_2Ejs.slidingLogEmptyAt
local takeSlidingLog = ____sliding_2Dlog_2Ejs.takeSlidingLog
____exports.RESET = 4000000000
local ALL = 9007199254740991
function ____exports.widthOf(kind)
    if kind == BUCKET then
        return BUCKET_WIDTH
    end
    if kind == FIXED_WINDOW then
        return FIXED_WINDOW_WIDTH
    end
    if kind == SLIDING_COUNTER then
        return SLIDING_COUNTER_WIDTH
    end
    if kind == SLIDING_LOG then
        return SLIDING_LOG_WIDTH
    end
    return 0
end
function ____exports.decide(row, at, limit, cost, now, out, o, beside, holdId)
    local kind = limit.kind
    if kind == BUCKET then
        decideBucket(
            row,
            at,
            limit,
            cost,
            now,
            out,
            o
        )
    elseif kind == FIXED_WINDOW then
        decideFixedWindow(
            row,
            at,
            limit,
            cost,
            now,
            out,
            o
        )
    elseif kind == SLIDING_COUNTER then
        decideSlidingCounter(
            row,
            at,
            limit,
            cost,
            now,
            out,
            o
        )
    elseif kind == SLIDING_LOG then
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
function ____exports.take(row, at, limit, cost, now, out, o, beside, holdId)
    local kind = limit.kind
    if kind == BUCKET then
        takeBucket(
            row,
            at,
            limit,
            cost,
            now,
            out,
            o
        )
    elseif kind == FIXED_WINDOW then
        takeFixedWindow(
            row,
            at,
            limit,
            cost,
            out,
            o
        )
    elseif kind == SLIDING_COUNTER then
        takeSlidingCounter(
            row,
            at,
            limit,
            cost,
            now,
            out,
            o
        )
    elseif kind == SLIDING_LOG then
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
function ____exports.refund(row, at, limit, n, now, mark, markRest, amount, since, beside)
    local kind = limit.kind
    if kind == BUCKET then
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
    if kind == FIXED_WINDOW then
        return refundFixedWindow(
            row,
            at,
            limit,
            n,
            now,
            mark
        )
    end
    if kind == SLIDING_COUNTER then
        return refundSlidingCounter(
            row,
            at,
            limit,
            n,
            now,
            mark
        )
    end
    if kind == SLIDING_LOG then
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
function ____exports.grant(row, at, limit, n, now, beside)
    local kind = limit.kind
    if kind == BUCKET then
        return grantBucket(
            row,
            at,
            limit,
            n,
            now
        )
    end
    if kind == FIXED_WINDOW then
        return grantFixedWindow(
            row,
            at,
            limit,
            n,
            now
        )
    end
    if kind == SLIDING_COUNTER then
        return grantSlidingCounter(
            row,
            at,
            limit,
            n,
            now
        )
    end
    if kind == SLIDING_LOG then
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
function ____exports.charge(row, at, limit, n, now, beside)
    local kind = limit.kind
    if kind == BUCKET then
        return chargeBucket(
            row,
            at,
            limit,
            n,
            now
        )
    end
    if kind == FIXED_WINDOW then
        return chargeFixedWindow(
            row,
            at,
            limit,
            n,
            now
        )
    end
    if kind == SLIDING_COUNTER then
        return chargeSlidingCounter(
            row,
            at,
            limit,
            n,
            now
        )
    end
    if kind == SLIDING_LOG then
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
function ____exports.reset(row, at, limit, now, beside)
    local kind = limit.kind
    if kind == BUCKET then
        return resetBucket(row, at, limit, now)
    end
    if kind == SLIDING_COUNTER then
        return resetSlidingCounter(row, at, limit, now)
    end
    if kind == CONCURRENCY then
        return releaseAll(now, beside)
    end
    return ____exports.grant(
        row,
        at,
        limit,
        ALL,
        now,
        beside
    )
end
function ____exports.emptyAt(row, at, limit, beside)
    local kind = limit.kind
    if kind == BUCKET then
        return bucketEmptyAt(row, at, limit)
    end
    if kind == FIXED_WINDOW then
        return fixedWindowEmptyAt(row, at, limit)
    end
    if kind == SLIDING_COUNTER then
        return slidingCounterEmptyAt(row, at, limit)
    end
    if kind == SLIDING_LOG then
        return slidingLogEmptyAt(row, at, limit, beside)
    end
    return beside:lastExpiry()
end
return ____exports
end)()
local algorithm = modules['./algorithm.js']
algorithm.limitNumbers = modules['./limit-numbers.js'].limitNumbers
algorithm.renewHold = modules['./concurrency.js'].renewHold
return algorithm
