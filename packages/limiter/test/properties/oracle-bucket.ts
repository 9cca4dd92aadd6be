/**
 * A bucket by its definition: the exact instant at which it is full again. A token comes back every
 * window/amount microseconds, as a fraction; nothing is ever rounded but the answers.
 */
import { Fraction, latest, least, most } from './fraction.js'
import type { GiveBack, Oracle } from './oracle.js'

export interface BucketNumbers {
  readonly amount: bigint
  readonly window: bigint
  readonly burst: bigint
  /** A leaky bucket: requests wait for their turn. */
  readonly queues?: boolean
}

export class BucketOracle implements Oracle {
  readonly #numbers: BucketNumbers
  readonly #tokenTime: Fraction
  limit: bigint
  #fullAt = new Fraction(0n)
  /** Tokens that were ever given back. */
  #givenBack = 0n
  /** The latest time that changed anything: what time has repaid by then stays repaid. */
  #lastChange = 0n

  constructor(numbers: BucketNumbers) {
    this.#numbers = numbers
    this.limit = numbers.burst
    this.#tokenTime = new Fraction(numbers.window, numbers.amount)
  }

  /** The tokens in use, with their fraction. */
  #inUse(now: bigint): Fraction {
    const instant = new Fraction(now)
    return latest(this.#fullAt, instant).minus(instant).over(this.#tokenTime)
  }

  fits(cost: bigint, now: bigint): boolean {
    return !this.#inUse(now)
      .plus(new Fraction(cost - this.limit))
      .isAbove(new Fraction(0n))
  }

  remaining(now: bigint): bigint {
    return most(0n, new Fraction(this.limit).minus(this.#inUse(now)).floor())
  }

  used(now: bigint): bigint {
    return this.#inUse(now).ceil()
  }

  resetAt(now: bigint): bigint {
    return latest(this.#fullAt, new Fraction(now)).ceil()
  }

  retryAt(cost: bigint, now: bigint): bigint {
    const excess = this.#tokenTime.times(cost - this.limit)
    return latest(this.#fullAt, new Fraction(now)).plus(excess).ceil()
  }

  releaseAt(now: bigint): bigint {
    return this.#numbers.queues === true ? this.resetAt(now) : now
  }

  take(cost: bigint, now: bigint): GiveBack {
    this.charge(cost, now)
    const mark = this.#fullAt
    const givenBefore = this.#givenBack
    return (n, now) => {
      if (this.#numbers.queues === true && !this.#fullAt.equals(mark)) return 0n
      const moved = this.#tokenTime.times(this.#givenBack - givenBefore)
      const time = new Fraction(most(now, this.#lastChange))
      const left = mark.minus(moved).minus(time).over(this.#tokenTime).floor()
      const given = most(0n, least(n, left))
      this.#fullAt = this.#fullAt.minus(this.#tokenTime.times(given))
      this.#givenBack += given
      if (given > 0n) this.#lastChange = most(now, this.#lastChange)
      return given
    }
  }

  grant(n: bigint, now: bigint): bigint {
    const used = this.#inUse(now)
    this.#givenBack += n
    if (used.numerator === 0n) return 0n
    this.#lastChange = most(now, this.#lastChange)
    this.#fullAt = latest(new Fraction(now), this.#fullAt.minus(this.#tokenTime.times(n)))
    return least(n, used.ceil())
  }

  charge(n: bigint, now: bigint): void {
    this.#lastChange = most(now, this.#lastChange)
    this.#fullAt = latest(this.#fullAt, new Fraction(now)).plus(this.#tokenTime.times(n))
  }

  reset(now: bigint): boolean {
    return this.grant(this.#inUse(now).ceil(), now) > 0n
  }
}
