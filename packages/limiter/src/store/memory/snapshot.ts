/**
 * A memory store's state as pieces of bytes. Each piece is its length, a checksum, and its content: a
 * JSON head, a newline, and the doubles of rows. The first piece has the seed, the last says that it is
 * the last, so that a torn or damaged file is told from a whole one.
 */
import type { Beside } from '../../algorithms/algorithm.js'
import { SluiceError } from '../../errors.js'
import type { Besides } from './besides.js'
import { Columns, type TableColumn } from './columns.js'
import { HoldBook } from './hold-book.js'
import { LogRing } from './log-ring.js'
import type { Shared } from './rows.js'
import { Table } from './table.js'

const VERSION = 1

type Head =
  | { readonly kind: 'start'; readonly version: number; readonly seed: readonly number[] }
  | {
      readonly kind: 'table'
      readonly key: string
      readonly columns: readonly TableColumn[]
      readonly refunds: readonly [string, number, number][]
      readonly isNarrow: boolean
      readonly mostTokens: readonly number[]
    }
  /** Rows of the table before; what they keep beside, by place: row, column, entries. */
  | { readonly kind: 'rows'; readonly beside: readonly [number, number, readonly unknown[]][] }
  | { readonly kind: 'end'; readonly pieces: number }

export function* exportTables(
  seed: Int32Array,
  tables: ReadonlyMap<string, Table>,
  besides: Besides,
): IterableIterator<Uint8Array> {
  let pieces = 1
  yield encode({ kind: 'start', version: VERSION, seed: [...seed] })
  for (const [key, table] of tables) {
    for (const generation of generations(table)) {
      const { columns, refunds, mostTokens } = generation
      pieces++
      yield encode({
        kind: 'table',
        key,
        columns: columns.all.map(({ id, kind, window, amount }) => ({ id, kind, window, amount })),
        isNarrow: columns.isNarrow,
        refunds: refunds.entries(),
        mostTokens,
      })
      for (const segment of generation.rows.segments) {
        const rows: number[] = []
        const beside: [number, number, unknown[]][] = []
        let count = 0
        segment.forEach((row) => {
          if (columns.emptyAt(segment.numbers, row + 1, besides) === 0) return
          for (const [i, { kind, handleAt }] of columns.all.entries()) {
            if (handleAt >= 0)
              beside.push([
                count,
                i,
                entriesOf(besides.get(kind, segment.numbers[row + 1 + handleAt]!)),
              ])
          }
          rows.push(segment.fingerprintA(row), segment.fingerprintB(row))
          for (let i = 0; i < columns.width; i++) rows.push(segment.numbers[row + 1 + i]!)
          count++
        })
        if (count === 0) continue
        pieces++
        yield encode({ kind: 'rows', beside }, new Float64Array(rows))
      }
    }
  }
  yield encode({ kind: 'end', pieces: pieces + 1 })
}

/** Earlier layouts first: a key's row is in the newest that has it. */
function generations(table: Table): Table[] {
  return table.previous === null ? [table] : [...generations(table.previous), table]
}

function entriesOf(beside: Beside): unknown[] {
  if (beside instanceof HoldBook) return beside.entries()
  if (!(beside instanceof LogRing)) return []
  return Array.from({ length: beside.count() }, (_, i) => [beside.stamp(i), beside.cost(i)])
}

export function importTables(
  pieces: Iterable<Uint8Array>,
  shared: Shared,
): { seed: Int32Array; tables: Map<string, Table> } {
  const tables = new Map<string, Table>()
  let seed: Int32Array | undefined
  let table: Table | undefined
  let count = 0
  let ended = false
  for (const bytes of split(pieces)) {
    const { head, numbers } = decode(bytes)
    count++
    if (head.kind === 'start') {
      if (head.version !== VERSION)
        throw damaged(`it is of version ${head.version}, not ${VERSION}`)
      seed = new Int32Array(head.seed)
    } else if (head.kind === 'table') {
      const previous = tables.get(head.key)
      table = new Table(new Columns(head.columns, head.isNarrow), shared)
      for (const [i, tokens] of head.mostTokens.entries()) table.mostTokens[i] = tokens
      table.refunds.restore(head.refunds)
      if (previous !== undefined) {
        table.previous = previous
        table.previousEnds = Number.POSITIVE_INFINITY
      }
      tables.set(head.key, table)
    } else if (head.kind === 'rows') {
      if (table === undefined) throw damaged('rows come before their table')
      loadRows(table, head.beside, numbers, shared)
    } else {
      if (head.pieces !== count) throw damaged(`${count} of ${head.pieces} pieces are there`)
      ended = true
    }
  }
  if (seed === undefined || !ended) throw damaged('it ends early')
  return { seed, tables }
}

function loadRows(
  table: Table,
  beside: readonly [number, number, readonly unknown[]][],
  numbers: Float64Array,
  shared: Shared,
): void {
  const { columns } = table
  const width = 2 + columns.width
  const handles = new Map<string, number>()
  for (const [row, column, entries] of beside) {
    const kept = columns.all[column]!
    const handle = shared.besides.add(kept.kind, undefined)
    const made = shared.besides.get(kept.kind, handle)
    for (const entry of entries as [never, number, number][]) {
      if (made instanceof HoldBook) made.add(...entry)
      else if (made instanceof LogRing) made.push(entry[0], entry[1])
    }
    handles.set(`${row},${kept.handleAt}`, handle)
  }
  for (let i = 0; i * width < numbers.length; i++) {
    const row = new Float64Array(columns.rowWidth)
    row.set(numbers.subarray(i * width + 2, (i + 1) * width))
    for (const { handleAt } of columns.all) {
      if (handleAt >= 0) row[handleAt] = handles.get(`${i},${handleAt}`) ?? 0
    }
    table.rows.insert(numbers[i * width]!, numbers[i * width + 1]!, row, 0)
  }
}

function encode(head: Head, numbers: Float64Array = new Float64Array()): Uint8Array {
  const text = new TextEncoder().encode(`${JSON.stringify(head)}\n`)
  const doubles = new Uint8Array(numbers.buffer)
  const piece = new Uint8Array(8 + text.length + doubles.length)
  piece.set(text, 8)
  piece.set(doubles, 8 + text.length)
  const view = new DataView(piece.buffer)
  view.setUint32(0, piece.length - 8)
  view.setUint32(4, checksum(piece.subarray(8)))
  return piece
}

function decode(content: Uint8Array): { head: Head; numbers: Float64Array } {
  const newline = content.indexOf(10)
  if (newline < 0) throw damaged('a piece has no head')
  const head = JSON.parse(new TextDecoder().decode(content.subarray(0, newline))) as Head
  return { head, numbers: new Float64Array(content.slice(newline + 1).buffer) }
}

/** The pieces' contents, however the bytes were cut on their way. */
function* split(pieces: Iterable<Uint8Array>): IterableIterator<Uint8Array> {
  let rest = new Uint8Array()
  for (const bytes of pieces) {
    const joined = new Uint8Array(rest.length + bytes.length)
    joined.set(rest)
    joined.set(bytes, rest.length)
    rest = joined
    for (;;) {
      if (rest.length < 8) break
      const view = new DataView(rest.buffer, rest.byteOffset)
      const length = view.getUint32(0)
      if (rest.length < 8 + length) break
      const content = rest.subarray(8, 8 + length)
      if (checksum(content) !== view.getUint32(4)) throw damaged('a checksum is wrong')
      yield content
      rest = rest.subarray(8 + length)
    }
  }
  if (rest.length > 0) throw damaged('it ends in the middle of a piece')
}

function checksum(bytes: Uint8Array): number {
  let hash = 0x811c9dc5
  for (let i = 0; i < bytes.length; i++) hash = Math.imul(hash ^ bytes[i]!, 0x01000193)
  return hash >>> 0
}

function damaged(why: string): SluiceError {
  return new SluiceError('invalid_snapshot', `the exported state cannot be read: ${why}`)
}
