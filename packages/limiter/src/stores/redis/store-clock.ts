/**
 * The store's time. Redis decides by its own clock. How far it is ahead of this instance's clock is measured with
 * every call. That is reported, and used where the store's time is needed without a call: calendar boundaries, when
 * rules took effect, answers from leases and from the fallback, and levels of shards. It never decides in Redis.
 */
import type { RuleLayout } from './rule-layout.js'

/** A measurement is replaced by a sharper one, by two that contradict it alike, or by any after this long. */
const STALE_MS = 60_000
/** By how much measurements may differ beyond what they are uncertain by. */
const SLACK_US = 1000
const NO_DOUBT: readonly [offset: number, uncertainty: number] = [Number.POSITIVE_INFINITY, 0]

export class StoreClock {
  /** Tests decide by this time instead, in microseconds. */
  readonly #testTime: (() => number) | null
  /** Microseconds that the store's clock is ahead; NaN before the first call. */
  #offset = Number.NaN
  #uncertainty = Number.POSITIVE_INFINITY
  #measuredAt = 0
  /** An offset that contradicts the known one, and how uncertain that is. */
  #doubted = NO_DOUBT
  /** This instance's time when it last asked. */
  #asked = 0

  /** How many calls found a row that the store's clock wrote before it stepped back by more than a minute. */
  stepsBack = 0
  readonly #onStepBack: () => void

  constructor(testTime: (() => number) | null, onStepBack: () => void = () => {}) {
    this.#testTime = testTime
    this.#onStepBack = onStepBack
    if (testTime !== null) this.#offset = 0
  }

  /** The time that the script decides by, in microseconds; 0: the server's clock. */
  get scriptTime(): number {
    return this.#testTime === null ? 0 : this.#testTime()
  }

  /** A call is about to be sent whose first operation was asked at this instance's time. */
  asking(now: number): void {
    this.#asked = this.#testTime === null ? now : this.#testTime()
  }

  /**
   * A call was answered. Its first operation was asked at the time `asked` of this instance's clock, `askedAt` of the
   * steady one in milliseconds; what it waited here makes the measurement less certain. `said` is the store's time,
   * negative if its clock has stepped back.
   */
  answered(asked: number, askedAt: number, said: number): void {
    const storeNow = Math.abs(said)
    if (said < 0) {
      this.stepsBack++
      this.#onStepBack()
    }
    if (this.#testTime !== null) return
    const at = performance.now()
    const uncertainty = (at - askedAt) * 500
    const offset = Math.round(storeNow - asked - uncertainty)
    const isSharper = uncertainty <= this.#uncertainty || at - this.#measuredAt >= STALE_MS
    const contradicts = (other: number, by: number) =>
      Math.abs(offset - other) > uncertainty + by + SLACK_US
    if (contradicts(this.#offset, this.#uncertainty)) {
      // A request that had waited for something else was asked earlier than it seems. If a clock has stepped, the next
      // measurement says the same.
      const [doubted, by] = this.#doubted
      this.#doubted = [offset, uncertainty]
      if (contradicts(doubted, by)) return
    } else if (!isSharper) {
      const [doubted, by] = this.#doubted
      if (contradicts(doubted, by)) this.#doubted = NO_DOUBT
      return
    }
    this.#doubted = NO_DOUBT
    this.#uncertainty = uncertainty
    this.#measuredAt = at
    this.#offset = offset
  }

  /** The store's time at this instance's time, as far as is known. */
  at(now: number): number {
    return Number.isNaN(this.#offset) ? now : now + this.#offset
  }

  /** A rule's numbers as scripts read them. */
  readonly packed = (layout: RuleLayout): Buffer =>
    layout.packed(this.at(this.#asked), this.#offset)

  /** Milliseconds, and how sure that is; null before the first call. */
  get reading(): { readonly aheadMs: number; readonly uncertainMs: number } | null {
    if (Number.isNaN(this.#offset)) return null
    return { aheadMs: this.#offset / 1000, uncertainMs: this.#uncertainty / 1000 }
  }
}
