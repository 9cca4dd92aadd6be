/**
 * Where counters live. A store takes a whole transaction, every limit of every rule or none, and
 * answers with numbers; it answers at once where it can, so that deciding from memory costs no promise.
 */

import { REMAINING, STATUS, YES } from '../algorithms/verdict.js'
import type { CompiledLimit, CompiledRule, Family } from '../rules/compiled-rule.js'
import type { RuleSet } from '../rules/rule-set.js'
import type { Slices } from '../slices.js'

export interface Transaction {
  readonly rules: readonly CompiledRule[]
  /** Whose row it is, for each rule. */
  readonly values: readonly string[]
  /** What each rule is charged; null if all are charged `cost`. */
  readonly costs: readonly number[] | null
  readonly cost: number
  readonly dryRun: boolean
  /** The id of the hold that concurrency limits take; empty if none does. */
  readonly holdId: string
  readonly idempotency: Idempotency | null
  /** Set by a store that answers with an earlier request's verdicts: that request. */
  readonly replayOf: Transaction | null
  /** Another instance asked this: what it took is that one's to give back. */
  readonly isForeign?: boolean
  /** This instance's clock in microseconds. A store with a clock of its own decides by that one. */
  readonly now: number
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

/**
 * The answer: allowed (1 or 0), the time of the decision, how it is degraded, then VERDICT_WIDTH numbers
 * for each limit of each rule in order.
 */
export type Verdicts = readonly number[]
export const ALLOWED = 0
export const DECIDED_AT = 1
/** 0, or 1 + the reason's place in DEGRADED_REASONS: the answer was given without the store. */
export const DEGRADED = 2
export const FIRST_VERDICT = 3

/** Why a store could not be asked. */
export const DEGRADED_REASONS = [
  'store_timeout',
  'store_unreachable',
  'store_refused',
  'breaker_open',
  'store_returning',
] as const
export type DegradedReason = (typeof DEGRADED_REASONS)[number]

/** Why a store did not answer, and whether what it was asked may have been done all the same. */
export class StoreFailure extends Error {
  readonly reason: DegradedReason
  readonly mayHaveRun: boolean

  constructor(reason: DegradedReason, mayHaveRun: boolean, cause?: unknown) {
    super(cause instanceof Error ? cause.message : reason, { cause })
    this.reason = reason
    this.mayHaveRun = mayHaveRun
  }
}

/** What a failed call says about what it asked for. */
export function undoneBy(error: unknown): Undone {
  return error instanceof StoreFailure && !error.mayHaveRun ? 'not_done' : 'unknown'
}

/** Thrown or rejected by `consume` where a key was used for another request. */
export class IdempotencyConflict extends Error {}
/** The same where the request with this key is still being decided. */
export class IdempotencyInProgress extends Error {}

/** A limit in force, whose counter, and by how much to change it. */
export interface LimitChange {
  readonly rule: CompiledRule
  readonly limit: CompiledLimit
  readonly value: string
  readonly amount: number
}

/** A take to be given back: the amount it was taken under, and the verdict it was taken with. */
export interface Return extends LimitChange {
  readonly takenUnder: number
  readonly verdicts: Verdicts
  readonly at: number
}

export type Answer<T> = T | Promise<T>

/** The store could not be asked: certainly nothing was done, or nobody knows. */
export type Undone = 'not_done' | 'unknown'

export interface Store {
  /** Every answer is given at once, never as a promise. */
  readonly isSync?: boolean
  /** Takes from every limit of the transaction, or from none. */
  consume(transaction: Transaction): Answer<Verdicts>
  /** Gives back takes, each at most what time has left of it; answers how much of each. */
  refund(returns: readonly Return[], now: number): Answer<number[] | Undone>
  /** Gives to whoever the rows belong to, at most what is used; answers how much of each. */
  grant(changes: readonly LimitChange[], now: number): Answer<number[] | Undone>
  /** Takes whatever is left: what is missing is debt. Answers how much of each. */
  charge(changes: readonly LimitChange[], now: number): Answer<number[] | Undone>
  /** Gives back all that these values have used of these rules' rows; answers how many rows were in use. */
  reset(
    rows: readonly { readonly family: Family; readonly value: string }[],
    now: number,
  ): Answer<number | Undone>
  /** The hold's new expiry in microseconds, the earliest of its limits'; 0 if it has been lost. */
  renew(hold: HoldPlace, now: number): Answer<number | Undone>
  /** Whether anything was held: not what had expired. */
  release(hold: HoldPlace, now: number): Answer<boolean | Undone>
  /** These rules are in force now; rows of families that are gone may be forgotten, in slices. */
  use(rules: RuleSet): Slices<void> | void
  close(): Answer<void>
}

/** The rows that hold an id. */
export interface HoldPlace {
  readonly id: string
  /** Taken while the store could not be asked. */
  readonly isDegraded?: boolean
  readonly rows: readonly { readonly rule: CompiledRule; readonly value: string }[]
}

export function costOf(transaction: Transaction, rule: number): number {
  return transaction.costs === null ? transaction.cost : transaction.costs[rule]!
}

/** What a transaction asks of some of its rules, by their places. */
export function partOf(transaction: Transaction, places: readonly number[]): Transaction {
  const { rules, values, cost, dryRun, now } = transaction
  return {
    rules: places.map((i) => rules[i]!),
    values: places.map((i) => values[i]!),
    costs: places.map((i) => costOf(transaction, i)),
    cost,
    dryRun,
    holdId: places.some((i) => rules[i]!.hasHolds) ? transaction.holdId : '',
    idempotency: null,
    replayOf: null,
    now,
  }
}

/** What is left of the limit whose verdict stands here: nothing where more is counted than it holds. */
export function remainingIn(verdicts: Verdicts, at: number): number {
  return Math.max(0, verdicts[at + REMAINING]!)
}

/** Whether the limit whose verdict stands here was taken from: a shadow limit that says no is not. */
export function wasTaken(verdicts: Verdicts, at: number): boolean {
  return verdicts[ALLOWED] === 1 && verdicts[at + STATUS] === YES
}
