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
 * - A row that moves meanwhile is in one export or the next, and never in neither: layouts are visited
 *   oldest first and rows move to the newest; a layout that appears meanwhile is visited at the end;
 *   the sketch comes after the rows.
 * - Of rows that are gone nothing is said: a row that was written since the last export is not freed or
 *   evicted while another is there, so what older exports say of one that is gone was true to its end. If
 *   such a row must go all the same, changes cannot be exported any more (`isTracked`). So changes need no
 *   sketch: a row that was evicted is in an older export, and in a restored store exactly as it was, or folded
 *   into that store's own sketch.
 */
import { crc32 } from 'node:zlib'
import type { SideTable } from '../side/side-table.js'
import type { Shared } from '../table/rows.js'
import type { Table } from '../table/table.js'
import { encode, encodeStart, type SumEntry, VERSION } from './piece.js'
import { RowsPiece } from './rows-piece.js'

const SUMS_IN_A_PIECE = 500
/** Nothing to write yet: a place to stop and let others decide. */
const PAUSE = new Uint8Array()

export interface Exported {
  readonly seed: Int32Array
  readonly tables: ReadonlyMap<string, Table>
  readonly shared: Shared
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

function* contents({ tables, shared, isWhole }: Exported): IterableIterator<Uint8Array> {
  const holdsChanged = shared.holdsChanged
  shared.holdsChanged = false
  if (isWhole) begin(tables, shared)
  if (isWhole || shared.familiesChanged) {
    shared.familiesChanged = false
    yield encode({ kind: 'families', keys: [...tables.keys()] })
  }
  const visited = new Set<Table>()
  for (let made = -1; made !== shared.madeTables; ) {
    made = shared.madeTables
    for (const [key, newest] of tables) {
      for (const table of generations(newest)) {
        if (visited.has(table)) continue
        visited.add(table)
        if (isWhole) table.refunds.track()
        if (table.isHeadChanged || isWhole) yield head(key, table, table === newest)
        yield* refunds(table)
        yield* rows(table, shared.side, isWhole, holdsChanged)
        if (isWhole) yield* sketch(table)
        yield PAUSE
      }
    }
  }
}

/** A whole state says what is there when it comes to it, so it does not matter what is gone until then. */
function begin(tables: ReadonlyMap<string, Table>, shared: Shared): void {
  shared.isTracked = true
  for (const newest of tables.values()) {
    for (const table of generations(newest)) {
      table.writtenFrom = Number.POSITIVE_INFINITY
      table.exportingFrom = Number.POSITIVE_INFINITY
    }
  }
}

/** Earlier layouts first: a key's row is in the newest that has it. */
function generations(table: Table): Table[] {
  return table.previous === null ? [table] : [...generations(table.previous), table]
}

function head(key: string, table: Table, isNewest: boolean): Uint8Array {
  const { id, columns, previous, previousEnds, mostTokens } = table
  table.isHeadChanged = false
  return encode({
    kind: 'table',
    table: id,
    key,
    isNewest,
    previous: previous?.id ?? null,
    previousEnds,
    columns: columns.all.map(({ id, kind, window, amount }) => ({ id, kind, window, amount })),
    isNarrow: columns.isNarrow,
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
  table: Table,
  side: SideTable,
  isWhole: boolean,
  holdsChanged: boolean,
): IterableIterator<Uint8Array> {
  const { columns } = table
  const from = isWhole ? Number.NEGATIVE_INFINITY : table.writtenFrom
  table.writtenFrom = Number.POSITIVE_INFINITY
  if (!isWhole) table.exportingFrom = from
  const asksBooks = holdsChanged && columns.hasHolds
  if (from === Number.POSITIVE_INFINITY && !asksBooks) return
  // An empty row says something only where there is something else that it hides.
  const skipsEmpty = isWhole && table.rows.sketch === null && table.previous === null
  const piece = new RowsPiece(table, side)
  // One segment may become many while others decide, but then it was looked at already.
  for (let i = 0, count = table.rows.segments.length; i < count; i++) {
    const segment = table.rows.segments[i]
    if (segment === undefined) break
    const { numbers } = segment
    segment.forEach((row) => {
      if (numbers[row + 1 + columns.lastAt]! >= from || (asksBooks && piece.isHeld(segment, row))) {
        if (skipsEmpty && columns.emptyAt(numbers, row + 1, side) === 0) return
        piece.add(segment, row)
      }
    })
    yield piece.isLarge ? piece.take() : PAUSE
  }
  table.exportingFrom = Number.POSITIVE_INFINITY
  if (piece.isAny) yield piece.take()
}

function* sketch({ id, rows }: Table): IterableIterator<Uint8Array> {
  if (rows.sketch === null) return
  const { cells } = rows.sketch
  for (const { numbers, ...which } of rows.sketch.everyCell())
    yield encode({ kind: 'sketch', table: id, cells, ...which }, numbers)
}
