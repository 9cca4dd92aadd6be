/** Rows of one table and what they keep beside, gathered until they are a piece. */

import { HoldBook } from '../side/hold-book.js'
import { LogRing } from '../side/log-ring.js'
import type { SideTable } from '../side/side-table.js'
import type { Columns } from '../table/layout.js'
import type { Segment } from '../table/segment.js'
import type { Table } from '../table/table.js'
import { encode } from './piece.js'
import { RowBuffer } from './row-buffer.js'

/** Pieces are about this large. */
const PIECE_BYTES = 65_536

export class RowsPiece {
  readonly #table: number
  readonly #columns: Columns
  readonly #side: SideTable
  readonly #rows = new RowBuffer()
  #holds: [number, number, [string, number, number][]][] = []
  #logs: [number, number, number][] = []
  #entries: number[] = []

  constructor(table: Table, side: SideTable) {
    this.#table = table.id
    this.#columns = table.columns
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
    return this.#columns.all.some(({ kind, handleAt }) => {
      const handle = handleAt < 0 ? 0 : segment.numbers[row + 1 + handleAt]!
      if (handle === 0) return false
      const beside = this.#side.get(kind, handle)
      return beside instanceof HoldBook && beside.isChanged
    })
  }

  add(segment: Segment, row: number): void {
    const columns = this.#columns
    if (columns.hasHandles) {
      for (const [i, { kind, handleAt }] of columns.all.entries()) {
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
    this.#rows.add(segment, row, columns.width)
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
