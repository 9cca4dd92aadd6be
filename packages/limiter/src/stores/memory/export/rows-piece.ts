/** Rows of one table and what they keep beside, gathered until they are a piece. */

import { HoldBook } from '../side/hold-book.js'
import { LogRing } from '../side/log-ring.js'
import type { SideTable } from '../side/side-table.js'
import type { Layout } from '../table/layout.js'
import type { Segment } from '../table/segment.js'
import type { Table } from '../table/table.js'
import { encode } from './piece.js'

/** Pieces are about this large. */
const PIECE_BYTES = 65_536

export class RowsPiece {
  readonly #table: number
  readonly #layout: Layout
  readonly #side: SideTable
  readonly #rows = new RowBuffer()
  #holds: [number, number, [string, number, number][]][] = []
  #logs: [number, number, number][] = []
  #entries: number[] = []

  constructor(table: Table, side: SideTable) {
    this.#table = table.id
    this.#layout = table.layout
    this.#side = side
  }

  get isAny(): boolean {
    return this.#rows.count > 0
  }

  get isLarge(): boolean {
    return this.#rows.bytes + 8 * this.#entries.length + 64 * this.#holds.length >= PIECE_BYTES
  }

  /** Its holds have changed since they were exported. */
  isHeld(segment: Segment, row: number): boolean {
    return this.#layout.columns.some(({ kind, handleAt }) => {
      const handle = handleAt < 0 ? 0 : segment.numbers[row + 1 + handleAt]!
      if (handle === 0) return false
      const beside = this.#side.get(kind, handle)
      return beside instanceof HoldBook && beside.isChanged
    })
  }

  add(segment: Segment, row: number): void {
    const layout = this.#layout
    if (layout.hasHandles) {
      for (const [i, { kind, handleAt }] of layout.columns.entries()) {
        if (handleAt < 0) continue
        const beside = this.#side.get(kind, segment.numbers[row + 1 + handleAt]!)
        if (beside instanceof HoldBook) {
          beside.isChanged = false
          this.#holds.push([this.#rows.count, i, beside.entries()])
        } else if (beside instanceof LogRing) {
          this.#logs.push([this.#rows.count, i, beside.count()])
          for (let e = 0; e < beside.count(); e++)
            this.#entries.push(beside.stamp(e), beside.cost(e))
        }
      }
    }
    this.#rows.add(segment, row, layout.width)
  }

  take(): Uint8Array {
    for (const number of this.#entries) this.#rows.push(number)
    const head = { kind: 'rows', table: this.#table, holds: this.#holds, logs: this.#logs } as const
    const piece = encode(head, this.#rows.numbers)
    this.#rows.clear()
    this.#holds = []
    this.#logs = []
    this.#entries = []
    return piece
  }
}

/** Fingerprints and counters of rows, one after the other, without handles. */
class RowBuffer {
  /** How many rows it has. */
  count = 0
  #doubles = new Float64Array(256)
  #integers = new Int32Array(this.#doubles.buffer)
  #length = 0

  /** `width`: how many counters the row that starts at `row` has. */
  add(segment: Segment, row: number, width: number): void {
    this.#reserve(1 + width)
    const at = this.#length
    const doubles = this.#doubles
    // The fingerprint is no number: as one it might be a NaN, whose bits need not survive.
    this.#integers[2 * at] = segment.fingerprintA(row)
    this.#integers[2 * at + 1] = segment.fingerprintB(row)
    for (let i = 1; i <= width; i++) doubles[at + i] = segment.numbers[row + i]!
    this.#length += 1 + width
    this.count++
  }

  /** Something that follows the rows. */
  push(number: number): void {
    this.#reserve(1)
    this.#doubles[this.#length++] = number
  }

  get bytes(): number {
    return 8 * this.#length
  }

  /** All of it, until it is next written to. */
  get numbers(): Float64Array {
    return this.#doubles.subarray(0, this.#length)
  }

  clear(): void {
    this.#length = 0
    this.count = 0
  }

  #reserve(more: number): void {
    if (this.#length + more <= this.#doubles.length) return
    const larger = new Float64Array(2 * this.#doubles.length + more)
    const integers = new Int32Array(larger.buffer)
    integers.set(this.#integers.subarray(0, 2 * this.#length))
    this.#doubles = larger
    this.#integers = integers
  }
}
