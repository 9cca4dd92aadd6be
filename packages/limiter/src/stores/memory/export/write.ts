/**
 * A store's state as pieces, or what was written since the last export. Between two pieces others may
 * decide and change anything: whoever writes the pieces waits as he likes. What holds all the same:
 *
 * - A row is taken at one moment, so it is consistent in itself.
 * - What is written to a table after its rows were begun is in the next export. Every write to a row
 *   leaves its last write ≥ the write's own time, and the table's `writtenFrom` ≤ it; `writtenFrom` is
 *   read and set back before the first row is looked at. So whatever clocks do, a row that was written
 *   since has a last write ≥ `writtenFrom`; some that were not may have so too, which is harmless.
 *   Holds that are renewed or released write no row: their book says so itself.
 * - A whole state has every row: also one that says nothing has its last write, by which refunds go while a
 *   clock has stepped back behind it.
 * - Rows are in the layout of the last head of their table before them; a reader that meets another head brings
 *   the rows that it has to that layout, as this store does. The sketch comes after the rows, so that a row that
 *   is evicted meanwhile is in one of them.
 * - Of rows that are gone nothing is said: a row that was written since the last export is not freed or
 *   evicted while another is there, so what older exports say of one that is gone was true to its end. If
 *   such a row must go all the same, changes cannot be exported any more (`isTracked`). So changes need no
 *   sketch: a row that was evicted is in an older export, and in a restored store exactly as it was, or folded
 *   into that store's own sketch.
 */
import { crc32 } from 'node:zlib'
import type { SideTable } from '../side/side-table.js'
import type { Shared } from '../table/shared.js'
import type { Table } from '../table/table.js'
import type { TablesParts } from '../table/tables.js'
import { encode, encodeStart, type SumEntry, VERSION } from './piece.js'
import { RowsPiece } from './rows-piece.js'

const SUMS_IN_A_PIECE = 500
/** Nothing to write yet: a place to stop and let others decide. */
const PAUSE = new Uint8Array()

export interface Exported extends TablesParts {
  /** Counts the exports; the one before must have been read to its end for changes to make sense. */
  readonly number: number
  readonly isWhole: boolean
}

/** No piece at all where nothing has changed. Some pieces may be empty. */
export function* exportTables(state: Exported): IterableIterator<Uint8Array> {
  const { seed, number, isWhole } = state
  const follows = isWhole ? null : number - 1
  let pieces = 0
  let checksum = 0
  for (const piece of contents(state)) {
    if (piece.length > 0 && pieces++ === 0)
      yield encodeStart({ kind: 'start', version: VERSION, seed: [...seed], number, follows })
    checksum = crc32(piece, checksum)
    yield piece
  }
  if (pieces > 0) yield encode({ kind: 'end', pieces: pieces + 2, checksum })
}

function* contents({ byFamily, shared, isWhole }: Exported): IterableIterator<Uint8Array> {
  const holdsChanged = shared.holdsChanged
  shared.holdsChanged = false
  if (isWhole) begin(byFamily, shared)
  if (isWhole || shared.familiesChanged) {
    shared.familiesChanged = false
    yield encode({ kind: 'families', keys: [...byFamily.keys()] })
  }
  // Tables that come meanwhile are visited too, at the end.
  for (const [key, table] of byFamily) {
    if (isWhole) table.refunds.track()
    if (table.isHeadChanged || isWhole) yield head(key, table)
    yield* refunds(table)
    yield* rows(key, table, { side: shared.side, isWhole, holdsChanged })
    if (isWhole) yield* sketch(key, table)
    yield PAUSE
  }
}

/** A whole state says what is there when it comes to it, so it does not matter what is gone until then. */
function begin(tables: ReadonlyMap<string, Table>, shared: Shared): void {
  shared.isTracked = true
  for (const table of tables.values()) {
    table.writtenFrom = Number.POSITIVE_INFINITY
    table.exportingFrom = Number.POSITIVE_INFINITY
  }
}

function head(key: string, table: Table): Uint8Array {
  const { id, layout, mostTokens } = table
  const { isNarrow, nextSerial } = layout
  table.isHeadChanged = false
  table.exportedLayout = layout.signature
  return encode({
    kind: 'table',
    table: id,
    key,
    columns: layout.columns.map(({ id, serial, kind, window, amount, since }) => {
      return { id, serial, kind, window, amount, since }
    }),
    isNarrow,
    nextSerial,
    mostTokens,
  })
}

function* refunds(table: Table): IterableIterator<Uint8Array> {
  const changes = table.refunds.takeChanges()
  if (changes === null) return
  const { voidBefore } = table.refunds
  let isFirst = changes.areAll
  let sums: SumEntry[] = []
  for (const entry of changes.entries) {
    sums.push(entry)
    if (sums.length < SUMS_IN_A_PIECE) continue
    yield encode({ kind: 'refunds', table: table.id, isFirst, voidBefore, sums })
    sums = []
    isFirst = false
  }
  yield encode({ kind: 'refunds', table: table.id, isFirst, voidBefore, sums })
}

function* rows(
  key: string,
  table: Table,
  { side, isWhole, holdsChanged }: { side: SideTable; isWhole: boolean; holdsChanged: boolean },
): IterableIterator<Uint8Array> {
  const from = isWhole ? Number.NEGATIVE_INFINITY : table.writtenFrom
  table.writtenFrom = Number.POSITIVE_INFINITY
  if (!isWhole) table.exportingFrom = from
  const asksBooks = holdsChanged && table.layout.hasHolds
  if (from === Number.POSITIVE_INFINITY && !asksBooks) return
  let piece = new RowsPiece(table, side)
  // One segment may become many while others decide, but then it was looked at already.
  for (let i = 0, count = table.rows.segments; i < count; i++) {
    // The layout may change while others decide: rows are read in the one whose head was read before them.
    while (table.layout.signature !== table.exportedLayout) {
      if (piece.isAny) yield piece.take()
      yield head(key, table)
      piece = new RowsPiece(table, side)
    }
    const segment = table.rows.segmentAt(i)
    if (segment === undefined) break
    const { numbers, isUnexported } = segment
    const { layout } = table
    segment.isUnexported = false
    segment.forEach((row) => {
      const isWritten = isUnexported || numbers[row + 1 + layout.lastAt]! >= from
      if (isWritten || (asksBooks && piece.isHeld(segment, row))) piece.add(segment, row)
    })
    yield piece.isLarge ? piece.take() : PAUSE
  }
  table.exportingFrom = Number.POSITIVE_INFINITY
  if (piece.isAny) yield piece.take()
}

function* sketch(key: string, table: Table): IterableIterator<Uint8Array> {
  const { sketch } = table.rows
  if (sketch === null) return
  const every = sketch.everyCell()
  for (;;) {
    while (table.layout.signature !== table.exportedLayout) yield head(key, table)
    const { done, value } = every.next()
    if (done === true) return
    const { numbers, ...which } = value
    yield encode({ kind: 'sketch', table: table.id, cells: sketch.cells, ...which }, numbers)
  }
}
