/** A sliding log by its definition: a plain list of what was taken when. */
import { least, most } from './fraction.js'
import type { GiveBack, Oracle } from './oracle.js'

interface Entry {
  readonly stamp: bigint
  cost: bigint
}

export class LogOracle implements Oracle {
  limit: bigint
  readonly #window: bigint
  #entries: Entry[] = []
  /** The latest time that took anything: no time is earlier. */
  #seen = 0n
  /** A grant or a reset may give back what a receipt stands for: older ones are void. */
  #grants = 0

  constructor(limit: bigint, window: bigint) {
    this.limit = limit
    this.#window = window
  }

  #live(now: bigint): Entry[] {
    const time = most(now, this.#seen)
    return this.#entries.filter(({ stamp, cost }) => cost > 0n && stamp > time - this.#window)
  }

  used(now: bigint): bigint {
    return this.#live(now).reduce((sum, { cost }) => sum + cost, 0n)
  }

  fits(cost: bigint, now: bigint): boolean {
    return this.used(now) + cost <= this.limit
  }

  remaining(now: bigint): bigint {
    return most(0n, this.limit - this.used(now))
  }

  resetAt(now: bigint): bigint {
    const newest = this.#live(now).at(-1)
    return newest === undefined ? now : newest.stamp + this.#window
  }

  retryAt(cost: bigint, now: bigint): bigint {
    let used = this.used(now)
    for (const { stamp, cost: leaving } of this.#live(now)) {
      used -= leaving
      if (used + cost <= this.limit) return stamp + this.#window
    }
    throw new Error('a cost above the limit never fits')
  }

  releaseAt(now: bigint): bigint {
    return now
  }

  take(cost: bigint, now: bigint): GiveBack {
    this.charge(cost, now)
    const entry = this.#entries.at(-1)!
    const grants = this.#grants
    return (n, now) => {
      if (!this.#live(now).includes(entry) || this.#grants !== grants) return 0n
      const given = least(n, entry.cost)
      entry.cost -= given
      return given
    }
  }

  grant(n: bigint, now: bigint): bigint {
    let left = n
    for (const entry of this.#live(now).toReversed()) {
      const given = least(left, entry.cost)
      entry.cost -= given
      left -= given
    }
    if (left < n) this.#grants++
    return n - left
  }

  charge(n: bigint, now: bigint): void {
    this.#seen = most(now, this.#seen)
    this.#entries.push({ stamp: this.#seen, cost: n })
  }

  reset(now: bigint): boolean {
    return this.grant(this.used(now), now) > 0n
  }
}
