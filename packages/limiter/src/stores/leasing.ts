/**
 * Leases: tokens that a store grants ahead of time, and word of what became of earlier ones. A lease of n tokens
 * takes n from every limit of the row. What is granted counts as taken until it is reported; what nobody has reported
 * when the lease ends counts as spent.
 */
import type { CompiledRule } from '../rules/compiled-rule.js'
import type { Answer } from './answer.js'
import type { Store, StoreFailure } from './store.js'
import type { Moment } from './transaction.js'

/** What became of tokens that were leased. Sent at most once: sent twice it would give others' away. */
export interface LeaseReport {
  readonly lease: Lease
  readonly spent: number
  /** Not spent, and no longer to be: given back. */
  readonly back: number
}

/** How a grant is known to the store. Times are the store's microseconds. */
export interface Lease {
  /** The rule whose row it was taken from: of a rule in shards, the shard's. */
  readonly rule: CompiledRule
  readonly value: string
  readonly grantedAt: number
  readonly endsAt: number
  readonly period: number
  /** When the row was created: nothing is reported of a row that was created anew. */
  readonly birth: number
  /** Which run of the server granted it: after a failover it may know nothing of it. */
  readonly run: number
}

export interface LeaseAsk extends Moment {
  readonly rule: CompiledRule
  readonly value: string
  /** Of leases of this rule and value; applied before anything is granted. */
  readonly reports: readonly LeaseReport[]
  /** How many are wanted; 0: none, this is a report. */
  readonly want: number
}

export interface LeaseReply {
  /** As many as were granted, at most what was wanted; maybe none. */
  readonly granted: number
  readonly lease: Lease
  /** Leased out and not reported, by anyone, this grant included. */
  readonly out: number
  /** As of a transaction with this one rule that took what was granted: what is left, and the take. */
  readonly answer: Answer
}

/** A store that leases can be taken from. */
export interface LeasingStore extends Store {
  /** Calls `answered` or `failed`, once. After a failure whose outcome is unknown, reports stay reported and nothing was granted. */
  lease(
    ask: LeaseAsk,
    answered: (reply: LeaseReply) => void,
    failed: (failure: StoreFailure) => void,
  ): void
}
