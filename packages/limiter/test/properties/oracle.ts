/** What an oracle of one limit answers. Times are microseconds, amounts are whole; all of it exact. */

/** Gives back up to `n` of a take; answers how much it gave. */
export type GiveBack = (n: bigint, now: bigint) => bigint

export interface Oracle {
  /** What a full counter holds; rules may change it. */
  limit: bigint
  /** Whether the cost passes now. */
  fits(cost: bigint, now: bigint, holdId: string): boolean
  remaining(now: bigint): bigint
  /** What is counted, rounded up; it may be more than the limit. */
  used(now: bigint): bigint
  resetAt(now: bigint): bigint
  /** Of a cost that does not fit now, but can: the first microsecond that admits it, if nobody else asks. */
  retryAt(cost: bigint, now: bigint): bigint
  /** Of a cost that fits: when it may go on. */
  releaseAt(now: bigint): bigint
  take(cost: bigint, now: bigint, holdId: string): GiveBack
  /** Gives without a receipt; answers how much of it was used. */
  grant(n: bigint, now: bigint): bigint
  /** Takes whatever is left. */
  charge(n: bigint, now: bigint): void
  /** Gives back all that is used; answers whether anything was. */
  reset(now: bigint): boolean
}
