/**
 * Deadlines of equal length, in the order they were set: one timer for all of them. After a stalled turn
 * timers fire before sockets are read, so a deadline that has passed is looked at once more after that.
 */
export interface Deadline {
  /** By `performance.now`. */
  readonly at: number
  isMet: boolean
}

interface Waiting extends Deadline {
  readonly missed: () => void
}

export class Deadlines {
  readonly #ms: number
  #waiting: Waiting[] = []
  /** Those before have been dealt with. */
  #first = 0
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(ms: number) {
    this.#ms = ms
  }

  /** Calls `missed` unless the deadline is met in time. */
  set(missed: () => void): Deadline {
    const deadline: Waiting = { at: performance.now() + this.#ms, isMet: false, missed }
    this.#waiting.push(deadline)
    if (this.#timer === undefined) this.#arm(this.#ms)
    return deadline
  }

  #arm(ms: number): void {
    this.#timer = setTimeout(() => setImmediate(() => this.#look()), Math.max(1, ms))
    this.#timer.unref()
  }

  #look(): void {
    const now = performance.now()
    while (this.#first < this.#waiting.length) {
      const deadline = this.#waiting[this.#first]!
      if (!deadline.isMet && deadline.at > now) break
      this.#first++
      if (!deadline.isMet) deadline.missed()
    }
    this.#waiting = this.#waiting.slice(this.#first)
    this.#first = 0
    const next = this.#waiting[0]
    if (next === undefined) this.#timer = undefined
    else this.#arm(next.at - now)
  }
}
