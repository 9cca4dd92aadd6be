/** What a store is asked to take, all of it or nothing. Nobody writes into a transaction. */
import type { CompiledRule } from '../rules/compiled-rule.js'

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
}

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

/** What must be said of a transaction; the rest is as most have it. */
export type TransactionParts = Pick<Transaction, 'rules' | 'values' | 'cost' | 'now'> &
  Partial<Transaction>

/** Most over a store that answers at once: requests only, nothing held, nothing to replay. Small, because there is one a check. */
class PlainTransaction implements Transaction {
  constructor(
    readonly rules: readonly CompiledRule[],
    readonly values: readonly string[],
    readonly cost: number,
    readonly now: number,
  ) {}

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

  get deadline(): number {
    return Number.POSITIVE_INFINITY
  }
}

class FullTransaction implements Transaction {
  readonly rules: readonly CompiledRule[]
  readonly values: readonly string[]
  readonly cost: number
  readonly costs: readonly number[] | null
  readonly dryRun: boolean
  readonly holdId: string
  readonly idempotency: Idempotency | null
  readonly isForeign: boolean
  readonly now: number
  readonly deadline: number

  constructor(parts: TransactionParts) {
    this.rules = parts.rules
    this.values = parts.values
    this.cost = parts.cost
    this.costs = parts.costs ?? null
    this.dryRun = parts.dryRun ?? false
    this.holdId = parts.holdId ?? ''
    this.idempotency = parts.idempotency ?? null
    this.isForeign = parts.isForeign ?? false
    this.now = parts.now
    this.deadline = parts.deadline ?? Number.POSITIVE_INFINITY
  }
}

/** Takes `cost` from every rule, of a store that answers at once. */
export function plainTransaction(
  rules: readonly CompiledRule[],
  values: readonly string[],
  cost: number,
  now: number,
): Transaction {
  return new PlainTransaction(rules, values, cost, now)
}

export function newTransaction(parts: TransactionParts): Transaction {
  return new FullTransaction(parts)
}

/** The same with some parts changed. */
export function withParts(transaction: Transaction, parts: Partial<Transaction>): Transaction {
  const { rules, values, cost, costs, dryRun, holdId, idempotency, isForeign } = transaction
  const { now, deadline } = transaction
  // The fields of a plain transaction are not all its own: they are named here.
  const all = { rules, values, cost, costs, dryRun, holdId, idempotency, isForeign, now, deadline }
  return new FullTransaction({ ...all, ...parts })
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
