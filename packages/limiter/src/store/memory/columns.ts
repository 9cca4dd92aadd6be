/** How a row of a table is laid out: a column per limit, then a handle per column that keeps something beside. */
import { emptyAt, widthOf } from '../../algorithms/algorithm.js'
import {
  CONCURRENCY,
  type LimitNumbers,
  limitNumbers,
  SLIDING_LOG,
} from '../../algorithms/limit-numbers.js'
import type { Numbers } from '../../algorithms/verdict.js'
import type { Family } from '../../rules/compiled-rule.js'
import type { Besides } from './besides.js'

/** A row says nothing any more this long after its counters are empty: clocks may step back that far. */
export const GRACE_US = 60_000_000

export interface TableColumn {
  readonly id: string
  readonly kind: number
  readonly window: number
}

interface PlacedColumn extends TableColumn {
  readonly at: number
  /** Where its handle is; -1 if it keeps nothing beside. */
  readonly handleAt: number
  /** Enough of its limit to tell when it is empty. */
  readonly numbers: LimitNumbers
}

export class Columns {
  readonly all: readonly PlacedColumn[]
  /** Numbers that the algorithms know. */
  readonly width: number
  /** Those and the handles. */
  readonly rowWidth: number
  /** Some column is a concurrency limit: such rows are never evicted while they hold. */
  readonly hasHolds: boolean
  readonly hasHandles: boolean
  readonly layout: string

  constructor(columns: readonly TableColumn[]) {
    const width = columns.reduce((sum, column) => sum + widthOf(column.kind), 0)
    let at = 0
    let handleAt = width
    this.all = columns.map(({ id, kind, window }) => {
      const keepsBeside = kind === SLIDING_LOG || kind === CONCURRENCY
      const placed = {
        id,
        kind,
        window,
        at,
        handleAt: keepsBeside ? handleAt++ : -1,
        numbers: limitNumbers(kind, 1, window, 1, false),
      }
      at += widthOf(kind)
      return placed
    })
    this.width = width
    this.rowWidth = handleAt
    this.hasHandles = handleAt > width
    this.hasHolds = columns.some((column) => column.kind === CONCURRENCY)
    this.layout = columns.map((column) => column.id).join(' ')
  }

  static of(family: Family): Columns {
    return new Columns(
      family.columns.map(({ id, sample }) => ({
        id,
        kind: sample.numbers.kind,
        window: sample.numbers.window,
      })),
    )
  }

  /** When the row that starts at `row` says nothing any more, but for the grace. */
  emptyAt(numbers: Numbers, row: number, besides: Besides): number {
    let last = 0
    for (let i = 0; i < this.all.length; i++) {
      const column = this.all[i]!
      const beside =
        column.handleAt < 0 ? undefined : besides.get(column.kind, numbers[row + column.handleAt]!)
      const at = emptyAt(numbers, row + column.at, column.numbers, beside)
      if (at > last) last = at
    }
    return last
  }
}
