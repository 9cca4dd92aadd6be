/** Allowed answers by idempotency key, for 5 minutes; the oldest go first where there are too many. */
import { type Idempotency, IdempotencyConflict, type Transaction, type Verdicts } from '../store.js'

const IDEMPOTENCY_US = 300_000_000
/** Kept for as long again as clocks may step back. */
const GRACE_US = 60_000_000

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

  find(asked: Idempotency, now: number): Answered | undefined {
    const answer = this.#answers.get(keyOf(asked))
    if (answer === undefined || answer.until <= now) return undefined
    // It was answered by a clock that has since stepped back: how long ago is not known.
    if (answer.until > now + IDEMPOTENCY_US + GRACE_US) return undefined
    if (answer.fingerprint !== asked.fingerprint) throw new IdempotencyConflict()
    return answer
  }

  add(asked: Idempotency, transaction: Transaction, verdicts: Verdicts, now: number): void {
    const key = keyOf(asked)
    const { fingerprint } = asked
    this.#answers.delete(key)
    this.#answers.set(key, { fingerprint, transaction, verdicts, until: now + IDEMPOTENCY_US })
    for (const [oldest, { until }] of this.#answers) {
      if (until + GRACE_US > now && this.#answers.size <= this.#most) break
      this.#answers.delete(oldest)
    }
  }
}

function keyOf({ namespace, scope, value, id }: Idempotency): string {
  return JSON.stringify([namespace, scope, value, id])
}
