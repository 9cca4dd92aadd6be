/**
 * The content of `rules.ndjson`. Version 2: the head, one item per line, and a last line with the number
 * of items and the SHA-256 of all bytes before it, so that any change of the file is noticed. Version 1
 * has no checksum.
 */
import { createHash } from 'node:crypto'
import type { Edit, Head, Snapshot } from './change.js'

const VERSION = 2
const NEWLINE = 0x0a

/** The content is not what was written. The message says what is wrong with it. */
export class DamagedFeedFile extends Error {}

export interface ReadFeedFile {
  readonly version: number
  readonly snapshot: Snapshot
}

/** Gives the text of a file, line by line; the last line covers all those before. */
export class FeedFileText {
  readonly #hash = createHash('sha256')
  #count = 0

  head({ revision, digest }: Head): string {
    return this.#line({ version: VERSION, revision, digest })
  }

  item(edit: Edit): string {
    this.#count++
    return this.#line(edit)
  }

  end(): string {
    return lastLine(this.#count, this.#hash.digest('hex'))
  }

  #line(value: object): string {
    const line = `${JSON.stringify(value)}\n`
    this.#hash.update(line)
    return line
  }
}

/** Throws DamagedFeedFile where the content is not whole, or of a version that is not known here. */
export function readFeedFile(content: Buffer): ReadFeedFile {
  if (content.length === 0) throw new DamagedFeedFile('it is empty')
  if (content.at(-1) !== NEWLINE)
    throw new DamagedFeedFile('it is cut short, or has something after its end')
  const lastStart = content.lastIndexOf(NEWLINE, content.length - 2) + 1
  const before = content.subarray(0, lastStart)
  const last = content.subarray(lastStart).toString()
  const lines = before.toString().split('\n').slice(0, -1)
  const items = lines.length - 1
  const isWhole = last === lastLine(items, createHash('sha256').update(before).digest('hex'))
  const isVersion1 = last === `{"count":${items}}\n`
  if (!isWhole && !isVersion1) throw new DamagedFeedFile('its checksum does not match its content')
  try {
    const { version, revision, digest } = JSON.parse(lines[0]!) as Head & { version: number }
    if (version !== (isWhole ? VERSION : 1))
      throw new DamagedFeedFile(`its version ${version} is not known here`)
    const edits = lines.slice(1).map((line) => JSON.parse(line) as Edit)
    return { version, snapshot: { revision, digest, edits } }
  } catch (error) {
    if (error instanceof DamagedFeedFile) throw error
    throw new DamagedFeedFile(`a line is not JSON: ${(error as Error).message}`)
  }
}

function lastLine(count: number, sha256: string): string {
  return `${JSON.stringify({ count, sha256 })}\n`
}
