/** Restarts a row whose times lie ahead because the clock has since stepped back by more than 60 s. */
import { RESET } from '../../../algorithms/algorithm.js'
import { GRACE_US, isHeldTooLong, restart } from '../../../algorithms/clock-steps.js'
import type { Holds } from '../../../algorithms/concurrency.js'
import { CONCURRENCY } from '../../../algorithms/limit-numbers.js'
import type { Family } from '../../../rules/compiled-rule.js'
import type { Table } from './table.js'

/** Whether the located row, or a hold of it, says a time that cannot be yet. */
export function isAhead(table: Table, now: number): boolean {
  const { columns, lastAt } = table.layout
  if (table.numbers[table.row + lastAt]! > now + GRACE_US) return true
  return columns.some(
    ({ kind, numbers }, column) =>
      kind === CONCURRENCY && isHeldTooLong(numbers, now, table.beside(column) as Holds),
  )
}

/** Starts every column of the located row anew, and makes receipts from before worthless. */
export function restartRow(table: Table, family: Family, now: number): void {
  const latest = table.numbers[table.row + table.layout.lastAt]!
  table.settle(now)
  for (const [column, { sample }] of family.columns.entries()) {
    sample.prepare(now)
    table.change(column, now, (full, beside) => {
      restart(full, 0, sample.numbers, now, beside)
      return 1
    })
    table.noteRefund(column, RESET, now, latest)
  }
  table.layout.setLast(table.numbers, table.row, now)
  table.touch(now)
}
