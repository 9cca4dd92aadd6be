/**
 * How a row of a table is laid out: a column per limit, then a handle per column that keeps something
 * beside.
 *
 * A bucket keeps four numbers: TAT, its fraction, the amount it was written under, the last write. In a
 * narrow layout every row was written under the same amount, so a bucket is its TAT, and a fraction only
 * where the amount does not divide the window; the last write is one number at the start of the row. So
 * it is in a layout without buckets, where it says only that the row was written.
 */
import { emptyAt, widthOf } from '../../../algorithms/algorithm.js'
import {
  BUCKET,
  CONCURRENCY,
  FIXED_WINDOW,
  type LimitNumbers,
  limitNumbers,
  SLIDING_COUNTER,
  SLIDING_LOG,
} from '../../../algorithms/limit-numbers.js'
import type { Numbers } from '../../../algorithms/verdict.js'
import type { Family } from '../../../rules/compiled-rule.js'
import type { SideTable } from '../side/side-table.js'

/** A column's numbers, on their way from one row to another. */
const full = new Float64Array(4)
/** A bucket's numbers in full. */
const TAT = 0
const FRACTION = 1
const AMOUNT = 2
const LAST = 3

export interface TableColumn {
  readonly id: string
  /** Names the column within its table. One that goes and comes back starts anew, under another number. */
  readonly serial: number
  readonly kind: number
  readonly window: number
  /** The amount that all rows were written under, in a narrow layout. */
  readonly amount: number
  /** When that amount took effect, or was first asked for. */
  readonly since: number
}

interface PlacedColumn extends TableColumn {
  /** Where it starts in the row, and how wide it is. */
  readonly at: number
  readonly width: number
  /** Where its handle is; -1 if it keeps nothing beside. */
  readonly handleAt: number
  /** A limit of this identity, the slowest in force: enough to tell when the column is empty. */
  readonly numbers: LimitNumbers
}

export class Layout {
  readonly columns: readonly PlacedColumn[]
  readonly isNarrow: boolean
  /** Numbers that are counters. */
  readonly width: number
  /** Those and the handles. */
  readonly rowWidth: number
  /** Some column is a concurrency limit: such rows are never evicted while they hold. */
  readonly hasHolds: boolean
  readonly hasHandles: boolean
  readonly hasBuckets: boolean
  /** Where the row's last write is, as `touch` notes it: its own number, or that of the first bucket. */
  readonly lastAt: number
  /** Equal where rows of the table mean the same. */
  readonly signature: string
  /** What the table's next column is called. */
  readonly nextSerial: number

  constructor(
    columns: readonly TableColumn[],
    isNarrow: boolean,
    nextSerial: number,
    samples?: readonly LimitNumbers[],
  ) {
    this.isNarrow = isNarrow
    this.nextSerial = nextSerial
    const widths = columns.map((column) => widthIn(column, isNarrow))
    const firstBucket = columns.findIndex(({ kind }) => kind === BUCKET)
    const hasOwnLast = isNarrow || firstBucket < 0
    let at = hasOwnLast ? 1 : 0
    this.width = widths.reduce((sum, width) => sum + width, at)
    let handleAt = this.width
    this.columns = columns.map((column, i) => {
      const { kind, window, amount } = column
      const keepsBeside = kind === SLIDING_LOG || kind === CONCURRENCY
      const placed = {
        ...column,
        at,
        width: widths[i]!,
        handleAt: keepsBeside ? handleAt++ : -1,
        numbers: samples?.[i] ?? limitNumbers(kind, amount, window, 1, false),
      }
      at += placed.width
      return placed
    })
    this.lastAt = hasOwnLast ? 0 : this.columns[firstBucket]!.at + LAST
    this.rowWidth = handleAt
    this.hasHandles = handleAt > this.width
    this.hasBuckets = firstBucket >= 0
    this.hasHolds = columns.some((column) => column.kind === CONCURRENCY)
    this.signature = columns
      .map(({ serial, amount }) => (isNarrow ? `${serial}=${amount}` : serial))
      .join(' ')
  }

  /** The family's columns, after those that its table had `before`. */
  static of(family: Family, before: Layout | undefined, now: number): Layout {
    const samples = family.columns.map(({ sample }) => sample.numbers)
    let nextSerial = before?.nextSerial ?? 0
    const columns = family.columns.map(({ id }, i) => {
      const { kind, window, amount, since } = samples[i]!
      const serial = before?.columns[before.indexOf(id)]?.serial ?? nextSerial++
      return { id, serial, kind, window, amount, since: since > 0 ? since : now }
    })
    return new Layout(columns, canBeNarrow(family, before), nextSerial, samples)
  }

  indexOf(id: string): number {
    return this.columns.findIndex((column) => column.id === id)
  }

  indexOfSerial(serial: number): number {
    return this.columns.findIndex((column) => column.serial === serial)
  }

  /** When the row that starts at `row` says nothing any more, but for the grace. */
  emptyAt(numbers: Numbers, row: number, side: SideTable): number {
    let last = 0
    for (let i = 0; i < this.columns.length; i++) {
      const { kind, at, width, handleAt, numbers: limit } = this.columns[i]!
      const place = row + at
      let empty = 0
      if (this.isNarrow && kind === BUCKET) {
        empty = numbers[place]!
        if (width === 2 && numbers[place + 1]! > 0) empty++
      } else {
        const beside = handleAt < 0 ? undefined : side.get(kind, numbers[row + handleAt]!)
        empty = emptyAt(numbers, place, limit, beside)
      }
      if (empty > last) last = empty
    }
    return last
  }

  /**
   * How much the row has used, as a time: of a bucket its TAT, of windows and logs when a bucket that had
   * admitted as much would be full again. What is to be forgotten first has used least.
   */
  usedUntil(numbers: Numbers, row: number): number {
    let last = 0
    for (let i = 0; i < this.columns.length; i++) {
      const { kind, at, window, numbers: limit } = this.columns[i]!
      const place = row + at
      let until = numbers[place]!
      if (kind === FIXED_WINDOW) until += (numbers[place + 1]! / limit.amount) * window
      else if (kind === SLIDING_COUNTER)
        until += ((numbers[place + 1]! + numbers[place + 2]!) / limit.amount) * window
      else if (kind === SLIDING_LOG)
        until = numbers[place + 1]! + (numbers[place]! / limit.amount) * window
      else if (kind === CONCURRENCY) until = 0
      if (until > last) last = until
    }
    return last
  }

  /** The row was written: that is the last write of all its buckets. Leaves the number at `lastAt` ≥ now. */
  touch(numbers: Numbers, row: number, now: number): void {
    if (this.lastAt === 0) {
      if (now > numbers[row]!) numbers[row] = now
      return
    }
    for (let i = 0; i < this.columns.length; i++) {
      const { kind, at } = this.columns[i]!
      if (kind === BUCKET && now > numbers[row + at + LAST]!) numbers[row + at + LAST] = now
    }
  }

  /** The row was last written now, whatever it says. */
  setLast(numbers: Numbers, row: number, now: number): void {
    numbers[row + this.lastAt] = 0
    this.touch(numbers, row, now)
  }

  /** Writes a row of another layout of the table into a row of zeros: the columns that both have, with their handles. */
  convert(from: Layout, numbers: Numbers, row: number, into: Float64Array, at: number): void {
    for (const [i, { serial, handleAt }] of this.columns.entries()) {
      const index = from.indexOfSerial(serial)
      if (index < 0) continue
      from.unpack(index, numbers, row, full)
      this.pack(i, full, into, at)
      if (handleAt >= 0) into[at + handleAt] = numbers[row + from.columns[index]!.handleAt]!
    }
    // A bucket that is new in the row was never written: by an older write a refund would go after a step back.
    if (!this.startsBuckets(from)) this.touch(into, at, numbers[row + from.lastAt]!)
  }

  /** Has buckets, and that layout has none: rows that were of that one do not say when they were last written. */
  startsBuckets(from: Layout): boolean {
    return this.hasBuckets && !from.hasBuckets
  }

  /** A column's numbers as the algorithms know them, into `full`. */
  unpack(index: number, numbers: Numbers, row: number, full: Float64Array): void {
    const { kind, at, width, amount } = this.columns[index]!
    for (let i = 0; i < width; i++) full[i] = numbers[row + at + i]!
    if (!this.isNarrow || kind !== BUCKET) return
    if (width === 1) full[FRACTION] = 0
    full[AMOUNT] = full[TAT] === 0 && full[FRACTION] === 0 ? 0 : amount
    full[LAST] = numbers[row]!
  }

  /** The reverse; in a narrow layout the amount is the column's own. */
  pack(index: number, full: Float64Array, numbers: Numbers, row: number): void {
    const { kind, at, width } = this.columns[index]!
    for (let i = 0; i < width; i++) numbers[row + at + i] = full[i]!
    if (this.isNarrow && kind === BUCKET) numbers[row] = Math.max(numbers[row]!, full[LAST]!)
  }
}

/** Every row was, and will be, written under one amount a column: no more is known of a narrow table. */
function canBeNarrow(family: Family, before: Layout | undefined): boolean {
  if (!family.isUniform) return false
  if (before === undefined) return true
  return family.columns.every(({ id, sample }) => {
    const old = before.columns[before.indexOf(id)]
    return before.isNarrow && (old === undefined || old.amount === sample.numbers.amount)
  })
}

function widthIn({ kind, window, amount }: TableColumn, isNarrow: boolean): number {
  if (!isNarrow || kind !== BUCKET) return widthOf(kind)
  return window % amount === 0 ? 1 : 2
}
