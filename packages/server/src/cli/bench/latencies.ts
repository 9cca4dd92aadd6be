/** Very many durations in little memory: counted in steps of one percent. */
const STEP = Math.log(1.01)
const STEPS = 2000
/** In milliseconds. */
const SHORTEST = 0.001

export class Latencies {
  readonly #counts = new Float64Array(STEPS)
  count = 0
  maxMs = 0

  add(ms: number): void {
    const step = Math.log(Math.max(ms, SHORTEST) / SHORTEST) / STEP
    this.#counts[Math.min(STEPS - 1, Math.floor(step))]!++
    this.count++
    if (ms > this.maxMs) this.maxMs = ms
  }

  /** At most one percent above the true one; 0 where there are none. */
  percentileMs(share: number): number {
    let left = Math.ceil(this.count * share)
    for (let i = 0; i < STEPS && left > 0; i++) {
      left -= this.#counts[i]!
      if (left <= 0) return Math.min(this.maxMs, SHORTEST * Math.exp((i + 1) * STEP))
    }
    return 0
  }
}
