/**
 * The text of `used.log`: a head with the time since which it is complete, then one line per claim,
 * answer and release. After each comes a line with `#` and a CRC-32 that continues from the one before, so
 * that a line that is damaged, missing or moved is noticed. Version 1 has no checksums; a release that knows
 * only version 1 ignores them, so going back to it works.
 */
import { crc32 } from 'node:zlib'

/** id, time in milliseconds, and the answer: null for a claim, absent for a release. */
export type UsedLine = readonly [id: string, at: number, answer?: string | null]
export type UsedEntry = readonly [id: string, answer: string | null, at: number]

const VERSION = 2
const HEX_DIGITS = 8

/** Gives the lines of a file, each with its checksum. */
export class UsedLogText {
  /** Of the lines so far; put back where a line was not written. */
  checksum = 0

  head(since: number): string {
    return this.#line([since, VERSION])
  }

  line(line: UsedLine): string {
    return this.#line(line)
  }

  #line(value: unknown): string {
    const json = JSON.stringify(value)
    this.checksum = crc32(json, this.checksum)
    return `${json}\n#${hex(this.checksum)}\n`
  }
}

export interface ReadUsedLog {
  /** Milliseconds since the epoch; null where the head cannot be read. */
  readonly since: number | null
  readonly entries: readonly UsedEntry[]
  /** Which line is damaged, counted from 1; null: none is. */
  readonly damagedLine: number | null
  /** The last line was not written to its end, so it was not acted on. */
  readonly isTorn: boolean
}

/** Reads up to the first damaged line. */
export function readUsedLog(text: string): ReadUsedLog {
  const lines = text.replaceAll('\n#', '\t').split('\n')
  const rest = lines.pop()!
  const isVersion1 = lines[0]?.includes('\t') === false
  const read = isVersion1 ? readPlain : reader()
  const head = lines.length === 0 ? null : sinceOf(read(lines[0]!), isVersion1)
  if (head === null) return { since: null, entries: [], damagedLine: 1, isTorn: false }
  const kept = new Map<string, UsedEntry>()
  const use = (value: unknown): boolean => {
    if (!isUsedLine(value)) return false
    const [id, at, answer] = value
    if (answer === undefined) kept.delete(id)
    else kept.set(id, [id, answer, at])
    return true
  }
  let damagedLine: number | null = null
  for (let i = 1; i < lines.length && damagedLine === null; i++)
    if (!use(read(lines[i]!))) damagedLine = i + 1
  // A whole line whose line break is missing or damaged counts: it may have been acted on.
  const isCut =
    damagedLine === null &&
    rest !== '' &&
    (isVersion1 || !use(read(rest) ?? read(rest.slice(0, -1))))
  // No line holds zeros: a disk that lost what was written left them, and maybe lost lines that were acted on.
  if (isCut && rest.includes('\0')) damagedLine = lines.length + 1
  const isTorn = isCut && damagedLine === null
  return { since: head, entries: [...kept.values()], damagedLine, isTorn }
}

/** Undefined for a line that does not continue those before. */
function reader(): (line: string) => unknown {
  let checksum = 0
  return (line) => {
    const json = line.slice(0, -HEX_DIGITS - 1)
    const next = crc32(json, checksum)
    if (line !== `${json}\t${hex(next)}`) return undefined
    checksum = next
    return readPlain(json)
  }
}

function readPlain(json: string): unknown {
  try {
    return JSON.parse(json) as unknown
  } catch {
    return undefined
  }
}

function sinceOf(head: unknown, isVersion1: boolean): number | null {
  if (!Array.isArray(head)) return null
  const [since, version] = head as unknown[]
  const isKnown = version === (isVersion1 ? undefined : VERSION)
  return isKnown && typeof since === 'number' ? since : null
}

function isUsedLine(value: unknown): value is UsedLine {
  if (!Array.isArray(value) || value.length < 2 || value.length > 3) return false
  const [id, at, answer] = value as unknown[]
  const isAnswer = answer === undefined || answer === null || typeof answer === 'string'
  return typeof id === 'string' && typeof at === 'number' && isAnswer
}

function hex(checksum: number): string {
  return checksum.toString(16).padStart(HEX_DIGITS, '0')
}
