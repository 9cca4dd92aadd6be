/** How far this instance's clock is off the store's: measured with every call, deciding nothing. */

/** A measurement is replaced by a sharper one, or by any after this long. */
const STALE_MS = 60_000

export class StoreClock {
  /** Microseconds that the store's clock is ahead; NaN before the first call. */
  offset = Number.NaN
  #uncertainty = Number.POSITIVE_INFINITY
  #measuredAt = 0

  /** `asked`: this instance's time when the call was sent; `tookMs`: how long the answer took. */
  measure(asked: number, tookMs: number, storeNow: number): void {
    const at = performance.now()
    const uncertainty = tookMs * 500
    if (uncertainty > this.#uncertainty && at - this.#measuredAt < STALE_MS) return
    this.#uncertainty = uncertainty
    this.#measuredAt = at
    this.offset = Math.round(storeNow - asked - uncertainty)
  }

  /** The store's time at this instance's time, as far as is known. */
  at(now: number): number {
    return Number.isNaN(this.offset) ? now : now + this.offset
  }

  /** Milliseconds, and how sure that is; null before the first call. */
  get reading(): { readonly aheadMs: number; readonly uncertainMs: number } | null {
    if (Number.isNaN(this.offset)) return null
    return { aheadMs: this.offset / 1000, uncertainMs: this.#uncertainty / 1000 }
  }
}
