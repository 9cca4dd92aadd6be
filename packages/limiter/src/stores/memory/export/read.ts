/**
 * Tables as exported pieces say they were: a whole state, then any number of changes, each following the
 * one before. A row that comes again replaces the one that is there. What is read is not trusted: anything
 * amiss is thrown, and the tables are of no use then.
 */
import { HoldBook } from '../side/hold-book.js'
import { LogRing } from '../side/log-ring.js'
import { Layout } from '../table/layout.js'
import type { Shared } from '../table/shared.js'
import { Sketch } from '../table/sketch.js'
import { Table } from '../table/table.js'
import {
  damaged,
  type Head,
  type HeadOf,
  readPieces,
  VERSION,
  VERSION_BEFORE,
  type Version2Table,
} from './piece.js'
import { Version2Tables } from './version-2-tables.js'

/** More keys no store may have. */
const MOST_CELLS = 2 ** 31

export class RestoredTables {
  readonly byFamily = new Map<string, Table>()
  seed = new Int32Array(2)
  readonly #shared: Shared
  readonly #byNumber = new Map<number, Table>()
  #version2: Version2Tables | null = null
  #number = -1
  #pieces = 0
  #isInside = false

  constructor(pieces: Iterable<Uint8Array>, shared: Shared) {
    this.#shared = shared
    try {
      for (const { head, numbers } of readPieces(pieces)) {
        this.#pieces++
        this.#read(head, numbers)
      }
    } catch (error) {
      throw isOfContent(error) ? damaged(error.message) : error
    }
    if (this.#number < 0 || this.#isInside) throw damaged('it ends early')
    this.#version2?.join()
  }

  #read(head: Head, numbers: Float64Array): void {
    if (this.#isInside === (head.kind === 'start')) throw damaged('a piece is out of place')
    switch (head.kind) {
      case 'start':
        return this.#start(head)
      case 'families':
        return this.#keep(new Set(head.keys))
      case 'table':
        if (this.#version2 === null) return this.#place(head)
        return this.#version2.place(head as unknown as Version2Table)
      case 'refunds':
        return this.#tableOf(head).refunds.restore(head.sums, head.voidBefore, head.isFirst)
      case 'rows':
        return this.#rows(head, numbers)
      case 'sketch':
        return this.#sketchOf(head).raise(head.cells, { ...head, numbers })
      case 'gone':
        return this.#delete(head, numbers)
      case 'folds':
        return this.#fold(head, numbers)
      case 'end':
        if (head.pieces !== this.#pieces)
          throw damaged(`${this.#pieces} of ${head.pieces} pieces are there`)
        this.#isInside = false
    }
  }

  #start({ version, seed, number, follows }: HeadOf<'start'>): void {
    if (version !== VERSION && version !== VERSION_BEFORE)
      throw damaged(`it is of version ${version}, not ${VERSION}`)
    if (version === VERSION_BEFORE)
      this.#version2 ??= new Version2Tables(this.byFamily, this.#byNumber, this.#shared)
    if (follows === null) {
      if (this.#number >= 0) throw damaged('two whole states follow each other')
      this.seed = new Int32Array(seed)
    } else if (follows !== this.#number || seed.join() !== this.seed.join()) {
      throw damaged(`changes since ${follows} come after ${this.#number}`)
    }
    this.#number = number
    this.#pieces = 1
    this.#isInside = true
  }

  #keep(keys: ReadonlySet<string>): void {
    for (const [key, table] of this.byFamily) {
      if (keys.has(key)) continue
      table.drop()
      this.byFamily.delete(key)
      this.#shared.tables--
    }
  }

  #tableOf({ table }: { readonly table: number }): Table {
    const found = this.#byNumber.get(table)
    if (found === undefined) throw damaged('a table is not there')
    return found
  }

  #place(head: HeadOf<'table'>): void {
    const { key, columns, isNarrow, nextSerial, mostTokens } = head
    const laid = new Layout(columns, isNarrow, nextSerial)
    let table = this.#byNumber.get(head.table)
    if (table === undefined) {
      table = new Table(laid, this.#shared)
      this.#byNumber.set(head.table, table)
    } else table.use(laid)
    table.mostTokens = [...mostTokens]
    const before = this.byFamily.get(key)
    if (before === undefined) this.#shared.tables++
    else if (before !== table) before.drop()
    this.byFamily.set(key, table)
  }

  #rows(head: HeadOf<'rows'>, numbers: Float64Array): void {
    const table = this.#tableOf(head)
    const { layout } = table
    const stride = 1 + layout.width
    const logged = head.logs.reduce((sum, [, , count]) => sum + 2 * count, 0)
    const rows = (numbers.length - logged) / stride
    if (!Number.isInteger(rows) || rows < 0) throw damaged('rows are cut')
    const integers = new Int32Array(numbers.buffer)
    let [hold, log, entry] = [0, 0, rows * stride]
    for (let i = 0; i < rows; i++) {
      const at = i * stride
      table.locate(integers[2 * at]!, integers[2 * at + 1]!, 0)
      table.settle(0)
      for (let j = 0; j < layout.width; j++) table.numbers[table.row + j] = numbers[at + 1 + j]!
      this.#version2?.written(head.table, table)
      for (; head.holds[hold]?.[0] === i; hold++) {
        const [, column, held] = head.holds[hold]!
        const book = new HoldBook()
        for (const one of held) book.add(...one)
        table.putBeside(column, book)
      }
      for (; head.logs[log]?.[0] === i; log++) {
        const [, column, count] = head.logs[log]!
        const ring = new LogRing()
        for (let e = 0; e < count; e++, entry += 2) ring.push(numbers[entry]!, numbers[entry + 1]!)
        table.putBeside(column, ring)
      }
    }
  }

  #delete(head: HeadOf<'gone'>, numbers: Float64Array): void {
    const table = this.#tableOf(head)
    const integers = new Int32Array(numbers.buffer)
    for (let i = 0; i < integers.length; i += 2) {
      table.rows.delete(integers[i]!, integers[i + 1]!)
      this.#version2?.forget(head.table, integers[i]!, integers[i + 1]!)
    }
  }

  #sketchOf(head: { readonly table: number; readonly cells: number }): Sketch {
    const { rows, layout } = this.#tableOf(head)
    const { cells } = head
    if (!Number.isSafeInteger(Math.log2(cells)) || cells < 1 || cells > MOST_CELLS)
      throw damaged(`a sketch of ${cells} cells`)
    rows.sketch ??= new Sketch(layout, cells)
    return rows.sketch
  }

  #fold(head: HeadOf<'folds'>, numbers: Float64Array): void {
    const sketch = this.#sketchOf(head)
    const stride = 1 + this.#tableOf(head).layout.width
    const integers = new Int32Array(numbers.buffer)
    for (let at = 0; at < numbers.length; at += stride)
      sketch.fold(integers[2 * at]!, integers[2 * at + 1]!, numbers, at + 1)
  }
}

/** The bytes could be read, and mean nothing: only the checksum at the end would have said so first. */
function isOfContent(error: unknown): error is Error {
  return [SyntaxError, TypeError, RangeError].some((kind) => error instanceof kind)
}
