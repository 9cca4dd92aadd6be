/**
 * The counters of one rule family. `numbers` and `row` are the place last located, until this table is
 * next asked. A key without a row is located in a blank, which says what is known of it from an earlier
 * layout or from the sketch; `settle` turns it into a row, so that what is only looked at writes nothing.
 */
import type { Beside } from '../../../algorithms/algorithm.js'
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
import { type Columns, GRACE_US } from './layout.js'
import { Rows, type Shared } from './rows.js'

/** How many earlier layouts are looked through before their rows are moved at once. */
const MOST_GENERATIONS = 3

export class Table {
  readonly id: number
  columns: Columns
  readonly rows: Rows
  readonly refunds: RefundSums
  numbers: Float64Array
  row = 1
  /** The key that was located. */
  a = 0
  b = 0
  /** Rows under an earlier layout, moved here when their key is next written. */
  previous: Table | null = null
  /** When nothing in `previous` can matter any more. */
  previousEnds = 0
  /** The located blank comes from the sketch: at least what the key had used. */
  isGuess = false
  /** By column: the most tokens that a row can have used or owe. */
  readonly mostTokens: number[]
  /** No row was written earlier than this since the last export; everything may have been before the first. */
  writtenFrom = Number.NEGATIVE_INFINITY
  /** The same of the export before, while its rows are exported as changes. */
  exportingFrom = Number.POSITIVE_INFINITY
  /** Something of it that is no row was changed since the last export. */
  isHeadChanged = true

  readonly #shared: Shared
  readonly #blank: Float64Array
  readonly #blankLogs: (LogRing | undefined)[]
  readonly #full = new Float64Array(4)

  constructor(columns: Columns, shared: Shared) {
    this.id = shared.madeTables++
    this.columns = columns
    this.#shared = shared
    this.rows = new Rows(columns, shared, this)
    this.refunds = new RefundSums(Math.max(1024, shared.maxKeys))
    this.#blank = new Float64Array(1 + columns.rowWidth)
    this.#blankLogs = columns.all.map(() => undefined)
    this.mostTokens = columns.all.map(() => 0)
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
    return this.rows.segmentOf(a).find(a, b) >= 0
  }

  get isBlank(): boolean {
    return this.numbers === this.#blank
  }

  /** The located row, or blank, says that something was used. */
  get isKnown(): boolean {
    return this.columns.emptyAt(this.numbers, this.row, this.#shared.side) > 0
  }

  #locateBlank(a: number, b: number, now: number): void {
    const blank = this.#blank
    blank.fill(0)
    this.numbers = blank
    this.row = 1
    this.isGuess = false
    this.#blankLogs.fill(undefined)
    this.dropEnded(now)
    if (this.previous !== null && this.#copyPrevious(this.previous, a, b, now)) return
    const { sketch } = this.rows
    if (sketch === null) return
    this.isGuess = true
    sketch.restore(a, b, blank, 1)
    for (const [i, { kind, at, width, numbers }] of this.columns.all.entries()) {
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

  /** The columns that both layouts have; handles too, since logs and holds do not move. */
  #copyPrevious(previous: Table, a: number, b: number, now: number): boolean {
    previous.locate(a, b, now)
    for (const [i, { id, handleAt }] of this.columns.all.entries()) {
      const index = previous.columns.indexOf(id)
      if (index < 0) continue
      previous.columns.unpack(index, previous.numbers, previous.row, this.#full)
      this.columns.pack(i, this.#full, this.#blank, 1)
      if (handleAt < 0) continue
      const other = previous.columns.all[index]!
      this.#blank[1 + handleAt] = previous.numbers[previous.row + other.handleAt]!
      // A row has its log at its handle; what was made for a blank before is another key's.
      this.#blankLogs[i] = previous.isBlank ? previous.#blankLogs[index] : undefined
    }
    const last = previous.columns.lastOf(previous.numbers, previous.row)
    this.columns.touch(this.#blank, 1, last)
    return previous.isKnown
  }

  /** Rows that were written since then may be in no export yet as they are. */
  get unexportedFrom(): number {
    return Math.min(this.writtenFrom, this.exportingFrom)
  }

  /** The located row was written. */
  touch(now: number): void {
    if (now < this.writtenFrom) this.writtenFrom = now
    this.columns.touch(this.numbers, this.row, now)
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
    this.columns.unpack(column, this.numbers, this.row, this.#full)
    const changed = change(this.#full, this.beside(column))
    if (changed > 0) {
      this.settle(now)
      this.columns.pack(column, this.#full, this.numbers, this.row)
    }
    return changed
  }

  /** The log or holds of a column of the located row. */
  beside(column: number): Beside {
    const { kind, handleAt } = this.columns.all[column]!
    if (handleAt < 0) return undefined
    if (this.isBlank && this.#blankLogs[column] !== undefined) return this.#blankLogs[column]
    return this.#shared.side.get(kind, this.numbers[this.row + handleAt]!)
  }

  /** Gives a column of the located row another log or other holds. */
  putBeside(column: number, made: LogRing | HoldBook): void {
    this.#shared.side.put(this.numbers[this.row + this.columns.all[column]!.handleAt]!, made)
  }

  /** Something was given back to some row of this table or the ones before. */
  get hasRefunds(): boolean {
    return !this.refunds.isEmpty || this.previous !== null
  }

  /** Sums of refunds of an earlier layout count on. */
  refunded(a: number, b: number, column: number): number {
    const own = this.refunds.of(a, b, column)
    if (this.previous === null) return own
    const index = this.previous.columns.indexOf(this.columns.all[column]!.id)
    return index < 0 ? own : own + this.previous.refunded(a, b, index)
  }

  /** Something was given back to the located row: receipts from before, up to `latest`, know less. */
  noteRefund(column: number, tokens: number, now: number, latest = now): void {
    const { numbers, kind } = this.columns.all[column]!
    const life = kind === BUCKET ? this.#longestOf(column, numbers.amount) : 2 * numbers.window
    const lives = (a: number, b: number) => this.has(a, b)
    this.refunds.add(this.a, this.b, column, tokens, latest + life, now, lives)
  }

  /** The located row may owe more than its burst. */
  noteDebt(column: number, limit: LimitNumbers, now: number): void {
    const owed = this.columns.emptyAt(this.numbers, this.row, this.#shared.side) - now
    const tokens = Math.ceil((owed / limit.window) * limit.amount) + 1
    if (tokens <= this.mostTokens[column]!) return
    this.mostTokens[column] = tokens
    this.isHeadChanged = true
  }

  /** How long a column can say something after its last write, at this amount. */
  #longestOf(column: number, amount: number): number {
    const { kind, window } = this.columns.all[column]!
    if (kind !== BUCKET) return 2 * window
    return Math.min(HORIZON_US, (this.mostTokens[column]! / amount) * window + 1)
  }

  /** Takes over from a table with another layout. What both have moves as it is asked for. */
  succeed(previous: Table, now: number): void {
    for (const [i, { id }] of previous.columns.all.entries()) {
      const index = this.columns.indexOf(id)
      if (index >= 0)
        this.mostTokens[index] = Math.max(this.mostTokens[index]!, previous.mostTokens[i]!)
    }
    this.previous = previous
    this.use(this.columns, now)
    let generations = 0
    for (let table: Table | null = previous; table !== null; table = table.previous) generations++
    if (generations > MOST_GENERATIONS) this.#absorb(now)
  }

  /** The same layout with the numbers in force now: slower ones make what was used matter for longer. */
  use(columns: Columns, now: number): void {
    this.columns = columns
    this.rows.columns = columns
    this.isHeadChanged = true
    if (this.previous === null) return
    for (const [i, { numbers }] of columns.all.entries()) {
      const longest = this.#longestOf(i, numbers.amount)
      // Its rows may have been written by a clock that was ahead by the grace, and clocks may step back as far again.
      this.previousEnds = Math.max(this.previousEnds, now + longest + 2 * GRACE_US)
    }
    for (let table: Table | null = this.previous; table !== null; table = table.previous) {
      table.previousEnds = Math.max(table.previousEnds, this.previousEnds)
      table.isHeadChanged = true
    }
  }

  /** As it was exported. */
  resume(columns: Columns, mostTokens: readonly number[]): void {
    this.columns = columns
    this.rows.columns = columns
    for (const [i, tokens] of mostTokens.entries()) this.mostTokens[i] = tokens
  }

  /** It is that table, or has taken over from it. */
  isAfter(table: Table): boolean {
    return this === table || (this.previous?.isAfter(table) ?? false)
  }

  /** Drops earlier layouts of which nothing can matter any more. */
  dropEnded(now: number): void {
    if (this.previous !== null && now > this.previousEnds) this.#dropPrevious()
  }

  /** Receipts are computed with the sums of refunds of every layout, so those stay. */
  #dropPrevious(): void {
    const { previous } = this
    if (previous === null) return
    previous.#dropPrevious()
    this.refunds.takeOver(previous.refunds, (column) =>
      this.columns.indexOf(previous.columns.all[column]!.id),
    )
    previous.drop()
    this.previous = null
    this.isHeadChanged = true
  }

  /**
   * Moves every row of the earlier layouts at once, each as it would be found if it were asked for. Only
   * into a table that was not exported yet: moving writes no row.
   */
  #absorb(now: number): void {
    for (let table = this.previous; table !== null; table = table.previous) {
      for (const segment of table.rows.segments) {
        segment.forEach((row) => {
          this.locate(segment.fingerprintA(row), segment.fingerprintB(row), now)
          if (this.isBlank && this.isKnown) this.settle(now)
        })
      }
    }
    this.#dropPrevious()
  }

  /** Makes the located blank a row, and gives every column that keeps something beside its place. */
  settle(now: number): void {
    if (this.isBlank) {
      if (this.previous !== null) this.previous.#forget(this.a, this.b, now)
      const row = this.rows.insert(this.a, this.b, this.#blank.subarray(1), now)
      this.numbers = this.rows.segmentOf(this.a).numbers
      this.row = row + 1
    }
    if (!this.columns.hasHandles) return
    for (const [i, { kind, handleAt }] of this.columns.all.entries()) {
      if (handleAt < 0 || this.numbers[this.row + handleAt] !== 0) continue
      this.numbers[this.row + handleAt] = this.#shared.side.add(kind, this.#blankLogs[i])
      this.#blankLogs[i] = undefined
    }
  }

  /** The row has moved to a table with another layout. */
  #forget(a: number, b: number, now: number): void {
    this.locate(a, b, now)
    if (!this.isBlank) this.numbers.fill(0, this.row, this.row + this.columns.rowWidth)
    else if (this.previous !== null) this.previous.#forget(a, b, now)
  }

  /** The key has no row any more, here or in an earlier layout. */
  delete(a: number, b: number): void {
    this.rows.delete(a, b)
    if (this.previous !== null) this.previous.#forget(a, b, 0)
  }

  /** Forgets every row: the rule is gone. */
  drop(): void {
    this.rows.clear()
    this.previous?.drop()
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
    for (const [i, { id, numbers }] of this.columns.all.entries()) {
      const inForce = family.columns.find((column) => column.id === id)?.sample.numbers
      const amount = Math.min(numbers.amount, inForce?.amount ?? numbers.amount)
      longest = Math.max(longest, this.#longestOf(i, amount))
    }
    return this.rows.compact(index, now, longest + GRACE_US)
  }

  get bytes(): number {
    return this.rows.bytes + 150 * this.refunds.size + (this.previous?.bytes ?? 0)
  }
}
