/** What sees to it that a limiter answers while Redis does not: the store asks it, and tells it what happens. */
import type { CompiledRule } from '../../rules/compiled-rule.js'
import type { DegradedReason, LimitChange, Store, Transaction, Verdicts } from '../store.js'
import type { CallWatch, Deadline } from './script-calls.js'

export interface Safeguard extends CallWatch {
  /** Whether something that writes may be asked now: where Redis is being tried, it is the trial. */
  admits(): boolean
  /** Something says that Redis may be back: it is tried with the next request. */
  reconnected(): void
  /** A beat is on its way: while it is not answered, nothing else is sent on trial. */
  beatSent(reply: Promise<unknown>): void
  /** Whether a beat is on its way. */
  readonly isBeatOut: boolean
  /** Redis answered a beat, which is sent however it is doing. */
  sawAnswer(): void
  /** `closed` while Redis is to be asked as usual. */
  readonly state: string
  /** Calls `missed` unless the deadline is met in time: for what takes several calls. */
  deadline(missed: () => void): Deadline
  /** Why Redis is not to be asked about this now; null: it may be asked. */
  refuses(transaction: Transaction): DegradedReason | null
  /** The answer without Redis. */
  decide(transaction: Transaction, reason: DegradedReason): Verdicts
  /** What was decided here and Redis has to be told before it is asked about these rows; empty if nothing was. */
  owed(transaction: Transaction): readonly LimitChange[]
  /** Redis answered: what was ever taken from the row, this request included, and what that took. */
  saw(
    rule: CompiledRule,
    value: string,
    taken: number,
    cost: number,
    verdicts: Verdicts,
    at: number,
  ): void
  /** The smallest part that any limit of the row had left when it was last seen; 1 if it never was. */
  leftOf(rule: CompiledRule, value: string): number
  /** So many instances beat in the last few seconds. */
  counted(instances: number): void
  /** Where takes without Redis were counted: they are given back there. */
  readonly local: Store
}
