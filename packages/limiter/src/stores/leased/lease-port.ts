/**
 * What leases ask of the store below them: tokens ahead of time, and word of what became of earlier ones.
 * A lease is n from every limit of a row at once. What is granted counts as taken until it is reported;
 * what nobody has reported when the lease ends counts as spent.
 */
import type { CompiledRule } from '../../rules/compiled-rule.js'
import type { Answer, Store, StoreFailure, Transaction, Verdicts } from '../store.js'

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
  /** When the row came into being: of one that was made anew, nothing is reported. */
  readonly birth: number
  /** Which run of the server granted it: after a failover it may know nothing of it. */
  readonly run: number
}

export interface LeaseAsk {
  readonly rule: CompiledRule
  readonly value: string
  /** Of leases of this rule and value; applied before anything is granted. */
  readonly reports: readonly LeaseReport[]
  /** How many are wanted; 0: none, this is a report. */
  readonly want: number
  /** This instance's time in microseconds. */
  readonly now: number
}

export interface LeaseAnswer {
  /** As many as were granted, at most what was wanted; maybe none. */
  readonly granted: number
  readonly lease: Lease
  /** Leased out and not reported, by anyone, this grant included. */
  readonly out: number
  /** As of a transaction with this one rule that took what was granted: what is left, and the receipt. */
  readonly verdicts: Verdicts
}

export interface LeasePort {
  /** Calls one of the two, once. A failure that may have run: reports stay reported, nothing was granted. */
  lease(
    ask: LeaseAsk,
    answered: (answer: LeaseAnswer) => void,
    failed: (failure: StoreFailure) => void,
  ): void
}

/** A store that leases can be taken from. */
export interface LeasingStore extends Store, LeasePort {
  /** `since`: when it began to be decided, by `performance.now`, where that was not just now. */
  consume(transaction: Transaction, since?: number): Answer<Verdicts>
}
