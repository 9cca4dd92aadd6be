/**
 * token_bucket, gcra and leaky_bucket are one thing: TAT, the time at which the bucket is full again.
 * A take moves it later by the cost's time; it may never lie more than the burst's time ahead.
 * (gcra has a burst of 1 by default; a leaky bucket's burst is its queue and the one being served.)
 *
 * Row: TAT t, its fraction f, the amount f is a fraction of, the time of the last write.
 * A row of zeros is a bucket nobody has used.
 *
 * TAT is never clamped to now + burst: a clock that swings to and fro would mint tokens.
 */
import { BUCKET, HORIZON_US, type LimitNumbers, limitNumbers } from './limit-numbers.js'
import { NEVER, NOT_NOW, YES } from './status.js'
import { span, spanned, tokens } from './token-time.js'
import { GO_AT, MARK, MARK_REST, type Numbers, REMAINING, RESET_AT, STATUS } from './verdict.js'

export const BUCKET_WIDTH = 4
export const T = 0
export const F = 1
export const AMOUNT = 2
export const LAST = 3

/** The most tokens a bucket in debt may owe. */
export const MOST_OWED = 2_000_000_000

/** The most tokens above its burst that are counted: what a bucket may owe, and what a clock that steps back by a minute adds. */
const MOST_OVER = 64_000_000_000

/** The last result of `current`: TAT under the limit's own amount. */
export const tat: number[] = [0.5, 0.5]

/**
 * TAT as the limit in force counts it. A row written under another amount is converted at the moment
 * the numbers changed, or its last write if that was later: what was used stays used, and the time
 * between refills at the rate that was in force. Reads only: a denial need not write the conversion,
 * because it comes out the same again.
 */
export function current(row: Numbers, at: number, limit: LimitNumbers, now: number): void {
  const t = row[at + T]!
  const f = row[at + F]!
  const amount = row[at + AMOUNT]!
  tat[0] = t
  tat[1] = f
  if (amount === limit.amount || amount === 0) return
  const x = Math.min(now, Math.max(limit.since, row[at + LAST]!))
  let ceiling = t
  if (f > 0) ceiling = t + 1
  tat[0] = ceiling
  tat[1] = 0
  if (ceiling <= x) return
  convert(t - x, f, amount, x, limit)
}

/** Into `tat`: x plus the duration (t, f) of the old amount, token for token, under the new one. */
function convert(t: number, f: number, amount: number, x: number, limit: LimitNumbers): void {
  const old = limitNumbers(BUCKET, amount, limit.window, 1, false)
  const used = tokens(t, f, old, MOST_OWED)
  span(used, old)
  let restT = t - spanned[0]!
  let restF = f - spanned[1]!
  if (restF < 0) {
    restT = restT - 1
    restF = restF + amount
  }
  if ((used / limit.amount) * limit.window > HORIZON_US) {
    tat[0] = x + HORIZON_US
    tat[1] = 0
    return
  }
  span(used, limit)
  tat[0] = x + spanned[0]!
  tat[1] = spanned[1]!
  if (restT > 0 || restF > 0) {
    tat[0] = tat[0] + Math.ceil(((restT + restF / amount) * amount) / limit.amount) + 1
  }
}

export function decideBucket(
  row: Numbers,
  at: number,
  limit: LimitNumbers,
  cost: number,
  now: number,
  out: Numbers,
  o: number,
): void {
  const amount = row[at + AMOUNT]!
  if (amount === limit.amount || amount === 0) {
    decideTat(row[at + T]!, row[at + F]!, limit, cost, now, out, o)
  } else {
    current(row, at, limit, now)
    decideTat(tat[0]!, tat[1]!, limit, cost, now, out, o)
  }
}

/** The decision for a bucket whose TAT is (t, f) under the limit's own amount. */
export function decideTat(
  t: number,
  f: number,
  limit: LimitNumbers,
  cost: number,
  now: number,
  out: Numbers,
  o: number,
): void {
  if (limit.rest === 0) decideWhole(Math.max(t, now), limit, cost, now, out, o)
  else if (t < now) decideParts(now, 0, limit, cost, now, out, o)
  else decideParts(t, f, limit, cost, now, out, o)
}

function decideParts(
  t: number,
  f: number,
  limit: LimitNumbers,
  cost: number,
  now: number,
  out: Numbers,
  o: number,
): void {
  let base = t
  if (f > 0) base = t + 1
  out[o + RESET_AT] = base
  let roomT = now + limit.burstWhole - t
  let roomF = limit.burstRest - f
  if (roomF < 0) {
    roomT = roomT - 1
    roomF = roomF + limit.amount
  }
  if (roomT >= 0) {
    out[o + REMAINING] = tokens(roomT, roomF, limit, limit.burst)
  } else {
    // What is owed, rounded up: times are multiples of 1/amount, so whole tokens of one such part less, and one.
    out[o + REMAINING] = -1 - tokens(-1 - roomT, limit.amount - 1 - roomF, limit, MOST_OVER)
  }
  if (cost > limit.mostCost) {
    out[o + STATUS] = NEVER
    out[o + GO_AT] = 0
    return
  }
  span(cost, limit)
  let newT = t + spanned[0]!
  let newF = f + spanned[1]!
  if (newF >= limit.amount) {
    newT = newT + 1
    newF = newF - limit.amount
  }
  out[o + MARK] = newT
  out[o + MARK_REST] = newF
  const topT = now + limit.burstWhole
  if (newT < topT || (newT === topT && newF <= limit.burstRest)) {
    out[o + STATUS] = YES
    out[o + GO_AT] = now
    if (limit.queues) out[o + GO_AT] = base
    return
  }
  out[o + STATUS] = NOT_NOW
  let goAt = newT - limit.burstWhole
  if (newF > limit.burstRest) goAt = goAt + 1
  out[o + GO_AT] = goAt
}

/**
 * TAT after a take where a token's time is whole microseconds, so that no fraction exists: most limits.
 * -1 if that lies further ahead than the burst.
 */
export function nextTat(t: number, limit: LimitNumbers, cost: number, now: number): number {
  const next = Math.max(t, now) + cost * limit.whole
  if (next > now + limit.burstWhole) return -1
  return next
}

/** The decision for such a limit. */
function decideWhole(
  t: number,
  limit: LimitNumbers,
  cost: number,
  now: number,
  out: Numbers,
  o: number,
): void {
  const top = now + limit.burstWhole
  out[o + REMAINING] = Math.floor((top - t) / limit.whole)
  out[o + RESET_AT] = t
  if (cost > limit.mostCost) {
    out[o + STATUS] = NEVER
    out[o + GO_AT] = 0
    return
  }
  const next = nextTat(t, limit, cost, now)
  out[o + MARK] = next
  out[o + MARK_REST] = 0
  if (next < 0) {
    out[o + STATUS] = NOT_NOW
    out[o + GO_AT] = t + cost * limit.whole - limit.burstWhole
    return
  }
  out[o + STATUS] = YES
  out[o + GO_AT] = now
  if (limit.queues) out[o + GO_AT] = t
}

export function takeBucket(
  row: Numbers,
  at: number,
  limit: LimitNumbers,
  cost: number,
  now: number,
  out: Numbers,
  o: number,
): void {
  write(row, at, limit, out[o + MARK]!, out[o + MARK_REST]!, now)
  noteTake(cost, out, o)
}

/** Corrects the answer for what has been taken. */
export function noteTake(cost: number, out: Numbers, o: number): void {
  out[o + REMAINING] = out[o + REMAINING]! - cost
  let resetAt = out[o + MARK]!
  if (out[o + MARK_REST]! > 0) resetAt = resetAt + 1
  out[o + RESET_AT] = resetAt
}

export function write(
  row: Numbers,
  at: number,
  limit: LimitNumbers,
  t: number,
  f: number,
  now: number,
): void {
  row[at + T] = t
  row[at + F] = f
  row[at + AMOUNT] = limit.amount
  if (now > row[at + LAST]!) row[at + LAST] = now
}

/**
 * When the row says nothing any more, by the amount it was written under or, from its last write on, by
 * the limit's: the slowest in force, whenever that took effect.
 */
export function bucketEmptyAt(row: Numbers, at: number, limit: LimitNumbers): number {
  const amount = row[at + AMOUNT]!
  let emptyAt = row[at + T]!
  if (row[at + F]! > 0) emptyAt = emptyAt + 1
  const x = row[at + LAST]!
  if (amount === limit.amount || amount === 0 || emptyAt <= x) return emptyAt
  convert(row[at + T]! - x, row[at + F]!, amount, x, limit)
  return Math.max(emptyAt, tat[0]! + 1)
}
