/** Fixed windows by their definition: a count for each window, and never back to an earlier one. */
import { least, most } from './fraction.js'
import type { GiveBack, Oracle } from './oracle.js'

export interface Window {
  readonly start: bigint
  readonly end: bigint
}

/** Which window an instant lies in. */
export type WindowOf = (now: bigint) => Window

/** Windows of one length, aligned to the epoch. */
export function aligned(length: bigint): WindowOf {
  return (now) => {
    const start = now - (now % length)
    return { start, end: start + length }
  }
}

export class WindowOracle implements Oracle {
  limit: bigint
  readonly #windowOf: WindowOf
  #counts = new Map<bigint, bigint>()
  /** The latest window that took anything. */
  #latest: Window = { start: -1n, end: -1n }
  /** A grant or a reset may give back what a receipt stands for: older ones are void. */
  #grants = 0

  constructor(limit: bigint, windowOf: WindowOf) {
    this.limit = limit
    this.#windowOf = windowOf
  }

  #window(now: bigint): Window {
    const window = this.#windowOf(now)
    return this.#latest.start > window.start ? this.#latest : window
  }

  #count(now: bigint): bigint {
    return this.#counts.get(this.#window(now).start) ?? 0n
  }

  fits(cost: bigint, now: bigint): boolean {
    return this.#count(now) + cost <= this.limit
  }

  remaining(now: bigint): bigint {
    return most(0n, this.limit - this.#count(now))
  }

  used(now: bigint): bigint {
    return this.#count(now)
  }

  resetAt(now: bigint): bigint {
    return this.#count(now) === 0n ? now : this.#window(now).end
  }

  retryAt(_cost: bigint, now: bigint): bigint {
    return this.#window(now).end
  }

  releaseAt(now: bigint): bigint {
    return now
  }

  take(cost: bigint, now: bigint): GiveBack {
    this.charge(cost, now)
    const { start } = this.#latest
    const grants = this.#grants
    return (n, now) => {
      if (this.#window(now).start !== start || this.#grants !== grants) return 0n
      return this.#giveBack(n, now)
    }
  }

  #giveBack(n: bigint, now: bigint): bigint {
    const given = least(n, this.#count(now))
    this.#counts.set(this.#window(now).start, this.#count(now) - given)
    return given
  }

  grant(n: bigint, now: bigint): bigint {
    const given = this.#giveBack(n, now)
    if (given > 0n) this.#grants++
    return given
  }

  charge(n: bigint, now: bigint): void {
    this.#latest = this.#window(now)
    this.#counts.set(this.#latest.start, this.#count(now) + n)
  }

  reset(now: bigint): boolean {
    return this.grant(this.#count(now), now) > 0n
  }
}
