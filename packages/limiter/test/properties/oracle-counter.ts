/**
 * A sliding counter by its definition: what this window took, and what the one before took, weighted by
 * how many of its steps the sliding window still covers, rounded up. Retry times are searched for.
 */
import { least, most } from './fraction.js'
import type { GiveBack, Oracle } from './oracle.js'

/** A window is divided into at most so many steps of whole microseconds. */
const MOST_STEPS = 2n ** 22n

function dividedUp(a: bigint, b: bigint): bigint {
  return (a + b - 1n) / b
}

export class CounterOracle implements Oracle {
  limit: bigint
  readonly #window: bigint
  readonly #step: bigint
  readonly #steps: bigint
  #counts = new Map<bigint, bigint>()
  /** Start of the latest window that was written. */
  #latest = 0n
  /** A grant or a reset may give back what a receipt stands for: older ones are void. */
  #grants = 0

  constructor(limit: bigint, window: bigint) {
    this.limit = limit
    this.#window = window
    this.#step = dividedUp(window, MOST_STEPS)
    this.#steps = dividedUp(window, this.#step)
  }

  #start(now: bigint): bigint {
    return most(this.#latest, now - (now % this.#window))
  }

  #count(start: bigint): bigint {
    return this.#counts.get(start) ?? 0n
  }

  used(now: bigint): bigint {
    const start = this.#start(now)
    const covered = this.#steps - most(0n, now - start) / this.#step
    const before = this.#count(start - this.#window) * covered
    return this.#count(start) + dividedUp(before, this.#steps)
  }

  fits(cost: bigint, now: bigint): boolean {
    return this.used(now) + cost <= this.limit
  }

  remaining(now: bigint): bigint {
    return most(0n, this.limit - this.used(now))
  }

  resetAt(now: bigint): bigint {
    const start = this.#start(now)
    if (this.#count(start) > 0n) return start + 2n * this.#window
    return this.#count(start - this.#window) > 0n ? start + this.#window : now
  }

  retryAt(cost: bigint, now: bigint): bigint {
    let denied = now
    let admitted = this.#start(now) + 2n * this.#window
    while (admitted - denied > 1n) {
      const middle = (denied + admitted) / 2n
      if (this.fits(cost, middle)) admitted = middle
      else denied = middle
    }
    return admitted
  }

  releaseAt(now: bigint): bigint {
    return now
  }

  take(cost: bigint, now: bigint): GiveBack {
    this.charge(cost, now)
    const taken = this.#latest
    const grants = this.#grants
    return (n, now) => {
      const start = this.#start(now)
      if (this.#grants !== grants || start > taken + this.#window) return 0n
      return this.#giveBack(n, now, taken)
    }
  }

  #giveBack(n: bigint, now: bigint, from: bigint): bigint {
    this.#latest = this.#start(now)
    const given = least(n, this.#count(from))
    this.#counts.set(from, this.#count(from) - given)
    return given
  }

  grant(n: bigint, now: bigint): bigint {
    const given = this.#giveBack(n, now, this.#start(now))
    if (given > 0n) this.#grants++
    return given
  }

  charge(n: bigint, now: bigint): void {
    this.#latest = this.#start(now)
    this.#counts.set(this.#latest, this.#count(this.#latest) + n)
  }

  reset(now: bigint): boolean {
    const used = this.used(now) > 0n
    this.#latest = this.#start(now)
    this.#counts.clear()
    this.#grants++
    return used
  }
}
