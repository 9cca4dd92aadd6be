/**
 * Where counters live. A store takes a whole transaction, every limit of every rule or none, and answers at
 * once where it can, so that deciding from memory costs no promise.
 */
import type { RuleSet } from '../rules/rule-set.js'
import type { Slices } from '../slices.js'
import type { Answer, DegradedReason } from './answer.js'
import type { Changed, NotConfirmed, Operation } from './operation.js'
import type { Moment, Transaction } from './transaction.js'

export type Awaitable<T> = T | Promise<T>

export interface Store {
  /** Every answer is given at once, never as a promise. */
  readonly isSync?: boolean
  /** Takes from every limit of the transaction, or from none. Rejects with an idempotency error, else answers. */
  decide(transaction: Transaction): Awaitable<Answer>
  /** Answers in the order of the operations: what changed, or that it was not done, or that the outcome is unknown. */
  change(operations: readonly Operation[], moment: Moment): Awaitable<readonly Changed[]>
  /** These rules are in force now; rows of families that are gone may be forgotten, in slices. */
  use(rules: RuleSet): Slices<void> | void
  close(): Awaitable<void>
}

/** A store that may take time to answer. Of several layers only the outermost is one: it sets the deadlines that all of them keep. */
export interface TimedStore extends Store {
  /** By when something that is asked now must be answered: milliseconds of the store's steady clock. */
  deadline(): number
}

/** Why a store did not answer, and whether what it was asked may have been done all the same. */
export class StoreFailure extends Error {
  readonly reason: DegradedReason
  readonly undone: NotConfirmed

  constructor(reason: DegradedReason, undone: NotConfirmed, cause?: unknown) {
    super(cause instanceof Error ? cause.message : reason, { cause })
    this.reason = reason
    this.undone = undone
  }
}

/** What a failed call says about what it asked for. */
export function notConfirmedBy(error: unknown): NotConfirmed {
  return error instanceof StoreFailure ? error.undone : 'unknown'
}

/** Rejected by `decide` where a key was used for another request. */
export class IdempotencyConflict extends Error {}
/** The same where the request with this key is still being decided. */
export class IdempotencyInProgress extends Error {}
