/**
 * The bytes of an exported state. Each piece is its length, a checksum, and its content: a JSON head, a
 * newline, and doubles. Heads name tables by number, so that rows need not come beside their table.
 */
import { crc32 } from 'node:zlib'
import { SluiceError } from '../../../errors.js'
import type { TableColumn } from '../table/layout.js'

export const VERSION = 2
const LENGTHS = 8
/** A longer piece is none of ours: a damaged length is not waited for. */
const MOST_BYTES = 2 ** 30

/** A refund sum: its key, tokens and end; tokens 0 where it is gone. */
export type SumEntry = readonly [string, number, number]
/** What a row keeps beside, by place: row, column, and the holds, or how many entries of a log. */
type Held = readonly [number, number, readonly (readonly [string, number, number])[]]
type Logged = readonly [number, number, number]

export type Head =
  /** `follows`: the export that these are the changes since; null where it is the whole state. */
  | {
      readonly kind: 'start'
      readonly version: number
      readonly seed: readonly number[]
      readonly number: number
      readonly follows: number | null
    }
  /** All families there are: others are gone. */
  | { readonly kind: 'families'; readonly keys: readonly string[] }
  | {
      readonly kind: 'table'
      readonly table: number
      readonly key: string
      readonly isNewest: boolean
      readonly previous: number | null
      readonly previousEnds: number
      readonly columns: readonly TableColumn[]
      readonly isNarrow: boolean
      readonly mostTokens: readonly number[]
    }
  /** `isFirst`: these and those that follow are all sums of the table. */
  | {
      readonly kind: 'refunds'
      readonly table: number
      readonly isFirst: boolean
      readonly voidBefore: number
      readonly sums: readonly SumEntry[]
    }
  /** Rows as they lie in a segment, without handles; then the entries of the logs. */
  | {
      readonly kind: 'rows'
      readonly table: number
      readonly holds: readonly Held[]
      readonly logs: readonly Logged[]
    }
  /** Cells of one of the two arrays of a sketch of so many. */
  | {
      readonly kind: 'sketch'
      readonly table: number
      readonly cells: number
      readonly lane: number
      readonly from: number
    }
  /** Fingerprints of keys that have no row any more. */
  | { readonly kind: 'gone'; readonly table: number }
  /** Rows that were evicted, to be folded into the sketch. */
  | { readonly kind: 'folds'; readonly table: number; readonly cells: number }
  | { readonly kind: 'end'; readonly pieces: number }

export type HeadOf<Kind extends Head['kind']> = Extract<Head, { kind: Kind }>

export function encode(head: Head, numbers?: Float64Array): Uint8Array {
  const text = Buffer.from(`${JSON.stringify(head)}\n`)
  const piece = new Uint8Array(LENGTHS + text.length + (numbers?.byteLength ?? 0))
  piece.set(text, LENGTHS)
  if (numbers !== undefined) {
    const bytes = new Uint8Array(numbers.buffer, numbers.byteOffset, numbers.byteLength)
    piece.set(bytes, LENGTHS + text.length)
  }
  const view = new DataView(piece.buffer)
  view.setUint32(0, piece.length - LENGTHS)
  view.setUint32(4, crc32(piece.subarray(LENGTHS)))
  return piece
}

export function decode(content: Uint8Array): { head: Head; numbers: Float64Array } {
  const newline = content.indexOf(10)
  if (newline < 0) throw damaged('a piece has no head')
  const head = JSON.parse(Buffer.from(content.subarray(0, newline)).toString()) as Head
  // A copy, because doubles must be aligned.
  const bytes = new Uint8Array(content.length - newline - 1)
  bytes.set(content.subarray(newline + 1))
  if (bytes.length % 8 !== 0) throw damaged('numbers are cut')
  return { head, numbers: new Float64Array(bytes.buffer) }
}

/** The pieces' contents, however the bytes were cut on their way. */
export function* split(pieces: Iterable<Uint8Array>): IterableIterator<Uint8Array> {
  let rest: Uint8Array = new Uint8Array()
  for (const bytes of pieces) {
    rest = rest.length === 0 ? bytes : Buffer.concat([rest, bytes])
    for (;;) {
      if (rest.length < LENGTHS) break
      const view = new DataView(rest.buffer, rest.byteOffset)
      const length = view.getUint32(0)
      if (length > MOST_BYTES) throw damaged(`a piece of ${length} bytes`)
      if (rest.length < LENGTHS + length) break
      const content = rest.subarray(LENGTHS, LENGTHS + length)
      if (crc32(content) !== view.getUint32(4)) throw damaged('a checksum is wrong')
      yield content
      rest = rest.subarray(LENGTHS + length)
    }
  }
  if (rest.length > 0) throw damaged('it ends in the middle of a piece')
}

export function damaged(why: string): SluiceError {
  return new SluiceError('invalid_snapshot', `the exported state cannot be read: ${why}`)
}
