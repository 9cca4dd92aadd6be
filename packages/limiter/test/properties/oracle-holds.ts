/** Concurrency by its definition: a list of holds, each with its expiry. */
import { least, most } from './fraction.js'
import type { GiveBack, Oracle } from './oracle.js'

interface Held {
  readonly id: string
  readonly cost: bigint
  expiry: bigint
}

export class HoldsOracle implements Oracle {
  limit: bigint
  readonly #timeout: bigint
  #holds: Held[] = []

  constructor(limit: bigint, timeout: bigint) {
    this.limit = limit
    this.#timeout = timeout
  }

  #live(now: bigint): Held[] {
    return this.#holds.filter(({ expiry }) => expiry > now)
  }

  inFlight(now: bigint): bigint {
    return this.#live(now).reduce((sum, { cost }) => sum + cost, 0n)
  }

  #find(id: string, now: bigint): Held | undefined {
    return this.#live(now).find((held) => held.id === id)
  }

  fits(cost: bigint, now: bigint, holdId: string): boolean {
    return this.#find(holdId, now) !== undefined || this.inFlight(now) + cost <= this.limit
  }

  remaining(now: bigint): bigint {
    return most(0n, this.limit - this.inFlight(now))
  }

  used(now: bigint): bigint {
    return this.inFlight(now)
  }

  resetAt(now: bigint): bigint {
    return this.#live(now).reduce((last, { expiry }) => most(last, expiry), now)
  }

  retryAt(cost: bigint, now: bigint): bigint {
    const expiries = this.#live(now).flatMap(({ cost, expiry }) =>
      Array.from({ length: Number(cost) }, () => expiry),
    )
    expiries.sort((a, b) => Number(a - b))
    return expiries[Number(this.inFlight(now) + cost - this.limit) - 1]!
  }

  releaseAt(now: bigint): bigint {
    return now
  }

  /** A live id is renewed and takes nothing. Holds are released by their id, not given back. */
  take(cost: bigint, now: bigint, holdId: string): GiveBack {
    if (this.renew(holdId, now) === null) {
      this.#holds = [...this.#live(now), { id: holdId, cost, expiry: now + this.#timeout }]
    }
    return () => 0n
  }

  /** Until when it holds by this clock, or null: it has been lost. A renewal never shortens a hold. */
  renew(id: string, now: bigint): bigint | null {
    const held = this.#find(id, now)
    if (held === undefined) return null
    held.expiry = most(held.expiry, now + this.#timeout)
    return now + this.#timeout
  }

  /** Whether anything was held; of a hold that expired, and that nobody has cleared away yet, either is true. */
  release(id: string, now: bigint): boolean[] {
    const held = this.#holds.find((other) => other.id === id)
    this.#holds = this.#holds.filter((other) => other !== held)
    if (held === undefined) return [false]
    return held.expiry > now ? [true] : [true, false]
  }

  grant(n: bigint): bigint {
    return least(n, 0n)
  }

  charge(): void {}

  reset(now: bigint): boolean {
    const inUse = this.inFlight(now) > 0n
    this.#holds = []
    return inUse
  }
}
