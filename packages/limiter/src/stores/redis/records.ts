/**
 * Idempotency records: allowed answers that are given again. What is kept of them in Redis, and how another
 * instance, or this one under other rules, makes the same answer of it. An answer that this instance gave is
 * given again as it is, so that there is one receipt for it.
 */
import { createHash } from 'node:crypto'
import { VERDICT_WIDTH } from '../../algorithms/verdict.js'
import type { RememberedRule } from '../../rules/compiled-rule.js'
import type { RuleSet } from '../../rules/rule-set.js'
import { TwoGenerations } from '../../rules/two-generations.js'
import { Answer } from '../answer.js'
import { FIRST_VERDICT } from '../answer-numbers.js'
import { type Idempotency, newTransaction, type Transaction } from '../transaction.js'

/** The end of its life, then the fingerprint. */
const FINGERPRINT_AT = 8
const FINGERPRINT_LENGTH = 40
const BODY_AT = FINGERPRINT_AT + FINGERPRINT_LENGTH
/** The time of the decision, then the length of the description. */
const HEAD_LENGTH = 12

type Description = readonly [
  rules: readonly RememberedRule[],
  values: readonly string[],
  cost: number,
  costs: readonly number[] | null,
  holdId: string,
]

export class Records {
  /** In force, by namespace. */
  readonly #rules: ReadonlyMap<string, RuleSet>
  readonly #own = new TwoGenerations<string, Answer>(10_000)

  constructor(rules: ReadonlyMap<string, RuleSet>) {
    this.#rules = rules
  }

  /** Remembers an answer that this instance recorded under that key. */
  noteOwn(key: string, answer: Answer): void {
    this.#own.set(key, answer)
  }

  /** The recorded answer. */
  replay(key: string, { namespace }: Idempotency, record: Buffer): Answer {
    const own = this.#own.get(key)
    if (own?.decidedAt === record.readDoubleLE(BODY_AT)) return own.again()
    return recordedAnswer(record, this.#rules.get(namespace)!)
  }
}

export function fingerprintOf({ fingerprint }: Idempotency): string {
  return createHash('sha1').update(fingerprint).digest('hex')
}

export function describeTransaction(transaction: Transaction): string {
  const { rules, values, cost, costs, holdId } = transaction
  const description: Description = [
    rules.map(({ remembered }) => remembered),
    values,
    cost,
    costs,
    holdId,
  ]
  return JSON.stringify(description)
}

/** What follows the fingerprint, as the script writes it. */
export function recordBody({ transaction, decidedAt, numbers }: Answer): Buffer {
  const text = Buffer.from(describeTransaction(transaction))
  const head = Buffer.alloc(HEAD_LENGTH)
  head.writeDoubleLE(decidedAt, 0)
  head.writeUInt32LE(text.length, 8)
  const parts = [head, text]
  let at = FIRST_VERDICT
  for (const { limits } of transaction.rules) {
    const end = at + limits.length * VERDICT_WIDTH
    // Before the verdicts stands what was ever taken from the row, which nobody reads.
    parts.push(Buffer.from(Float64Array.from([0, ...numbers.slice(at, end)]).buffer))
    at = end
  }
  return Buffer.concat(parts)
}

/** The request that was answered, as far as it is known, and its answer. */
function recordedAnswer(record: Buffer, inForce: RuleSet): Answer {
  const now = record.readDoubleLE(BODY_AT)
  const length = record.readUInt32LE(BODY_AT + 8)
  let from = BODY_AT + HEAD_LENGTH
  const text = record.toString('utf8', from, from + length)
  from += length
  const [remembered, values, cost, costs, holdId] = JSON.parse(text) as Description
  const rules = remembered.map((rule) => inForce.recall(rule))
  const transaction = newTransaction(rules, values, cost, now, { costs, holdId, isForeign: true })
  const answer = Answer.open(transaction, now, true)
  let at = FIRST_VERDICT
  for (const { limits } of rules) {
    from += 8
    for (let i = 0; i < limits.length * VERDICT_WIDTH; i++, from += 8)
      answer.numbers[at++] = record.readDoubleLE(from)
  }
  return answer.again()
}
