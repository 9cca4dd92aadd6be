/** A request that several rules govern: what is held for some of them, and what the store says of the others. */
import { YES } from '../../algorithms/status.js'
import type { Answer } from '../answer.js'
import { costOf, type Transaction } from '../transaction.js'
import type { Holding } from './holding.js'
import { type LeasedRow, leftWith } from './leased-row.js'

/** What is known of one rule's row before the store is asked. */
export interface KnownRow {
  /** Null: it is not leased. */
  readonly row: LeasedRow | null
  /** Where the request's cost was taken from. */
  readonly holding: Holding | null
  /** The same was denied a moment ago. */
  readonly isDenied: boolean
}

/** Puts back what was taken out of holdings. */
export function putBack(transaction: Transaction, shares: readonly KnownRow[]): void {
  for (const [i, { row, holding }] of shares.entries())
    if (holding !== null) row!.untake(holding, costOf(transaction, i))
}

/** What was taken out of holdings is spent; how much that is. */
export function spendAll(transaction: Transaction, shares: readonly KnownRow[]): number {
  let spent = 0
  for (const [i, { holding }] of shares.entries()) {
    if (holding === null) continue
    const cost = costOf(transaction, i)
    holding.spent += cost
    spent += cost
  }
  return spent
}

/** Writes the limits of all rules; `rest` is the store's answer for those that nothing is held for, null if it was not asked. */
export function writeShares(
  answer: Answer,
  shares: readonly KnownRow[],
  rest: Answer | null,
): void {
  let [first, from] = [0, 0]
  for (const [i, { row, holding }] of shares.entries()) {
    const count = answer.transaction.rules[i]!.limits.length
    if (holding !== null) row!.writeTaken(holding, answer, first)
    else if (rest === null) row!.denial.write(answer, first)
    else {
      answer.copyLimits(first, rest, from, count)
      from += count
    }
    first += count
  }
}

/** The same of a dry run, for which nothing is taken. Held tokens count as available: a request would give them back first. */
export function writeDryRun(
  answer: Answer,
  shares: readonly KnownRow[],
  rest: Answer | null,
): void {
  writeShares(answer, shares, rest)
  let first = 0
  for (const [i, { row, holding }] of shares.entries()) {
    if (rest !== null && row !== null && holding === null)
      addHeld(answer, first, row, costOf(answer.transaction, i))
    first += answer.transaction.rules[i]!.limits.length
  }
  answer.allowed = answer.deniers().length === 0
}

function addHeld(answer: Answer, first: number, { unspent, rule }: LeasedRow, cost: number): void {
  for (const [j, { numbers }] of rule.limits.entries()) {
    const limit = first + j
    const left = leftWith(answer.difference(limit), unspent, numbers.burst)
    answer.setDifference(limit, left)
    if (left >= cost) answer.setStatus(limit, YES)
  }
}
