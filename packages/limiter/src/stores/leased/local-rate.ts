/** How fast a row is requested here: averaged over 100 ms. A rise is seen at once. */

/** Over which it is averaged, in milliseconds. */
const AVERAGED_MS = 100
/** The shortest time from which it is told. */
const SHORTEST_MS = 20

export class LocalRate {
  /** What was asked for since it was last computed. */
  #count = 0
  #countedFrom: number
  /** A millisecond; NaN until it was computed for the first time. */
  #average = Number.NaN
  /** When anything was last asked for, as far as ticks tell. */
  #busyAt: number

  constructor(steady: number) {
    this.#countedFrom = steady
    this.#busyAt = steady
  }

  count(cost: number): void {
    this.#count += cost
  }

  /** Computes the average; called at every tick. */
  tick(steady: number): void {
    if (this.#count > 0) this.#busyAt = steady
    const elapsed = steady - this.#countedFrom
    if (elapsed <= 0) return
    const weight = Number.isNaN(this.#average) ? 1 : 1 - Math.exp(-elapsed / AVERAGED_MS)
    this.#average = this.average + (this.#count / elapsed - this.average) * weight
    this.#count = 0
    this.#countedFrom = steady
  }

  /** A millisecond. */
  get average(): number {
    return Number.isNaN(this.#average) ? 0 : this.#average
  }

  /** A millisecond: the average, or what was asked for just now where that is more. */
  now(steady: number): number {
    const elapsed = Math.max(steady - this.#countedFrom, SHORTEST_MS)
    return Math.max(this.average, this.#count / elapsed)
  }

  /** For so long nothing was asked for. */
  idleMs(steady: number): number {
    return steady - this.#busyAt
  }
}
