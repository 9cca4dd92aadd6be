/**
 * What a row has denied, for a while: it holds for any cost that is as large, and never past the time that
 * the denial names, by either clock.
 */
import { GO_AT, NOT_NOW, STATUS, VERDICT_WIDTH } from '../../algorithms/verdict.js'
import { copySurplus } from '../surplus.js'
import type { SentAt } from './holding.js'

export class DenialMemory {
  #verdicts: readonly number[] | null = null
  #cost = Number.POSITIVE_INFINITY
  #until = Number.NEGATIVE_INFINITY
  #untilWall = Number.NEGATIVE_INFINITY

  /** The row's verdicts said no when they were asked for then; for so many milliseconds more. */
  note(cost: number, verdicts: readonly number[], { steady, wall }: SentAt, ms: number): void {
    if (cost > this.#cost && this.holds(cost, steady, wall)) return
    this.#verdicts = verdicts
    this.#cost = cost
    this.#until = steady + ms
    this.#untilWall = wall + 1000 * ms
  }

  /** So much was let through. */
  disprove(cost: number): void {
    if (cost >= this.#cost) this.forget()
  }

  holds(cost: number, steady: number, wall: number): boolean {
    return cost >= this.#cost && steady < this.#until && wall < this.#untilWall
  }

  forget(): void {
    this.#verdicts = null
    this.#cost = Number.POSITIVE_INFINITY
  }

  /** Into out[o…]. It may go later than now, however clocks differ. */
  write(now: number, out: number[], o: number): void {
    const verdicts = this.#verdicts!
    copySurplus(verdicts, 0, out, o, verdicts.length / VERDICT_WIDTH)
    for (let i = 0; i < verdicts.length; i++) out[o + i] = verdicts[i]!
    for (let at = o; at < o + verdicts.length; at += VERDICT_WIDTH)
      if (out[at + STATUS] === NOT_NOW) out[at + GO_AT] = Math.max(out[at + GO_AT]!, now + 1)
  }
}
