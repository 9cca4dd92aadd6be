/**
 * A store's answer to a transaction: names over one array of numbers (answer-numbers.ts).
 *
 * `limit` is a limit's number in the answer: the limits of all rules in order, from 0. Times are microseconds.
 * Two answers with the same array are one take: a replay, or the same answer for another form of the request.
 */
import { NEVER, NOT_NOW, SHUT, UNCOUNTED, YES } from '../algorithms/status.js'
import {
  GIVEN_BACK,
  GO_AT,
  MARK,
  MARK_REST,
  REMAINING,
  RESET_AT,
  STATUS,
  VERDICT_WIDTH,
} from '../algorithms/verdict.js'
import type { CompiledLimit, CompiledRule } from '../rules/compiled-rule.js'
import { ALLOWED, DECIDED_AT, DEGRADED, FIRST_VERDICT, newNumbers } from './answer-numbers.js'
import type { Transaction } from './transaction.js'

// Where the numbers of limit 0 are. V8 folds constants of this module into the code, but not imported ones.
const WIDTH = VERDICT_WIDTH
const STATUS_0 = FIRST_VERDICT + STATUS
const REMAINING_0 = FIRST_VERDICT + REMAINING
const RESET_AT_0 = FIRST_VERDICT + RESET_AT
const GO_AT_0 = FIRST_VERDICT + GO_AT
const MARK_0 = FIRST_VERDICT + MARK
const MARK_REST_0 = FIRST_VERDICT + MARK_REST
const GIVEN_BACK_0 = FIRST_VERDICT + GIVEN_BACK

/** Why the store did not decide. */
export const DEGRADED_REASONS = [
  'store_timeout',
  'store_unreachable',
  'store_refused',
  'breaker_open',
  'store_returning',
] as const
export type DegradedReason = (typeof DEGRADED_REASONS)[number]

/** What is written down of a take from one limit, for giving it back. */
export interface Take {
  /** Where the algorithm finds the take again: two numbers of its own. */
  readonly mark: number
  readonly markRest: number
  /** Tokens that had been given back to the row before it. */
  readonly givenBack: number
  readonly takenAt: number
  /** The limit's amount at that time. */
  readonly takenUnder: number
  /** Taken without the store, in this process's memory. */
  readonly isLocal: boolean
}

/** One limit of an answer. */
export interface AnsweredLimit {
  readonly rule: CompiledRule
  readonly limit: CompiledLimit
  readonly value: string
  /** The rule's place in the transaction, and the limit's number in the answer. */
  readonly ruleIndex: number
  readonly index: number
}

/**
 * The use of a sharded limit beyond `limit - remaining`. It is not 0 if one shard is in debt while others
 * have tokens left, or if each shard has less left than the denied cost. Both are rare, so the number is
 * kept beside the array, by the limit's number.
 */
const surpluses = new WeakMap<readonly number[], Map<number, number>>()

/** Small, because each decision has one: what few answers have is in a subclass. */
export class Answer {
  /** The request; of a replay, the earlier request. */
  readonly transaction: Transaction
  readonly numbers: number[]

  constructor(transaction: Transaction, numbers: number[]) {
    this.transaction = transaction
    this.numbers = numbers
  }

  /** With room for every limit; the numbers of limits mean nothing until they are written. */
  static open(transaction: Transaction, decidedAt: number, allowed: boolean): Answer {
    const numbers = newNumbers(limitsOf(transaction.rules))
    numbers[ALLOWED] = allowed ? 1 : 0
    numbers[DECIDED_AT] = decidedAt
    numbers[DEGRADED] = 0
    return new Answer(transaction, numbers)
  }

  /** An earlier answer, repeated for the same idempotency key. */
  get isReplay(): boolean {
    return false
  }

  /** The same take as the answer to another form of the request. */
  as(transaction: Transaction): Answer {
    return new Answer(transaction, this.numbers)
  }

  /** The same answer again, for a request that repeats its idempotency key. */
  again(): Answer {
    return new Replay(this.transaction, this.numbers)
  }

  get allowed(): boolean {
    return this.numbers[ALLOWED] === 1
  }

  set allowed(allowed: boolean) {
    this.numbers[ALLOWED] = allowed ? 1 : 0
  }

  get decidedAt(): number {
    return this.numbers[DECIDED_AT]!
  }

  set decidedAt(time: number) {
    this.numbers[DECIDED_AT] = time
  }

  /** It was given without the store, each rule by its failure mode. */
  get isDegraded(): boolean {
    return this.numbers[DEGRADED] !== 0
  }

  get degradedReason(): DegradedReason | null {
    return DEGRADED_REASONS[this.numbers[DEGRADED]! - 1] ?? null
  }

  set degradedReason(reason: DegradedReason | null) {
    this.numbers[DEGRADED] = reason === null ? 0 : 1 + DEGRADED_REASONS.indexOf(reason)
  }

  /** How many limits there are. */
  get size(): number {
    return (this.numbers.length - FIRST_VERDICT) / VERDICT_WIDTH
  }

  /** The number of a rule's first limit. */
  firstOf(rule: number): number {
    const { rules } = this.transaction
    let first = 0
    for (let i = 0; i < rule; i++) first += rules[i]!.limits.length
    return first
  }

  /** Every limit with its rule, in order. */
  *each(): IterableIterator<AnsweredLimit> {
    const { rules, values } = this.transaction
    let index = 0
    for (const [ruleIndex, rule] of rules.entries())
      for (const limit of rule.limits)
        yield { rule, limit, value: values[ruleIndex]!, ruleIndex, index: index++ }
  }

  status(limit: number): number {
    return this.numbers[STATUS_0 + limit * WIDTH]!
  }

  setStatus(limit: number, status: number): void {
    this.numbers[STATUS_0 + limit * WIDTH] = status
  }

  /** Nothing is known of it: nothing used, nothing left, free at that time. */
  setNothing(limit: number, status: number, time: number): void {
    const at = limit * WIDTH
    this.numbers.fill(0, STATUS_0 + at, STATUS_0 + at + WIDTH)
    this.numbers[STATUS_0 + at] = status
    this.numbers[RESET_AT_0 + at] = time
    this.numbers[GO_AT_0 + at] = time
  }

  /** Yes, at once, with so much left. The take and the reset are as limit `from` of another answer says. */
  setTaken(limit: number, difference: number, other: Answer, from: number): void {
    const { numbers } = this
    const { numbers: others } = other
    const at = limit * WIDTH
    const otherAt = from * WIDTH
    const now = numbers[DECIDED_AT]!
    const resetAt = others[RESET_AT_0 + otherAt]!
    numbers[STATUS_0 + at] = YES
    numbers[REMAINING_0 + at] = difference
    numbers[RESET_AT_0 + at] = resetAt > now ? resetAt : now
    numbers[GO_AT_0 + at] = now
    numbers[MARK_0 + at] = others[MARK_0 + otherAt]!
    numbers[MARK_REST_0 + at] = others[MARK_REST_0 + otherAt]!
    numbers[GIVEN_BACK_0 + at] = others[GIVEN_BACK_0 + otherAt]!
  }

  isYes(limit: number): boolean {
    return this.status(limit) === YES
  }

  isNotNow(limit: number): boolean {
    return this.status(limit) === NOT_NOW
  }

  /** The cost is above what the limit can ever admit. */
  isNever(limit: number): boolean {
    return this.status(limit) === NEVER
  }

  /** The limit lets the request through. */
  passes(limit: number): boolean {
    const status = this.status(limit)
    return status === YES || status === UNCOUNTED
  }

  /** The store could not be asked, and the rule refuses what it cannot count. */
  isShut(limit: number): boolean {
    return this.status(limit) === SHUT
  }

  /** Not where the store could not be asked and the rule is open or closed. */
  isCounted(limit: number): boolean {
    const status = this.status(limit)
    return status !== UNCOUNTED && status !== SHUT
  }

  /** What is left: 0 where more is counted than the limit holds. */
  remaining(limit: number): number {
    return Math.max(0, this.difference(limit))
  }

  /** What a full counter holds less what is counted: negative in debt. */
  difference(limit: number): number {
    return this.numbers[REMAINING_0 + limit * WIDTH]!
  }

  setDifference(limit: number, difference: number): void {
    this.numbers[REMAINING_0 + limit * WIDTH] = difference
  }

  resetAt(limit: number): number {
    return this.numbers[RESET_AT_0 + limit * WIDTH]!
  }

  setResetAt(limit: number, time: number): void {
    this.numbers[RESET_AT_0 + limit * WIDTH] = time
  }

  /** When the request may go: of a yes its turn, of a not-now the first time that admits it. */
  goAt(limit: number): number {
    return this.numbers[GO_AT_0 + limit * WIDTH]!
  }

  setGoAt(limit: number, time: number): void {
    this.numbers[GO_AT_0 + limit * WIDTH] = time
  }

  mark(limit: number): number {
    return this.numbers[MARK_0 + limit * WIDTH]!
  }

  markRest(limit: number): number {
    return this.numbers[MARK_REST_0 + limit * WIDTH]!
  }

  setMark(limit: number, mark: number, rest: number): void {
    const at = limit * WIDTH
    this.numbers[MARK_0 + at] = mark
    this.numbers[MARK_REST_0 + at] = rest
  }

  givenBack(limit: number): number {
    return this.numbers[GIVEN_BACK_0 + limit * WIDTH]!
  }

  /** Whether the limit was taken from: a shadow limit that says no is not. */
  wasTaken(limit: number): boolean {
    return this.allowed && this.isYes(limit)
  }

  takeOf({ index, limit }: Pick<AnsweredLimit, 'index' | 'limit'>): Take {
    return {
      mark: this.mark(index),
      markRest: this.markRest(index),
      givenBack: this.givenBack(index),
      takenAt: this.decidedAt,
      takenUnder: limit.numbers.amount,
      isLocal: this.isDegraded,
    }
  }

  /** May be negative; 0 unless it was set. */
  surplus(limit: number): number {
    return surpluses.get(this.numbers)?.get(limit) ?? 0
  }

  setSurplus(limit: number, surplus: number): void {
    let known = surpluses.get(this.numbers)
    if (known === undefined) {
      if (surplus === 0) return
      known = new Map()
      surpluses.set(this.numbers, known)
    }
    known.set(limit, surplus)
  }

  get hasSurplus(): boolean {
    return surpluses.has(this.numbers)
  }

  /** Everything that another answer says of so many limits, from its number `from` on. */
  copyLimits(limit: number, other: Answer, from: number, count: number): void {
    const end = FIRST_VERDICT + (from + count) * VERDICT_WIDTH
    let at = FIRST_VERDICT + limit * VERDICT_WIDTH
    for (let i = FIRST_VERDICT + from * VERDICT_WIDTH; i < end; i++, at++)
      this.numbers[at] = other.numbers[i]!
    const known = surpluses.get(other.numbers)
    if (known === undefined) return
    for (let i = 0; i < count; i++) this.setSurplus(limit + i, known.get(from + i) ?? 0)
  }

  /** What one rule's limits say, as an answer to that rule alone. */
  ruleAlone(transaction: Transaction, first: number): Answer {
    const alone = Answer.open(transaction, this.decidedAt, this.allowed)
    alone.numbers[DEGRADED] = this.numbers[DEGRADED]!
    alone.copyLimits(0, this, first, alone.size)
    return alone
  }

  /** The enforced rules that deny, by their places in the transaction. */
  deniers(): number[] {
    const { rules } = this.transaction
    const deniers: number[] = []
    let limit = 0
    for (let i = 0; i < rules.length; i++) {
      const { limits, shadow } = rules[i]!
      let isDenied = false
      for (let j = 0; j < limits.length; j++, limit++) if (!this.passes(limit)) isDenied = true
      if (isDenied && !shadow) deniers.push(i)
    }
    return deniers
  }
}

class Replay extends Answer {
  override get isReplay(): boolean {
    return true
  }

  override as(transaction: Transaction): Answer {
    return new Replay(transaction, this.numbers)
  }
}

export function limitsOf(rules: readonly CompiledRule[]): number {
  let count = 0
  for (let i = 0; i < rules.length; i++) count += rules[i]!.limits.length
  return count
}
