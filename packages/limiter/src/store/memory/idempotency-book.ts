/** Allowed answers by idempotency key, for 5 minutes; the oldest go first where there are too many. */
import { type Idempotency, IdempotencyConflict, type Transaction, type Verdicts } from '../store.js'

const IDEMPOTENCY_US = 300_000_000

interface Answered {
  readonly fingerprint: string
  readonly transaction: Transaction
  readonly verdicts: Verdicts
  readonly until: number
}

export class IdempotencyBook {
  readonly #most: number
  /** In the order they were answered, so that the oldest come first. */
  readonly #answers = new Map<string, Answered>()

  constructor(most: number) {
    this.#most = most
  }

  get size(): number {
    return this.#answers.size
  }

  find({ scope, value, id, fingerprint }: Idempotency, now: number): Answered | undefined {
    const answer = this.#answers.get(keyOf(scope, value, id))
    if (answer === undefined || answer.until <= now) return undefined
    if (answer.fingerprint !== fingerprint) throw new IdempotencyConflict()
    return answer
  }

  add(
    { scope, value, id, fingerprint }: Idempotency,
    transaction: Transaction,
    verdicts: Verdicts,
    now: number,
  ): void {
    const key = keyOf(scope, value, id)
    this.#answers.delete(key)
    this.#answers.set(key, { fingerprint, transaction, verdicts, until: now + IDEMPOTENCY_US })
    for (const [oldest, { until }] of this.#answers) {
      if (until > now && this.#answers.size <= this.#most) break
      this.#answers.delete(oldest)
    }
  }
}

function keyOf(scope: string, value: string, id: string): string {
  return JSON.stringify([scope, value, id])
}
