/** What a store is asked to take, all of it or nothing. Nobody writes into a transaction. */
import type { CompiledRule } from '../rules/compiled-rule.js'
import type { Answer } from './answer.js'

/** When something is asked. */
export interface Moment {
  /** This instance's clock in microseconds. A store with a clock of its own decides by that one. */
  readonly now: number
  /** By when it must be answered, by the store's own steady clock in milliseconds; infinite where it answers at once. */
  readonly deadline: number
}

export interface Transaction extends Moment {
  readonly rules: readonly CompiledRule[]
  /** Whose row it is, for each rule. */
  readonly values: readonly string[]
  /** What all rules are charged, unless there are `costs`. */
  readonly cost: number
  /** What each rule is charged; null if all are charged `cost`. */
  readonly costs: readonly number[] | null
  readonly dryRun: boolean
  /** The id of the hold that concurrency limits take; empty if none does. */
  readonly holdId: string
  readonly idempotency: Idempotency | null
  /** Another instance asked this: what it took is that one's to give back. */
  readonly isForeign: boolean
  /**
   * Called with an answer that comes after the deadline, when the request was answered without it. Null: what it took
   * stays taken.
   */
  readonly late: ((answer: Answer) => void) | null
}

/** How long an answer is replayed for its idempotency key, in microseconds. Lua files use this name too. */
export const REPLAYABLE_US = 300_000_000

export interface Idempotency {
  readonly namespace: string
  /** Whose key it is: the request's first scope by name, and its value; empty where it has none. */
  readonly scope: string
  readonly value: string
  /** The caller's key. */
  readonly id: string
  /** Everything that makes it the same request. */
  readonly fingerprint: string
}

/** What few transactions have, and the deadline: a time, or a function that is called when it is first needed. */
export interface TransactionRest {
  readonly costs?: readonly number[] | null
  readonly dryRun?: boolean
  readonly holdId?: string
  readonly idempotency?: Idempotency | null
  readonly isForeign?: boolean
  readonly late?: ((answer: Answer) => void) | null
  readonly deadline?: number | (() => number)
}

const NOTHING: TransactionRest = {}

/**
 * Most transactions: they take requests, hold nothing and replay nothing. Small, because each check makes one, and
 * without a subclass, whose constructor costs more.
 */
class PlainTransaction implements Transaction {
  /** The deadline, or what computes it when it is first needed: an answer from memory needs none. */
  private timing: number | (() => number)

  constructor(
    readonly rules: readonly CompiledRule[],
    readonly values: readonly string[],
    readonly cost: number,
    readonly now: number,
    timing: number | (() => number),
  ) {
    this.timing = timing
  }

  get deadline(): number {
    if (typeof this.timing === 'function') this.timing = this.timing()
    return this.timing
  }

  get costs(): null {
    return null
  }

  get dryRun(): boolean {
    return false
  }

  get holdId(): string {
    return ''
  }

  get idempotency(): null {
    return null
  }

  get isForeign(): boolean {
    return false
  }

  get late(): null {
    return null
  }
}

class FullTransaction implements Transaction {
  readonly costs: readonly number[] | null
  readonly dryRun: boolean
  readonly holdId: string
  readonly idempotency: Idempotency | null
  readonly isForeign: boolean
  readonly late: ((answer: Answer) => void) | null
  readonly deadline: number

  constructor(
    readonly rules: readonly CompiledRule[],
    readonly values: readonly string[],
    readonly cost: number,
    readonly now: number,
    rest: TransactionRest,
  ) {
    const { deadline = Number.POSITIVE_INFINITY } = rest
    this.costs = rest.costs ?? null
    this.dryRun = rest.dryRun ?? false
    this.holdId = rest.holdId ?? ''
    this.idempotency = rest.idempotency ?? null
    this.isForeign = rest.isForeign ?? false
    this.late = rest.late ?? null
    this.deadline = typeof deadline === 'function' ? deadline() : deadline
  }
}

/** Takes `cost` from every rule, unless there are costs in `rest`. Without a deadline the store answers at once. */
export function newTransaction(
  rules: readonly CompiledRule[],
  values: readonly string[],
  cost: number,
  now: number,
  rest: TransactionRest = NOTHING,
): Transaction {
  if (!isPlain(rest)) return new FullTransaction(rules, values, cost, now, rest)
  return new PlainTransaction(rules, values, cost, now, rest.deadline ?? Number.POSITIVE_INFINITY)
}

function isPlain({
  costs,
  dryRun,
  holdId,
  idempotency,
  isForeign,
  late,
}: TransactionRest): boolean {
  return !costs && !dryRun && !holdId && !idempotency && !isForeign && !late
}

/** The same with some parts changed. */
export function withParts(
  transaction: Transaction,
  { rules, values, now, ...rest }: Partial<Transaction>,
): Transaction {
  const { costs, dryRun, holdId, idempotency, isForeign, late, deadline } = transaction
  return newTransaction(
    rules ?? transaction.rules,
    values ?? transaction.values,
    transaction.cost,
    now ?? transaction.now,
    { costs, dryRun, holdId, idempotency, isForeign, late, deadline, ...rest },
  )
}

export function costOf(transaction: Transaction, rule: number): number {
  return transaction.costs === null ? transaction.cost : transaction.costs[rule]!
}

/** What a transaction asks of some of its rules, by their places; its idempotency key stays with the whole. */
export function partOf(transaction: Transaction, places: readonly number[]): Transaction {
  const { rules, values, holdId } = transaction
  return withParts(transaction, {
    rules: places.map((i) => rules[i]!),
    values: places.map((i) => values[i]!),
    costs: places.map((i) => costOf(transaction, i)),
    holdId: places.some((i) => rules[i]!.hasHolds) ? holdId : '',
    idempotency: null,
  })
}
