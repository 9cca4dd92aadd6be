/**
 * Deadlines of equal length, in the order they were set: one timer for all of them. After a stalled turn
 * timers fire before sockets are read, so a deadline that has passed is looked at once more after that.
 */
export class Deadline {
  /** By `performance.now`. */
  readonly at: number
  /** Let go of as soon as the deadline is met: it may hold a whole call. */
  #missed: (() => void) | null

  constructor(at: number, missed: () => void) {
    this.at = at
    this.#missed = missed
  }

  meet(): void {
    this.#missed = null
  }

  get isMet(): boolean {
    return this.#missed === null
  }

  pass(): void {
    const missed = this.#missed
    this.#missed = null
    missed?.()
  }
}

export class Deadlines {
  readonly #ms: number
  #waiting: Deadline[] = []
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(ms: number) {
    this.#ms = ms
  }

  /** Calls `missed` unless the deadline is met in time. */
  set(missed: () => void): Deadline {
    const deadline = new Deadline(performance.now() + this.#ms, missed)
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
    const next = this.#waiting.findIndex(({ at, isMet }) => !isMet && at > now)
    const over = next < 0 ? this.#waiting : this.#waiting.slice(0, next)
    this.#waiting = next < 0 ? [] : this.#waiting.slice(next)
    this.#timer = undefined
    if (next >= 0) this.#arm(this.#waiting[0]!.at - now)
    for (const deadline of over) deadline.pass()
  }
}
