/**
 * Rows that had to go since the last export: evicted into the sketch, or free and taken by another key.
 * Changes say them, because what was exported of such a row before may say more than is true: it may
 * have been reset since. Bounded: of too many only a whole export makes sense.
 */

import type { Rows } from '../table/rows.js'
import type { Segment } from '../table/segment.js'
import { RowBuffer } from './row-buffer.js'

const LEAST = 65_536

interface Departed {
  /** With their counters, as they were folded into the sketch. */
  readonly evicted: RowBuffer
  readonly freed: RowBuffer
}

export class DepartedRows {
  /** Since a whole export was begun, and while there are not too many. */
  isTracked = false
  readonly #most: number
  readonly #byTable = new Map<Rows, Departed>()
  #count = 0

  constructor(maxKeys: number) {
    this.#most = Math.max(LEAST, maxKeys)
  }

  /** A whole export begins. */
  track(): void {
    this.#byTable.clear()
    this.#count = 0
    this.isTracked = true
  }

  evict(rows: Rows, segment: Segment, row: number): void {
    if (this.isTracked) this.#of(rows)?.evicted.add(segment, row, rows.columns.width)
  }

  free(rows: Rows, segment: Segment, row: number): void {
    if (this.isTracked) this.#of(rows)?.freed.add(segment, row, 0)
  }

  /** Those of a table; none from now on. */
  take(rows: Rows): Departed | undefined {
    const departed = this.#byTable.get(rows)
    this.#byTable.delete(rows)
    if (departed !== undefined) this.#count -= departed.evicted.count + departed.freed.count
    return departed
  }

  #of(rows: Rows): Departed | undefined {
    if (this.#count++ >= this.#most) {
      this.#byTable.clear()
      this.isTracked = false
      return undefined
    }
    let departed = this.#byTable.get(rows)
    if (departed === undefined) {
      departed = { evicted: new RowBuffer(), freed: new RowBuffer() }
      this.#byTable.set(rows, departed)
    }
    return departed
  }
}
