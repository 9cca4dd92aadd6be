/**
 * A bucket whose amount changes: what was used stays used. Converting may round up by a few
 * microseconds, so this keeps the earliest and the latest instant at which the bucket can be full.
 */
import { Fraction, latest, least, most } from './fraction.js'

export interface Numbers {
  readonly amount: bigint
  readonly burst: bigint
  /** When these numbers took effect; null: they came with the request. */
  readonly since: bigint | null
}

/** What one conversion may round up. */
const SLACK = new Fraction(4n)
const GRACE = new Fraction(60_000_000n)

interface Bounds {
  readonly earliest: Fraction
  readonly latest: Fraction
}

export class ChangingBucketOracle {
  readonly #window: bigint
  #full: Bounds = { earliest: new Fraction(0n), latest: new Fraction(0n) }
  #amount = 0n
  #lastWrite = 0n

  constructor(window: bigint) {
    this.#window = window
  }

  #tokenTime({ amount }: Pick<Numbers, 'amount'>): Fraction {
    return new Fraction(this.#window, amount)
  }

  /** When it is full under these numbers: converted when they took effect, or at the last write if that was later. */
  #converted(numbers: Numbers, now: bigint): Bounds {
    if (this.#amount === 0n || this.#amount === numbers.amount) return this.#full
    const at = new Fraction(least(now, most(numbers.since ?? 0n, this.#lastWrite)))
    const convert = (full: Fraction, slack: Fraction) => {
      if (!full.isAbove(at)) return full
      const used = full.minus(at).over(this.#tokenTime({ amount: this.#amount }))
      return at.plus(this.#tokenTime(numbers).by(used)).plus(slack)
    }
    return {
      earliest: convert(this.#full.earliest, new Fraction(0n)),
      latest: convert(this.#full.latest, SLACK),
    }
  }

  /** What has been full for 60 s under all the numbers in force may be forgotten, also for numbers to come. */
  mayForget(inForce: readonly Numbers[], now: bigint): void {
    const isFull = (numbers: Numbers) =>
      this.#converted(numbers, now).earliest.plus(GRACE).ceil() <= now
    if (!inForce.every(isFull)) return
    this.#full = { earliest: new Fraction(0n), latest: this.#full.latest }
  }

  #base(numbers: Numbers, now: bigint): Bounds {
    const full = this.#converted(numbers, now)
    const instant = new Fraction(now)
    return { earliest: latest(full.earliest, instant), latest: latest(full.latest, instant) }
  }

  /** The first instants that admit the cost: not before the one, and not after the other. */
  admittedAt(cost: bigint, numbers: Numbers, now: bigint): { from: bigint; to: bigint } {
    const base = this.#base(numbers, now)
    const excess = this.#tokenTime(numbers).times(cost - numbers.burst)
    return { from: base.earliest.plus(excess).ceil(), to: base.latest.plus(excess).ceil() }
  }

  remaining(numbers: Numbers, now: bigint): { least: bigint; most: bigint } {
    const base = this.#base(numbers, now)
    const token = this.#tokenTime(numbers)
    const left = (full: Fraction) => {
      const used = full.minus(new Fraction(now)).over(token)
      return most(0n, new Fraction(numbers.burst).minus(used).floor())
    }
    return { least: left(base.latest), most: left(base.earliest) }
  }

  /** What is counted, rounded up; it may be more than the burst. */
  used(numbers: Numbers, now: bigint): { least: bigint; most: bigint } {
    const base = this.#base(numbers, now)
    const token = this.#tokenTime(numbers)
    const counted = (full: Fraction) => full.minus(new Fraction(now)).over(token).ceil()
    return { least: counted(base.earliest), most: counted(base.latest) }
  }

  charge(cost: bigint, numbers: Numbers, now: bigint): void {
    const base = this.#base(numbers, now)
    const time = this.#tokenTime(numbers).times(cost)
    this.#full = { earliest: base.earliest.plus(time), latest: base.latest.plus(time) }
    this.#amount = numbers.amount
    this.#lastWrite = most(this.#lastWrite, now)
  }
}
