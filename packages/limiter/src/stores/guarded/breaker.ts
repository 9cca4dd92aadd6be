/**
 * Keeps an instance from asking a store that does not answer: closed, open after 5 failures in a row,
 * half-open after 1 second (doubling to 30, less up to a fifth at random, so that instances do not probe
 * together) for one probe at a time, closed after 2 successes. A sign of life ends the pause early.
 */
export type BreakerState = 'closed' | 'open' | 'half_open'

const FAILURES = 5
const SUCCESSES = 2
const FIRST_PAUSE_MS = 1000
const LONGEST_PAUSE_MS = 30_000
const JITTER = 0.2
const LONGEST_PROBE_MS = 10_000

export class Breaker {
  readonly #now: () => number
  readonly #random: () => number
  #state: BreakerState = 'closed'
  #failures = 0
  #successes = 0
  #pauseMs = FIRST_PAUSE_MS
  #openUntil = 0
  /** Until when a probe is waited for: one that is never heard of must not keep it half-open. */
  #probingUntil = Number.NEGATIVE_INFINITY
  /** When it last closed after having been open, in milliseconds of `now`. */
  closedAt = Number.NEGATIVE_INFINITY

  /** `now`: milliseconds that never go back. `random`: from 0 to 1. */
  constructor(now: () => number, random: () => number = Math.random) {
    this.#now = now
    this.#random = random
  }

  get state(): BreakerState {
    if (this.#state === 'open' && this.#now() >= this.#openUntil) return 'half_open'
    return this.#state
  }

  /** Whether the store may be asked now. Half-open, the first to ask is the probe; others are told no. */
  admits(): boolean {
    if (this.#state === 'closed') return true
    if (this.#state === 'open') {
      if (this.#now() < this.#openUntil) return false
      this.#halfOpen()
    }
    if (this.#now() < this.#probingUntil) return false
    this.#probingUntil = this.#now() + LONGEST_PROBE_MS
    return true
  }

  succeeded(): void {
    this.#failures = 0
    if (this.#state !== 'half_open') return
    this.#probingUntil = Number.NEGATIVE_INFINITY
    this.#successes++
    if (this.#successes < SUCCESSES) return
    this.#state = 'closed'
    this.#pauseMs = FIRST_PAUSE_MS
    this.closedAt = this.#now()
  }

  /** The store may be back: the next to ask is the probe, however long the pause was to be. */
  probeSoon(): void {
    if (this.#state === 'open') this.#openUntil = Math.min(this.#openUntil, this.#now())
  }

  /** The store answered a call that is made also while it is open: as good as a probe. */
  sawAnswer(): void {
    if (this.#state === 'open') this.#halfOpen()
    this.succeeded()
  }

  /** The probe has found out nothing: another may try. */
  undecided(): void {
    this.#probingUntil = Number.NEGATIVE_INFINITY
  }

  failed(): void {
    this.#failures++
    if (this.#state === 'closed' && this.#failures >= FAILURES) this.#open()
    else if (this.#state === 'half_open') {
      this.#pauseMs = Math.min(2 * this.#pauseMs, LONGEST_PAUSE_MS)
      this.#open()
    }
  }

  #halfOpen(): void {
    this.#state = 'half_open'
    this.#successes = 0
  }

  #open(): void {
    this.#state = 'open'
    this.#probingUntil = Number.NEGATIVE_INFINITY
    this.#openUntil = this.#now() + this.#pauseMs * (1 - JITTER * this.#random())
  }
}
