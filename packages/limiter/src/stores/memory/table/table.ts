/**
 * The counters of one rule family. `numbers` and `row` are the place last located, until this table is
 * next asked. A key without a row is located in a blank, which says what is known of it from the sketch;
 * `settle` turns it into a row, so that what is only looked at writes nothing.
 */

import type { Beside } from '../../../algorithms/algorithm.js'
import { GRACE_US } from '../../../algorithms/clock-steps.js'
import {
  BUCKET,
  HORIZON_US,
  type LimitNumbers,
  SLIDING_LOG,
} from '../../../algorithms/limit-numbers.js'
import type { Family } from '../../../rules/compiled-rule.js'
import type { HoldBook } from '../side/hold-book.js'
import { LogRing } from '../side/log-ring.js'
import { RefundSums } from '../side/refund-sums.js'
import type { Layout } from './layout.js'
import { Rows } from './rows.js'
import type { Shared } from './shared.js'

export class Table {
  readonly id: number
  layout: Layout
  readonly rows: Rows
  readonly refunds: RefundSums
  numbers: Float64Array
  row = 1
  /** The key that was located. */
  a = 0
  b = 0
  /** The located blank comes from the sketch: at least what the key had used. */
  isGuess = false
  /** By column: the most tokens that a row can have used or owe. */
  mostTokens: number[]
  /** No row was written earlier than this since the last export; everything may have been before the first. */
  writtenFrom = Number.NEGATIVE_INFINITY
  /** The same of the export before, while its rows are exported as changes. */
  exportingFrom = Number.POSITIVE_INFINITY
  /** Something of it that is no row was changed since the last export. */
  isHeadChanged = true
  /** The layout that was exported last. */
  exportedLayout = ''

  readonly #shared: Shared
  #blank: Float64Array
  #blankLogs: (LogRing | undefined)[]
  readonly #full = new Float64Array(4)

  constructor(layout: Layout, shared: Shared) {
    this.id = shared.madeTables++
    this.layout = layout
    this.#shared = shared
    this.rows = new Rows(layout, shared, this)
    this.refunds = new RefundSums(Math.max(1024, shared.maxKeys))
    this.#blank = new Float64Array(1 + layout.rowWidth)
    this.#blankLogs = layout.columns.map(() => undefined)
    this.mostTokens = layout.columns.map(() => 0)
    this.numbers = this.#blank
  }

  /** Locates the key's row, or a blank that says what is known of it. */
  locate(a: number, b: number, now: number): void {
    this.a = a
    this.b = b
    const segment = this.rows.segmentOf(a)
    const row = segment.find(a, b)
    if (row >= 0) {
      this.numbers = segment.numbers
      this.row = row + 1
      this.isGuess = false
      return
    }
    this.#locateBlank(a, b, now)
  }

  /** Whether the key has a row here. */
  has(a: number, b: number): boolean {
    return this.rows.has(a, b)
  }

  get isBlank(): boolean {
    return this.numbers === this.#blank
  }

  /** The located row, or blank, says that something was used. */
  get isKnown(): boolean {
    return this.layout.emptyAt(this.numbers, this.row, this.#shared.side) > 0
  }

  #locateBlank(a: number, b: number, now: number): void {
    if (this.rows.refreshOf(a)) {
      this.locate(a, b, now)
      return
    }
    const blank = this.#blank
    blank.fill(0)
    this.numbers = blank
    this.row = 1
    this.isGuess = false
    this.#blankLogs.fill(undefined)
    const { sketch } = this.rows
    if (sketch === null) return
    this.isGuess = true
    sketch.restore(a, b, blank, 1)
    for (const [i, { kind, at, width, numbers }] of this.layout.columns.entries()) {
      const time = kind === SLIDING_LOG ? blank[2 + at]! : blank[1 + at]!
      // The clock has stepped back since: a guess is not worth carrying over.
      if (kind !== BUCKET && width > 0 && time > now + GRACE_US)
        blank.fill(0, 1 + at, 1 + at + width)
      if (kind !== SLIDING_LOG || blank[1 + at] === 0) continue
      const log = new LogRing()
      log.push(Math.ceil(blank[2 + at]! / numbers.cell) * numbers.cell, blank[1 + at]!)
      this.#blankLogs[i] = log
    }
  }

  /** Rows that were written since then may be in no export yet as they are. */
  get unexportedFrom(): number {
    return Math.min(this.writtenFrom, this.exportingFrom)
  }

  /** The located row was written. */
  touch(now: number): void {
    if (now < this.writtenFrom) this.writtenFrom = now
    this.layout.touch(this.numbers, this.row, now)
  }

  /**
   * Changes a column of the located row: its numbers in full, as the algorithms know them, are given to
   * `change`, and kept if that answers more than 0. Only then a blank becomes a row: one that is made or moved
   * and not written would be in no export.
   */
  change(
    column: number,
    now: number,
    change: (full: Float64Array, beside: Beside) => number,
  ): number {
    this.layout.unpack(column, this.numbers, this.row, this.#full)
    const changed = change(this.#full, this.beside(column))
    if (changed > 0) {
      this.settle(now)
      this.layout.pack(column, this.#full, this.numbers, this.row)
    }
    return changed
  }

  /** The log or holds of a column of the located row. */
  beside(column: number): Beside {
    const { kind, handleAt } = this.layout.columns[column]!
    if (handleAt < 0) return undefined
    if (this.isBlank && this.#blankLogs[column] !== undefined) return this.#blankLogs[column]
    return this.#shared.side.get(kind, this.numbers[this.row + handleAt]!)
  }

  /** Gives a column of the located row another log or other holds. */
  putBeside(column: number, made: LogRing | HoldBook): void {
    this.#shared.side.put(this.numbers[this.row + this.layout.columns[column]!.handleAt]!, made)
  }

  /** Something was given back to some row of this table. */
  get hasRefunds(): boolean {
    return !this.refunds.isEmpty
  }

  /** The sum of refunds of a column. */
  refunded(a: number, b: number, column: number): number {
    return this.refunds.of(a, b, this.layout.columns[column]!.serial)
  }

  /** Something was given back to the located row: receipts from before, up to `latest`, know less. */
  noteRefund(column: number, tokens: number, now: number, latest = now): void {
    const { numbers, kind, serial } = this.layout.columns[column]!
    const life = kind === BUCKET ? this.#longestOf(column, numbers.amount) : 2 * numbers.window
    const lives = (a: number, b: number, of: number) =>
      this.layout.indexOfSerial(of) >= 0 && this.has(a, b)
    this.refunds.add([this.a, this.b, serial], tokens, latest + life, now, lives)
  }

  /** The located row may owe more than its burst. */
  noteDebt(column: number, limit: LimitNumbers, now: number): void {
    const owed = this.layout.emptyAt(this.numbers, this.row, this.#shared.side) - now
    const tokens = Math.ceil((owed / limit.window) * limit.amount) + 1
    if (tokens <= this.mostTokens[column]!) return
    this.mostTokens[column] = tokens
    this.isHeadChanged = true
  }

  /** How long a column can say something after its last write, at this amount. */
  #longestOf(column: number, amount: number): number {
    const { kind, window } = this.layout.columns[column]!
    if (kind !== BUCKET) return 2 * window
    return Math.min(HORIZON_US, (this.mostTokens[column]! / amount) * window + 1)
  }

  /** The columns and numbers in force now. Where that is another layout, what both have stays. */
  use(layout: Layout): void {
    const before = this.layout
    this.layout = layout
    this.isHeadChanged = true
    if (layout.signature === before.signature) {
      this.rows.layout = layout
      return
    }
    this.mostTokens = layout.columns.map(({ serial }) => {
      const index = before.indexOfSerial(serial)
      return index < 0 ? 0 : this.mostTokens[index]!
    })
    this.rows.relayout(layout)
    this.#blank = new Float64Array(1 + layout.rowWidth)
    this.#blankLogs = layout.columns.map(() => undefined)
    this.numbers = this.#blank
    this.row = 1
  }

  /** Makes the located blank a row, and gives every column that keeps something beside its place. */
  settle(now: number): void {
    const { isBlank } = this
    if (isBlank) {
      const row = this.rows.insert(this.a, this.b, this.#blank.subarray(1), now)
      this.numbers = this.rows.segmentOf(this.a).numbers
      this.row = row + 1
    }
    if (!this.layout.hasHandles) return
    for (const [i, { kind, handleAt }] of this.layout.columns.entries()) {
      if (handleAt < 0 || this.numbers[this.row + handleAt] !== 0) continue
      // The blank's log is of the key that was last located in it.
      const log = isBlank ? this.#blankLogs[i] : undefined
      this.numbers[this.row + handleAt] = this.#shared.side.add(kind, log)
    }
  }

  /** Forgets every row: the rule is gone. */
  drop(): void {
    this.rows.clear()
  }

  /** Drops free rows of a segment and gives memory back; answers how many slots it had. */
  compact(index: number, now: number): number {
    return this.rows.compact(index, now)
  }

  /**
   * The same of a table that was not asked for since these numbers came into force, which may be slower: a
   * row is kept for as long as either may make it say something.
   */
  compactUnder(family: Family, index: number, now: number): number {
    let longest = 0
    for (const [i, { id, numbers }] of this.layout.columns.entries()) {
      const inForce = family.columns.find((column) => column.id === id)?.sample.numbers
      const amount = Math.min(numbers.amount, inForce?.amount ?? numbers.amount)
      longest = Math.max(longest, this.#longestOf(i, amount))
    }
    return this.rows.compact(index, now, longest + GRACE_US)
  }

  get bytes(): number {
    return this.rows.bytes + 150 * this.refunds.size
  }
}
