/**
 * concurrency: holds that are in flight, each with an id chosen by the caller and an expiry, so that
 * a holder that died is released by its time-out. The row has no numbers; the holds live beside it.
 */
import type { LimitNumbers } from './limit-numbers.js'
import { NEVER, NOT_NOW, YES } from './status.js'
import { GO_AT, MARK, MARK_REST, type Numbers, REMAINING, RESET_AT, STATUS } from './verdict.js'

/** Places that one request can hold: each is an entry of its own, which a store must not be kept busy with. */
const MOST_PLACES = 1000

/** Each unit of a cost is a hold of its own. */
export interface Holds {
  /** Holds that expire after `now`. */
  live(now: number): number
  /** Expiry of the n-th live hold to go, counted from 1. */
  nthExpiry(n: number, now: number): number
  /** Expiry of the last hold to go; 0 without any. */
  lastExpiry(): number
  /** Expiry of this id; 0 where it is not held. */
  expiryOf(id: string): number
  renew(id: string, expiry: number): void
  add(id: string, cost: number, expiry: number): void
  dropExpired(now: number): void
  /** None lives longer than this. */
  shorten(expiry: number): void
  /** How many holds the id had. */
  remove(id: string): number
  removeAll(): void
}

export function decideConcurrency(
  limit: LimitNumbers,
  cost: number,
  now: number,
  out: Numbers,
  o: number,
  holds: Holds,
  id: string,
): void {
  const used = holds.live(now)
  out[o + REMAINING] = limit.amount - used
  out[o + RESET_AT] = Math.max(now, holds.lastExpiry())
  out[o + GO_AT] = now
  out[o + MARK] = now + limit.window
  out[o + MARK_REST] = cost
  if (holds.expiryOf(id) > now) {
    out[o + STATUS] = YES
    out[o + MARK_REST] = 0
  } else if (cost > limit.amount || cost > MOST_PLACES) {
    out[o + STATUS] = NEVER
  } else if (used + cost <= limit.amount) {
    out[o + STATUS] = YES
  } else {
    out[o + STATUS] = NOT_NOW
    out[o + GO_AT] = holds.nthExpiry(used + cost - limit.amount, now)
  }
}

/** Takes what `decide` found: a live id is renewed and takes nothing. */
export function takeConcurrency(
  now: number,
  out: Numbers,
  o: number,
  holds: Holds,
  id: string,
): void {
  const expiry = out[o + MARK]!
  const cost = out[o + MARK_REST]!
  if (cost === 0) {
    holds.renew(id, expiry)
  } else {
    holds.dropExpired(now)
    holds.add(id, cost, expiry)
    out[o + REMAINING] = out[o + REMAINING]! - cost
  }
  out[o + RESET_AT] = holds.lastExpiry()
}

/** The new expiry, or 0: the hold has been lost. */
export function renewHold(limit: LimitNumbers, now: number, holds: Holds, id: string): number {
  if (holds.expiryOf(id) <= now) return 0
  holds.renew(id, now + limit.window)
  return now + limit.window
}

/** Frees every place; how many were taken. */
export function releaseAll(now: number, holds: Holds): number {
  const live = holds.live(now)
  holds.removeAll()
  return live
}
