/** Changes of counters that are no decisions, each of one row, and what became of them. */
import { CONCURRENCY } from '../algorithms/limit-numbers.js'
import type { CompiledLimit, CompiledRule, Family } from '../rules/compiled-rule.js'
import type { Answer, Take } from './answer.js'
import { costOf } from './transaction.js'

/** One limit of a row, and by how much to change it. */
interface OfLimit {
  readonly rule: CompiledRule
  readonly limit: CompiledLimit
  readonly value: string
  readonly amount: number
}

/** Gives back a take, at most what time has left of it. Changed: how much was given back. */
export interface Refund extends OfLimit {
  readonly kind: 'refund'
  readonly take: Take
}

/** Gives to the row's owner, at most what is used. Changed: how much. */
export interface Grant extends OfLimit {
  readonly kind: 'grant'
}

/** Takes whatever is left; what is missing is debt. Changed: how much was taken. */
export interface Charge extends OfLimit {
  readonly kind: 'charge'
}

/** Makes what is used at least so much: it was used while the store could not be asked. Changed: how much was taken. */
export interface Raise extends OfLimit {
  readonly kind: 'raise'
}

/** Gives back all that was used of a row. Changed: 1 if anything was. */
export interface Reset {
  readonly kind: 'reset'
  readonly family: Family
  readonly value: string
}

interface OfHold {
  readonly rule: CompiledRule
  readonly value: string
  readonly holdId: string
  /** The hold was taken without the store, in this process's memory. */
  readonly isLocal: boolean
}

/** Makes a hold live on. Changed: its new expiry in microseconds; 0 if it has been lost. */
export interface Renew extends OfHold {
  readonly kind: 'renew'
}

/** Changed: above 0 if it was held, and had not expired. */
export interface Release extends OfHold {
  readonly kind: 'release'
}

export type LimitOperation = Refund | Grant | Charge | Raise
export type HoldOperation = Renew | Release
export type Operation = LimitOperation | Reset | HoldOperation

/**
 * It certainly was not done, or the store did not say: then it may have been done, and must not be repeated. A raise, a
 * reset, a renewal and a release may be: done twice they do the same.
 */
export type NotConfirmed = 'not_done' | 'unknown'

/** By how much something was changed, or that it was not. */
export type Changed = number | NotConfirmed

/** What became of several operations that belong together. */
export interface ChangedTogether {
  readonly undone: NotConfirmed | null
  /** Of each operation; 0 where it was not done. */
  readonly amounts: readonly number[]
}

/** Not done if nothing was; unknown if that is so of any, or if some were done and others not. */
export function together(changed: readonly Changed[]): ChangedTogether {
  const amounts = changed.map((one) => (typeof one === 'number' ? one : 0))
  if (changed.every((one) => typeof one === 'number')) return { undone: null, amounts }
  return { undone: changed.every((one) => one === 'not_done') ? 'not_done' : 'unknown', amounts }
}

/** Gives back everything that an answer took. A hold that was only renewed lives on: its limit's `markRest` is 0. */
export function givingBack(answer: Answer): Operation[] {
  const { transaction, isDegraded: isLocal } = answer
  const { holdId } = transaction
  const operations: Operation[] = []
  for (const one of answer.each()) {
    if (!answer.wasTaken(one.index)) continue
    const { rule, limit, value } = one
    const take = answer.takeOf(one)
    if (limit.numbers.kind !== CONCURRENCY) {
      const amount = costOf(transaction, one.ruleIndex)
      operations.push({ kind: 'refund', rule, limit, value, amount, take })
    } else if (take.markRest !== 0)
      operations.push({ kind: 'release', rule, value, holdId, isLocal })
  }
  return operations
}
