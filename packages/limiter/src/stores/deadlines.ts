/**
 * When things must have been answered: one ordered list, and one timer for all of it. After a stalled turn
 * timers fire before sockets are read, so what has passed is looked at once more after that.
 */
export interface Deadline {
  /** It is over in time. */
  meet(): void
}

export interface Timers {
  /** Milliseconds that never go back. */
  readonly now: () => number
  /** How long a decision may take, in milliseconds; infinite if every answer is waited for. */
  readonly deadlineMs: number
  /** Calls `missed` at that time, unless the deadline is met before. */
  deadline(at: number, missed: () => void): Deadline
}

/** By when something that is asked now must be answered. */
export function deadlineFrom({ now, deadlineMs }: Timers): number {
  return now() + deadlineMs
}

class Waiting implements Deadline {
  readonly at: number
  /** Let go of as soon as the deadline is met: it may hold a whole call. */
  missed: (() => void) | null

  constructor(at: number, missed: () => void) {
    this.at = at
    this.missed = missed
  }

  meet(): void {
    this.missed = null
  }
}

export class Deadlines implements Timers {
  readonly deadlineMs: number
  /** The next comes first; those that were met go when their time has come. */
  #waiting: Waiting[] = []
  #timer: ReturnType<typeof setTimeout> | undefined
  #armedFor = Number.POSITIVE_INFINITY

  constructor(deadlineMs = Number.POSITIVE_INFINITY) {
    this.deadlineMs = deadlineMs
  }

  /** A function of its own, which may be handed on: it is called for each decision. */
  readonly now = (): number => performance.now()

  /** `at` may be infinite: then it is never missed. */
  deadline(at: number, missed: () => void): Deadline {
    const deadline = new Waiting(at, missed)
    if (at === Number.POSITIVE_INFINITY) return deadline
    const waiting = this.#waiting
    // Nearly all come in order.
    let place = waiting.length
    while (place > 0 && waiting[place - 1]!.at > at) place--
    if (place === waiting.length) waiting.push(deadline)
    else waiting.splice(place, 0, deadline)
    if (at < this.#armedFor) this.#arm(at)
    return deadline
  }

  #arm(at: number): void {
    clearTimeout(this.#timer)
    this.#armedFor = at
    const look = () => setImmediate(() => this.#look())
    this.#timer = setTimeout(look, Math.max(1, at - performance.now()))
    this.#timer.unref()
  }

  #look(): void {
    const now = performance.now()
    const next = this.#waiting.findIndex(({ at, missed }) => missed !== null && at > now)
    const over = next < 0 ? this.#waiting : this.#waiting.slice(0, next)
    this.#waiting = next < 0 ? [] : this.#waiting.slice(next)
    this.#armedFor = Number.POSITIVE_INFINITY
    if (next >= 0) this.#arm(this.#waiting[0]!.at)
    for (const { missed } of over) missed?.()
  }
}
