/**
 * What is left of rows that were evicted, so that nobody resets his own limit by flooding the store
 * with other keys. Two arrays of cells, each laid out like a row; an evicted row raises one cell in
 * each to at least itself, and a key that comes (back) starts from the lower of its two cells: never
 * below what it had used, and for others about as if they had used what a collision says.
 */
import {
  BUCKET,
  FIXED_WINDOW,
  type LimitNumbers,
  SLIDING_COUNTER,
} from '../../../algorithms/limit-numbers.js'
import type { Numbers } from '../../../algorithms/verdict.js'
import type { Columns } from './layout.js'

const LEAST_CELLS = 1024

export class Sketch {
  readonly #columns: Columns
  readonly cells: number
  readonly #mask: number
  readonly #cells: readonly [Float64Array, Float64Array]

  constructor(columns: Columns, rows: number) {
    let cells = LEAST_CELLS
    while (cells < rows) cells *= 2
    this.#columns = columns
    this.cells = cells
    this.#mask = cells - 1
    this.#cells = [new Float64Array(cells * columns.width), new Float64Array(cells * columns.width)]
  }

  get bytes(): number {
    return 2 * this.#cells[0].byteLength
  }

  fold(a: number, b: number, numbers: Numbers, row: number): void {
    for (const [lane, cells] of this.#lanes(a, b)) {
      for (const { kind, at, width, numbers: limit } of this.#columns.all) {
        if (kind === BUCKET) raiseBucket(cells, lane + at, numbers, row + at, width)
        else if (kind === FIXED_WINDOW) raiseWindow(cells, lane + at, numbers, row + at)
        else if (kind === SLIDING_COUNTER) raiseCounter(cells, lane + at, numbers, row + at, limit)
        else raiseEach(cells, lane + at, numbers, row + at, 2)
      }
    }
  }

  /** Writes the lower of the key's two cells into a row of zeros. */
  restore(a: number, b: number, numbers: Numbers, row: number): void {
    const [[x, first], [y, second]] = this.#lanes(a, b)
    for (const { kind, at, numbers: limit } of this.#columns.all) {
      const into = row + at
      if (kind === BUCKET) numbers[into] = Math.min(first[x + at]!, second[y + at]!)
      else if (kind === FIXED_WINDOW) lowerWindow(numbers, into, first, x + at, second, y + at)
      else if (kind === SLIDING_COUNTER)
        lowerCounter(numbers, into, first, x + at, second, y + at, limit)
      else {
        numbers[into] = Math.min(first[x + at]!, second[y + at]!)
        numbers[into + 1] = Math.min(first[x + at + 1]!, second[y + at + 1]!)
      }
    }
  }

  /** So many cells of one of the two arrays, or those that are left. */
  cellsFrom(lane: number, from: number, count: number): Float64Array {
    const { width } = this.#columns
    return this.#cells[lane === 0 ? 0 : 1].subarray(from * width, (from + count) * width)
  }

  setCells(lane: number, from: number, numbers: Float64Array): void {
    this.#cells[lane === 0 ? 0 : 1].set(numbers, from * this.#columns.width)
  }

  #lanes(a: number, b: number): [[number, Float64Array], [number, Float64Array]] {
    const width = this.#columns.width
    const [first, second] = this.#cells
    return [
      [(a & this.#mask) * width, first],
      [((b >>> 7) & this.#mask) * width, second],
    ]
  }
}

/** TAT, rounded up; the amount stays 0, so that nothing is converted. */
function raiseBucket(
  cells: Float64Array,
  cell: number,
  row: Numbers,
  at: number,
  width: number,
): void {
  const tat = width > 1 && row[at + 1]! > 0 ? row[at]! + 1 : row[at]!
  if (tat > cells[cell]!) cells[cell] = tat
}

/** The later window, and the larger count where both are of one. */
function raiseWindow(cells: Float64Array, cell: number, row: Numbers, at: number): void {
  if (row[at]! > cells[cell]!) {
    cells[cell] = row[at]!
    cells[cell + 1] = row[at + 1]!
  } else if (row[at] === cells[cell]) cells[cell + 1] = Math.max(cells[cell + 1]!, row[at + 1]!)
}

function lowerWindow(
  row: Numbers,
  at: number,
  c: Float64Array,
  i: number,
  d: Float64Array,
  j: number,
): void {
  row[at] = Math.min(c[i]!, d[j]!)
  if (c[i] === d[j]) row[at + 1] = Math.min(c[i + 1]!, d[j + 1]!)
  else row[at + 1] = c[i]! < d[j]! ? c[i + 1]! : d[j + 1]!
}

/** What (start, before, count) is worth in the window that starts at `start`. */
function rolledTo(
  start: number,
  numbers: Numbers,
  at: number,
  limit: LimitNumbers,
): [number, number] {
  if (numbers[at] === start) return [numbers[at + 1]!, numbers[at + 2]!]
  if (numbers[at]! + limit.window === start) return [numbers[at + 2]!, 0]
  return [0, 0]
}

function raiseCounter(
  cells: Float64Array,
  cell: number,
  row: Numbers,
  at: number,
  limit: LimitNumbers,
): void {
  const start = Math.max(cells[cell]!, row[at]!)
  const [before, count] = rolledTo(start, cells, cell, limit)
  const [rowBefore, rowCount] = rolledTo(start, row, at, limit)
  cells[cell] = start
  cells[cell + 1] = Math.max(before, rowBefore)
  cells[cell + 2] = Math.max(count, rowCount)
}

function lowerCounter(
  row: Numbers,
  at: number,
  c: Float64Array,
  i: number,
  d: Float64Array,
  j: number,
  limit: LimitNumbers,
): void {
  const start = Math.max(c[i]!, d[j]!)
  const [before, count] = rolledTo(start, c, i, limit)
  const [otherBefore, otherCount] = rolledTo(start, d, j, limit)
  row[at] = start
  row[at + 1] = Math.min(before, otherBefore)
  row[at + 2] = Math.min(count, otherCount)
}

function raiseEach(
  cells: Float64Array,
  cell: number,
  row: Numbers,
  at: number,
  count: number,
): void {
  for (let i = 0; i < count; i++) cells[cell + i] = Math.max(cells[cell + i]!, row[at + i]!)
}
