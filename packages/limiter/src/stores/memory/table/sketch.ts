/**
 * What is left of rows that were evicted, so that nobody resets his own limit by flooding the store
 * with other keys. Two arrays of cells, each laid out like a row; an evicted row raises one cell in
 * each to at least itself, and a key that comes (back) starts from the lower of its two cells: never
 * below what it had used, and for others about as if they had used what a collision says.
 */
import { current, LAST, tat } from '../../../algorithms/bucket.js'
import {
  BUCKET,
  FIXED_WINDOW,
  type LimitNumbers,
  SLIDING_COUNTER,
} from '../../../algorithms/limit-numbers.js'
import type { Numbers } from '../../../algorithms/verdict.js'
import type { Layout } from './layout.js'

/** Cells are kept and exported in blocks of so many, which is the fewest there are. */
const BLOCK_CELLS = 1024
const BLOCK_SHIFT = 10

interface Block {
  /** How its cells are laid out: as in an earlier layout, until it is next touched. */
  readonly layout: Layout
  readonly numbers: Float64Array
}

type Lane = (Block | undefined)[]

/** Cells of one of the two lanes, side by side. */
export interface SketchCells {
  readonly lane: number
  readonly from: number
  readonly numbers: Float64Array
}

export class Sketch {
  #layout: Layout
  /** Empty blocks are not there. */
  #lanes: readonly [Lane, Lane]
  #zeros: Float64Array
  #mask: number

  /** For about so many rows. */
  constructor(layout: Layout, rows: number) {
    let blocks = 1
    while (blocks * BLOCK_CELLS < rows) blocks *= 2
    this.#layout = layout
    this.#lanes = [new Array<undefined>(blocks), new Array<undefined>(blocks)]
    this.#zeros = new Float64Array(BLOCK_CELLS * layout.width)
    this.#mask = blocks * BLOCK_CELLS - 1
  }

  /** A power of two. */
  get cells(): number {
    return this.#mask + 1
  }

  get bytes(): number {
    return this.#lanes.flat().reduce((sum, block) => sum + (block?.numbers.byteLength ?? 0), 0)
  }

  /** Cells are laid out so from now on, each block when it is next touched. */
  relayout(layout: Layout): void {
    this.#layout = layout
    this.#zeros = new Float64Array(BLOCK_CELLS * layout.width)
  }

  fold(a: number, b: number, numbers: Numbers, row: number): void {
    this.#raise(this.#lanes[0], this.#firstCell(a), numbers, row)
    this.#raise(this.#lanes[1], this.#secondCell(b), numbers, row)
  }

  /** Writes the lower of the key's two cells into a row of zeros. */
  restore(a: number, b: number, numbers: Numbers, row: number): void {
    const [first, x] = this.#read(this.#lanes[0], this.#firstCell(a))
    const [second, y] = this.#read(this.#lanes[1], this.#secondCell(b))
    for (const { kind, at, width, numbers: limit } of this.#layout.columns) {
      const into = row + at
      if (kind === BUCKET) numbers[into] = Math.min(first[x + at]!, second[y + at]!)
      else if (kind === FIXED_WINDOW) lowerWindow(numbers, into, [first, x + at], [second, y + at])
      else if (kind === SLIDING_COUNTER)
        lowerCounter(numbers, into, [first, x + at], [second, y + at], limit)
      else
        for (let i = 0; i < width; i++)
          numbers[into + i] = Math.min(first[x + at + i]!, second[y + at + i]!)
    }
  }

  /** Every cell that says something. */
  *everyCell(): IterableIterator<SketchCells> {
    for (const [lane, blocks] of this.#lanes.entries())
      for (let i = 0; i < blocks.length; i++) {
        const numbers = this.#cellsOf(blocks, i)
        if (numbers !== undefined) yield { lane, from: i * BLOCK_CELLS, numbers }
      }
  }

  /** Raises these cells, which are of a sketch of `cells` cells, to what they were there at least. */
  raise(cells: number, { lane, from, numbers }: SketchCells): void {
    while (this.cells < cells) this.#double()
    const { width } = this.#layout
    const blocks = this.#lanes[lane === 0 ? 0 : 1]
    for (let i = 0; i * width < numbers.length; i++) {
      // A cell of a smaller sketch stands for several here.
      const first = (from + i) & (cells - 1)
      for (let cell = first; cell < this.cells; cell += cells)
        this.#raise(blocks, cell, numbers, i * width)
    }
  }

  /** Twice as many cells: each stands for what its half of the key's bits says, and both say what it said. */
  #double(): void {
    const [first, second] = this.#lanes
    this.#lanes = [
      [...first, ...first.map(copyOf)],
      [...second, ...second.map(copyOf)],
    ]
    this.#mask = 2 * this.cells - 1
  }

  #firstCell(a: number): number {
    return a & this.#mask
  }

  #secondCell(b: number): number {
    return (b >>> 7) & this.#mask
  }

  /** A block's cells, in the layout that is current. */
  #cellsOf(lane: Lane, index: number): Float64Array | undefined {
    const block = lane[index]
    if (block === undefined || block.layout === this.#layout) return block?.numbers
    const layout = this.#layout
    const numbers = convertCells(block.layout, block.numbers, layout)
    lane[index] = { layout, numbers }
    return numbers
  }

  #read(lane: Lane, cell: number): [Float64Array, number] {
    const cells = this.#cellsOf(lane, cell >> BLOCK_SHIFT)
    return [cells ?? this.#zeros, (cell & (BLOCK_CELLS - 1)) * this.#layout.width]
  }

  #raise(lane: Lane, cell: number, numbers: Numbers, row: number): void {
    const { width, columns } = this.#layout
    const index = cell >> BLOCK_SHIFT
    let cells = this.#cellsOf(lane, index)
    if (cells === undefined) {
      cells = new Float64Array(BLOCK_CELLS * width)
      lane[index] = { layout: this.#layout, numbers: cells }
    }
    const to = (cell & (BLOCK_CELLS - 1)) * width
    for (const { kind, at, width, numbers: limit } of columns) {
      if (kind === BUCKET) raiseBucket(cells, to + at, numbers, row + at, width)
      else if (kind === FIXED_WINDOW) raiseWindow(cells, to + at, numbers, row + at)
      else if (kind === SLIDING_COUNTER) raiseCounter(cells, to + at, numbers, row + at, limit)
      else raiseEach(cells, to + at, numbers, row + at, width)
    }
  }
}

function copyOf(block: Block | undefined): Block | undefined {
  return block === undefined ? undefined : { ...block, numbers: block.numbers.slice() }
}

/** Cells as they are in another layout of the table. */
export function convertCells(from: Layout, numbers: Float64Array, to: Layout): Float64Array {
  const cells = numbers.length / from.width
  const converted = new Float64Array(cells * to.width)
  for (const [i, column] of to.columns.entries()) {
    const index = from.indexOfSerial(column.serial)
    if (index < 0) continue
    for (let cell = 0; cell < cells; cell++) {
      from.unpack(index, numbers, cell * from.width, full)
      if (column.kind === BUCKET) toAmountOf(column)
      to.pack(i, full, converted, cell * to.width)
    }
  }
  return converted
}

const full = new Float64Array(4)

/** A cell has no amount: what a bucket had used under another is converted at the time at which the amount changed. */
function toAmountOf({ numbers, since }: { numbers: LimitNumbers; since: number }): void {
  full[LAST] = since
  current(full, 0, numbers, since)
  full.set([tat[1]! > 0 ? tat[0]! + 1 : tat[0]!, 0, 0, 0])
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

/** The cells of a block, and where one begins. */
type Cell = readonly [cells: Float64Array, at: number]

function lowerWindow(row: Numbers, at: number, [c, i]: Cell, [d, j]: Cell): void {
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
  [c, i]: Cell,
  [d, j]: Cell,
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
