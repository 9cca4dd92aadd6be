/** What the tables of a store have in common: logs and holds, the bound on keys, and what exports must know. */
import { SideTable } from '../side/side-table.js'

export interface Shared {
  readonly side: SideTable
  readonly maxKeys: number
  /** Rows of all tables, free ones included. */
  rows: number
  tables: number
  evicted: number
  /**
   * A whole state was exported, and no row that was written since was freed or evicted: what changed can be
   * exported after it.
   */
  isTracked: boolean
  /** How many exports had any content. */
  exports: number
  /** The last export was read to its end. */
  isExportFinished: boolean
  /** How often all tables were compacted since the last export. */
  roundsSinceExport: number
  /** Tables made so far: their numbers. */
  madeTables: number
  /** A hold was renewed or released since the last export. */
  holdsChanged: boolean
  /** A family was forgotten since the last export. */
  familiesChanged: boolean
}

export function newShared(maxKeys: number): Shared {
  return {
    side: new SideTable(),
    maxKeys,
    rows: 0,
    tables: 0,
    evicted: 0,
    isTracked: false,
    exports: 0,
    isExportFinished: false,
    roundsSinceExport: 0,
    madeTables: 0,
    holdsChanged: false,
    familiesChanged: false,
  }
}
