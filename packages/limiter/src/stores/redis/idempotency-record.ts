/**
 * Allowed answers that are given again: what is kept of them in Redis, and how another instance, or this
 * one under other rules, makes the same answer of it.
 */
import { createHash } from 'node:crypto'
import { VERDICT_WIDTH } from '../../algorithms/verdict.js'
import { type RememberedRule, recall, remember } from '../../rules/remembered-rule.js'
import type { RuleSet } from '../../rules/rule-set.js'
import {
  ALLOWED,
  DECIDED_AT,
  FIRST_VERDICT,
  type Idempotency,
  type Transaction,
  type Verdicts,
} from '../store.js'
import { readVerdicts } from './consume-answers.js'

/** The end of its life, then the fingerprint. */
const FINGERPRINT_AT = 8
const FINGERPRINT_LENGTH = 40
const BODY_AT = FINGERPRINT_AT + FINGERPRINT_LENGTH

type Description = readonly [
  rules: readonly RememberedRule[],
  values: readonly string[],
  cost: number,
  costs: readonly number[] | null,
  holdId: string,
]

export function fingerprintOf({ fingerprint }: Idempotency): string {
  return createHash('sha1').update(fingerprint).digest('hex')
}

export function describeTransaction(transaction: Transaction): string {
  const { rules, values, cost, costs, holdId } = transaction
  const description: Description = [rules.map(remember), values, cost, costs, holdId]
  return JSON.stringify(description)
}

/** What follows the fingerprint, as the consume script writes it. */
export function recordBody(description: string, verdicts: Verdicts, limits: number[]): Buffer {
  const text = Buffer.from(description)
  const numbers: Buffer[] = []
  let at = FIRST_VERDICT
  for (const count of limits) {
    const own = verdicts.slice(at, at + count * VERDICT_WIDTH)
    numbers.push(Buffer.from(Float64Array.from([0, ...own]).buffer))
    at += count * VERDICT_WIDTH
  }
  const head = Buffer.alloc(12)
  head.writeDoubleLE(verdicts[DECIDED_AT]!, 0)
  head.writeUInt32LE(text.length, 8)
  return Buffer.concat([head, text, ...numbers])
}

export interface Recalled {
  readonly transaction: Transaction
  readonly verdicts: Verdicts
}

/** The request that was answered, and its answer. */
export function recallRecord(record: Buffer, rules: RuleSet): Recalled {
  const decidedAt = record.readDoubleLE(BODY_AT)
  const length = record.readUInt32LE(BODY_AT + 8)
  const text = record.toString('utf8', BODY_AT + 12, BODY_AT + 12 + length)
  const [remembered, values, cost, costs, holdId] = JSON.parse(text) as Description
  const recalled = remembered.map((rule) => recall(rule, rules))
  const verdicts = [1, decidedAt, 0]
  verdicts[ALLOWED] = 1
  let at = BODY_AT + 12 + length
  for (const { limits } of recalled)
    at = readVerdicts(record, at + 8, verdicts, verdicts.length, limits.length)
  const transaction = {
    rules: recalled,
    values,
    cost,
    costs,
    holdId,
    dryRun: false,
    idempotency: null,
    replayOf: null,
    isForeign: true,
    now: decidedAt,
  }
  return { transaction, verdicts }
}
