/** Allowed answers by idempotency key, for 5 minutes; the oldest go first where there are too many. */
import { GRACE_US } from '../../algorithms/clock-steps.js'
import type { Answer } from '../answer.js'
import { IdempotencyConflict } from '../store.js'
import { type Idempotency, REPLAYABLE_US } from '../transaction.js'

interface Kept {
  readonly fingerprint: string
  readonly answer: Answer
  readonly until: number
}

export class IdempotencyBook {
  readonly #most: number
  /** In the order they were answered, so that the oldest come first. */
  readonly #answers = new Map<string, Kept>()

  constructor(most: number) {
    this.#most = most
  }

  get size(): number {
    return this.#answers.size
  }

  find(asked: Idempotency, now: number): Answer | undefined {
    const kept = this.#answers.get(keyOf(asked))
    if (kept === undefined || kept.until <= now) return undefined
    // It was answered by a clock that has since stepped back: how long ago is not known.
    if (kept.until > now + REPLAYABLE_US + GRACE_US) return undefined
    if (kept.fingerprint !== asked.fingerprint) throw new IdempotencyConflict()
    return kept.answer
  }

  add(asked: Idempotency, answer: Answer, now: number): void {
    const key = keyOf(asked)
    const { fingerprint } = asked
    this.#answers.delete(key)
    this.#answers.set(key, { fingerprint, answer, until: now + REPLAYABLE_US })
    for (const [oldest, { until }] of this.#answers) {
      if (until + GRACE_US > now && this.#answers.size <= this.#most) break
      this.#answers.delete(oldest)
    }
  }
}

function keyOf({ namespace, scope, value, id }: Idempotency): string {
  return JSON.stringify([namespace, scope, value, id])
}
