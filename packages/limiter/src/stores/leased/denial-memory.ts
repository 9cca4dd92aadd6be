/**
 * What a row has denied, for a while: it holds for any cost that is as large, and never past the time that
 * the denial names, by either clock.
 */
import type { Answer } from '../answer.js'
import type { SentAt } from './holding.js'

export class DenialMemory {
  #answer: Answer | null = null
  #cost = Number.POSITIVE_INFINITY
  #until = Number.NEGATIVE_INFINITY
  #untilWall = Number.NEGATIVE_INFINITY

  /** Remembers a denial of the row's rule, for so many milliseconds from when it was asked for. */
  note(cost: number, answer: Answer, { steady, wall }: SentAt, ms: number): void {
    if (cost > this.#cost && this.holds(cost, steady, wall)) return
    this.#answer = answer
    this.#cost = cost
    this.#until = steady + ms
    this.#untilWall = wall + 1000 * ms
  }

  /** This cost was allowed: a denial of as much or less is forgotten. */
  noteAllowed(cost: number): void {
    if (cost >= this.#cost) this.forget()
  }

  holds(cost: number, steady: number, wall: number): boolean {
    return cost >= this.#cost && steady < this.#until && wall < this.#untilWall
  }

  forget(): void {
    this.#answer = null
    this.#cost = Number.POSITIVE_INFINITY
  }

  /** Into an answer, from this limit on. It may go later than now, however clocks differ. */
  write(answer: Answer, first: number): void {
    const denied = this.#answer!
    answer.copyLimits(first, denied, 0, denied.size)
    const soonest = answer.decidedAt + 1
    for (let limit = first; limit < first + denied.size; limit++)
      if (answer.isNotNow(limit)) answer.setGoAt(limit, Math.max(answer.goAt(limit), soonest))
  }
}
