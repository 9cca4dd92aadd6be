/**
 * The hot path of the memory store. All limits are decided before any is taken from, so that a
 * transaction takes from all of them or from none. What holds:
 *
 * - A transaction has at most one rule of a family, so every table is located once, and still points at
 *   that row when it is written.
 * - Narrow rows are read and written here, a bucket's TAT being all there is; everything else goes
 *   through the algorithms' own `decide` and `take`.
 */
import { decide, take } from '../../algorithms/algorithm.js'
import { decideTat, noteTake } from '../../algorithms/bucket.js'
import { BUCKET, SLIDING_LOG } from '../../algorithms/limit-numbers.js'
import { YES } from '../../algorithms/status.js'
import { GIVEN_BACK, MARK, MARK_REST, STATUS, VERDICT_WIDTH } from '../../algorithms/verdict.js'
import type { CompiledLimit } from '../../rules/compiled-rule.js'
import { Answer } from '../answer.js'
import { ALLOWED, DECIDED_AT, DEGRADED, FIRST_VERDICT, newNumbers } from '../answer-numbers.js'
import { costOf, type Transaction } from '../transaction.js'
import type { Table } from './table/table.js'
import type { Tables } from './table/tables.js'

/** Decides every limit of a transaction, and takes from all of them if all that are enforced say yes. */
export function consume(tables: Tables, transaction: Transaction): Answer {
  const { rules, values, holdId, now } = transaction
  let count = 0
  for (let i = 0; i < rules.length; i++) count += rules[i]!.limits.length
  const out = newNumbers(count)
  let allowed = true
  let o = FIRST_VERDICT
  for (let i = 0; i < rules.length; i++) {
    const rule = rules[i]!
    const limits = rule.limits
    const cost = costOf(transaction, i)
    const table = tables.locate(rule.family, values[i]!, now)
    if (table.isGuess) clampGuess(table, limits, now)
    const layout = table.layout
    const state = table.numbers
    for (let j = 0; j < limits.length; j++) {
      const limit = limits[j]!
      const numbers = limit.numbers
      const column = layout.columns[limit.column]!
      const at = table.row + column.at
      if (layout.isNarrow && numbers.kind === BUCKET) {
        decideTat(state[at]!, column.width === 1 ? 0 : state[at + 1]!, numbers, cost, now, out, o)
      } else {
        if (limit.calendar !== null) limit.prepare(now)
        const beside = numbers.kind >= SLIDING_LOG ? table.beside(limit.column) : undefined
        decide(state, at, numbers, cost, now, out, o, beside, holdId)
      }
      if (out[o + STATUS] !== YES && !rule.shadow) allowed = false
      o += VERDICT_WIDTH
    }
  }
  out[ALLOWED] = allowed ? 1 : 0
  out[DECIDED_AT] = now
  out[DEGRADED] = 0
  if (allowed && !transaction.dryRun) takeAll(transaction, out)
  return new Answer(transaction, out)
}

/** Every table still points at the row that was decided on. */
function takeAll(transaction: Transaction, out: number[]): void {
  const { rules, holdId, now } = transaction
  let o = FIRST_VERDICT
  for (let i = 0; i < rules.length; i++) {
    const rule = rules[i]!
    const table = rule.family.rows as Table
    const limits = rule.limits
    const cost = costOf(transaction, i)
    const layout = table.layout
    const isWritten = !rule.shadow || anyPasses(out, o, limits.length)
    if (isWritten) {
      table.settle(now)
      if (layout.isNarrow) table.touch(now)
    }
    const state = table.numbers
    const hasRefunds = table.hasRefunds
    for (let j = 0; j < limits.length; j++, o += VERDICT_WIDTH) {
      if (out[o + STATUS] !== YES) continue
      const limit = limits[j]!
      const numbers = limit.numbers
      const column = layout.columns[limit.column]!
      const at = table.row + column.at
      out[o + GIVEN_BACK] = hasRefunds ? table.refunded(table.a, table.b, limit.column) : 0
      if (layout.isNarrow && numbers.kind === BUCKET) {
        state[at] = out[o + MARK]!
        if (column.width === 2) state[at + 1] = out[o + MARK_REST]!
        noteTake(cost, out, o)
      } else {
        const beside = numbers.kind >= SLIDING_LOG ? table.beside(limit.column) : undefined
        take(state, at, numbers, cost, now, out, o, beside, holdId)
      }
    }
    if (isWritten && !layout.isNarrow) table.touch(now)
  }
}

/** A sketch may say more than a limit can hold. */
function clampGuess(table: Table, limits: readonly CompiledLimit[], now: number): void {
  for (const { column, numbers } of limits) {
    if (numbers.kind !== BUCKET) continue
    const at = table.row + table.layout.columns[column]!.at
    table.numbers[at] = Math.min(table.numbers[at]!, now + numbers.burstWhole)
  }
}

/** A shadow rule that takes nothing leaves no row. */
function anyPasses(out: readonly number[], o: number, limits: number): boolean {
  for (let j = 0; j < limits; j++) if (out[o + j * VERDICT_WIDTH + STATUS] === YES) return true
  return false
}
