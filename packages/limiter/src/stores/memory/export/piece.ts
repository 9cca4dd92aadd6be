/**
 * The bytes of an exported state. A piece is a line of JSON, its head, and as many doubles as the head says.
 * Heads name tables by number, so that rows need not come beside their table. The last piece of an export
 * has a checksum of it. Nothing else is needed around the pieces, however they are cut on their way.
 *
 * The first piece of an export names the version, and is the only one that has its length and a checksum
 * before it: so was every piece of version 2, so each version can say that it cannot read the other.
 */
import { crc32 } from 'node:zlib'
import { SluiceError } from '../../../errors.js'
import type { TableColumn } from '../table/layout.js'

export const VERSION = 3
/** The version before, which is read too. Its pieces have a length and a checksum each. */
export const VERSION_BEFORE = 2
const LENGTHS = 8
/** A longer piece is none of ours: a damaged length is not waited for. */
const MOST_BYTES = 2 ** 30
const NEWLINE = 10

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
      readonly columns: readonly TableColumn[]
      readonly isNarrow: boolean
      readonly nextSerial: number
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
  /** Cells of one of the two lanes of a sketch of so many. */
  | {
      readonly kind: 'sketch'
      readonly table: number
      readonly cells: number
      readonly lane: number
      readonly from: number
    }
  | Version2Head
  /** `checksum`: of every byte after the start. */
  | { readonly kind: 'end'; readonly pieces: number; readonly checksum: number }

/** What only version 2 has. */
type Version2Head =
  /** Fingerprints of keys that have no row any more. */
  | { readonly kind: 'gone'; readonly table: number }
  /** Rows that were evicted, to be folded into the sketch. */
  | { readonly kind: 'folds'; readonly table: number; readonly cells: number }

/** There a table had one layout; another took over from it, and its rows moved when they were written. */
export interface Version2Table extends Omit<HeadOf<'table'>, 'nextSerial' | 'columns'> {
  readonly isNewest: boolean
  readonly previous: number | null
  readonly columns: readonly Omit<TableColumn, 'serial' | 'since'>[]
}

export type HeadOf<Kind extends Head['kind']> = Extract<Head, { kind: Kind }>

export interface Piece {
  readonly head: Head
  readonly numbers: Float64Array
}

export function encode(head: Head, numbers?: Float64Array): Uint8Array {
  const count = numbers?.length ?? 0
  const text = Buffer.from(`${JSON.stringify(count > 0 ? { ...head, numbers: count } : head)}\n`)
  if (numbers === undefined) return text
  return Buffer.concat([text, new Uint8Array(numbers.buffer, numbers.byteOffset, 8 * count)])
}

export function encodeStart(head: HeadOf<'start'>): Uint8Array {
  const text = encode(head)
  const lengths = Buffer.alloc(LENGTHS)
  lengths.writeUInt32BE(text.length, 0)
  lengths.writeUInt32BE(crc32(text), 4)
  return Buffer.concat([lengths, text])
}

/** The pieces of exports that follow each other, however their bytes were cut. */
export function* readPieces(cuts: Iterable<Uint8Array>): IterableIterator<Piece> {
  const bytes = new Incoming(cuts)
  while (!bytes.isAtEnd()) {
    let piece = framedPiece(bytes)
    const isFramed = piece.head.kind === 'start' && piece.head.version === VERSION_BEFORE
    bytes.checksum = 0
    yield piece
    while (piece.head.kind !== 'end') {
      piece = isFramed ? framedPiece(bytes) : plainPiece(bytes)
      yield piece
    }
  }
}

function framedPiece(bytes: Incoming): Piece {
  const lengths = bytes.take(LENGTHS)
  const content = bytes.take(lengths.readUInt32BE(0))
  if (crc32(content) !== lengths.readUInt32BE(4)) throw damaged('a checksum is wrong')
  const newline = content.indexOf(NEWLINE)
  if (newline < 0) throw damaged('a piece has no head')
  return {
    head: headOf(content.subarray(0, newline)),
    numbers: numbersOf(content.subarray(newline + 1)),
  }
}

function plainPiece(bytes: Incoming): Piece {
  const before = bytes.checksum
  const head = headOf(bytes.takeLine()) as Head & { readonly numbers?: number }
  if (head.kind === 'end' && head.checksum !== before) throw damaged('the checksum is wrong')
  return { head, numbers: numbersOf(bytes.take(8 * (head.numbers ?? 0))) }
}

function headOf(line: Buffer): Head {
  return JSON.parse(line.toString()) as Head
}

/** A copy, because doubles must be aligned. */
function numbersOf(content: Uint8Array): Float64Array {
  if (content.length % 8 !== 0) throw damaged('numbers are cut')
  return new Float64Array(Uint8Array.from(content).buffer)
}

/** Bytes that come in cuts, and a checksum of those that were taken. */
class Incoming {
  checksum = 0
  readonly #cuts: Iterator<Uint8Array>
  #rest: Buffer = Buffer.alloc(0)

  constructor(cuts: Iterable<Uint8Array>) {
    this.#cuts = cuts[Symbol.iterator]()
  }

  isAtEnd(): boolean {
    return this.#rest.length === 0 && !this.#await(1)
  }

  take(length: number): Buffer {
    if (!(length >= 0 && length <= MOST_BYTES)) throw damaged(`a piece of ${length} bytes`)
    if (!this.#await(length)) throw damaged('it ends in the middle of a piece')
    const taken = this.#rest.subarray(0, length)
    this.#rest = this.#rest.subarray(length)
    this.checksum = crc32(taken, this.checksum)
    return taken
  }

  takeLine(): Buffer {
    let newline = this.#rest.indexOf(NEWLINE)
    while (newline < 0) {
      const searched = this.#rest.length
      if (!this.#await(searched + 1)) throw damaged('it ends in the middle of a piece')
      newline = this.#rest.indexOf(NEWLINE, searched)
    }
    return this.take(newline + 1)
  }

  /** Whether that many bytes are there, or come. */
  #await(length: number): boolean {
    const cuts: Uint8Array[] = [this.#rest]
    let there = this.#rest.length
    while (there < length) {
      const { done, value } = this.#cuts.next()
      if (done === true) break
      cuts.push(value)
      there += value.length
    }
    if (cuts.length > 1) this.#rest = Buffer.concat(cuts)
    return there >= length
  }
}

export function damaged(why: string): SluiceError {
  return new SluiceError('invalid_snapshot', `the exported state cannot be read: ${why}`)
}
