/**
 * A file of counters: groups of frames, the first group a whole state, each of the others what changed
 * since the one before. A frame is its length, its kind, a checksum, and its content; the checksum goes
 * on from the frame before, so that what follows something damaged, missing or moved is not believed
 * either. A group counts once its last frame is there: whatever comes after is a torn tail.
 */
import { readSync } from 'node:fs'
import type { FileHandle } from 'node:fs/promises'
import { crc32 } from 'node:zlib'

const TITLE = Buffer.from('sluice counters 1\n')
const HEAD_BYTES = 9
const PIECES = 0
const END = 1

/** What a group says of itself in its last frame. */
export interface GroupEnd {
  readonly takenAtMs: number
}

export class CounterLog {
  bytes = 0
  readonly #file: FileHandle
  #checksum = crc32(TITLE)

  constructor(file: FileHandle) {
    this.#file = file
  }

  async begin(): Promise<void> {
    await this.#write(TITLE)
  }

  async put(pieces: readonly Uint8Array[]): Promise<void> {
    await this.#write(this.#frame(PIECES, pieces))
  }

  /** Ends a group, which is on the disk when this resolves. */
  async end(end: GroupEnd): Promise<void> {
    await this.#write(this.#frame(END, [Buffer.from(JSON.stringify(end))]))
    await this.#file.datasync()
  }

  async close(): Promise<void> {
    await this.#file.close()
  }

  #frame(kind: number, contents: readonly Uint8Array[]): Buffer {
    const frame = Buffer.concat([new Uint8Array(HEAD_BYTES), ...contents])
    frame.writeUInt32BE(frame.length - HEAD_BYTES, 0)
    frame[4] = kind
    this.#checksum = checksumOf(frame, frame.subarray(HEAD_BYTES), this.#checksum)
    frame.writeUInt32BE(this.#checksum, 5)
    return frame
  }

  async #write(bytes: Buffer): Promise<void> {
    await this.#file.writeFile(bytes)
    this.bytes += bytes.length
  }
}

function checksumOf(head: Uint8Array, content: Uint8Array, before: number): number {
  return crc32(content, crc32(head.subarray(0, 5), before))
}

export interface WholeGroups extends GroupEnd {
  /** Where the last whole group ends. */
  readonly end: number
}

/** What of a file can be believed; null if not even its first group. */
export function findWholeGroups(file: number, size: number): WholeGroups | null {
  let found: WholeGroups | null = null
  for (const { kind, content, end } of frames(file, size)) {
    if (kind !== END) continue
    const { takenAtMs } = JSON.parse(content.toString()) as GroupEnd
    found = { takenAtMs, end }
  }
  return found
}

/** The pieces of the groups before `end`. */
export function* readPieces(file: number, end: number): IterableIterator<Uint8Array> {
  for (const { kind, content } of frames(file, end)) if (kind === PIECES) yield content
}

/** The frames that can be believed, one at a time, so that a file is never in memory whole. */
function* frames(
  file: number,
  size: number,
): IterableIterator<{ kind: number; content: Buffer; end: number }> {
  const title = readAt(file, 0, TITLE.length)
  if (!title.equals(TITLE)) return
  let checksum = crc32(TITLE)
  let at = TITLE.length
  while (at + HEAD_BYTES <= size) {
    const head = readAt(file, at, HEAD_BYTES)
    if (head.length < HEAD_BYTES) return
    const length = head.readUInt32BE(0)
    const kind = head[4]!
    const end = at + HEAD_BYTES + length
    if (kind > END || end > size) return
    const content = readAt(file, at + HEAD_BYTES, length)
    if (content.length < length) return
    checksum = checksumOf(head, content, checksum)
    if (checksum !== head.readUInt32BE(5)) return
    yield { kind, content, end }
    at = end
  }
}

function readAt(file: number, at: number, length: number): Buffer {
  const bytes = Buffer.allocUnsafe(length)
  let read = 0
  while (read < length) {
    const got = readSync(file, bytes, read, length - read, at + read)
    if (got === 0) break
    read += got
  }
  return bytes.subarray(0, read)
}
