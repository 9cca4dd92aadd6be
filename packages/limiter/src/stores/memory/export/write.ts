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
 *   the sketch, or what was evicted into it, comes after the rows.
 * - A row that is gone is said to be gone, because it may have been reset before it went.
 */
import { crc32 } from 'node:zlib'
import type { SideTable } from '../side/side-table.js'
import type { Shared } from '../table/rows.js'
import type { Table } from '../table/table.js'
import type { DepartedRows } from './departed-rows.js'
import { encode, encodeStart, type SumEntry, VERSION } from './piece.js'
import { PIECE_BYTES, RowsPiece } from './rows-piece.js'

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
  if (isWhole) shared.departed.track()
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
        else yield* departed(table, shared.departed)
        yield PAUSE
      }
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
  if (piece.isAny) yield piece.take()
}

function* sketch({ id, rows, columns }: Table): IterableIterator<Uint8Array> {
  if (rows.sketch === null) return
  const { cells } = rows.sketch
  const step = Math.ceil(PIECE_BYTES / 8 / columns.width)
  for (const lane of [0, 1]) {
    for (let from = 0; from < cells; from += step) {
      const numbers = rows.sketch.cellsFrom(lane, from, step)
      const isBlank = numbers.every((number) => number === 0)
      yield isBlank ? PAUSE : encode({ kind: 'sketch', table: id, cells, lane, from }, numbers)
    }
  }
}

/** A key that came back since has its row again, which is in this export or the next. */
function* departed(table: Table, all: DepartedRows): IterableIterator<Uint8Array> {
  const { id, rows, columns } = table
  const departed = all.take(rows)
  if (departed === undefined) return
  const { evicted, freed } = departed
  for (const numbers of parts(evicted.numbers, 1 + columns.width)) {
    const { cells } = rows.sketch!
    yield encode({ kind: 'folds', table: id, cells }, numbers)
    yield encode({ kind: 'gone', table: id }, gone(table, numbers, 1 + columns.width))
  }
  for (const numbers of parts(freed.numbers, 1))
    yield encode({ kind: 'gone', table: id }, gone(table, numbers, 1))
}

function* parts(numbers: Float64Array, stride: number): IterableIterator<Float64Array> {
  const step = stride * Math.ceil(PIECE_BYTES / 8 / stride)
  for (let from = 0; from < numbers.length; from += step) yield numbers.subarray(from, from + step)
}

/** The fingerprints of these rows, but for keys that have one. */
function gone(table: Table, numbers: Float64Array, stride: number): Float64Array {
  const integers = new Int32Array(numbers.buffer, numbers.byteOffset, 2 * numbers.length)
  const lanes: number[] = []
  for (let at = 0; at < integers.length; at += 2 * stride) {
    const [a, b] = [integers[at]!, integers[at + 1]!]
    if (!table.has(a, b)) lanes.push(a, b)
  }
  return new Float64Array(Int32Array.from(lanes).buffer)
}
