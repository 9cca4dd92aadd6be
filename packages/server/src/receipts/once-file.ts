/**
 * What was used, kept in `used.log` of the data folder: a line for each claim, answer and release, written
 * before it is acted on, so that neither a stop nor kill −9 lets a receipt be used twice. Rewritten without
 * what is older than an hour at every start and with every file of counters. A disk that cannot be written
 * refuses new claims and loses nothing that was claimed.
 */
import {
  closeSync,
  ftruncateSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { GOOD_FOR_MS, NotRecorded, type OnceJournal } from './once.js'
import { readUsedLog, type UsedEntry, type UsedLine, UsedLogText } from './used-log.js'

/** How many entries are written at a time while others wait. */
const STEP = 500
/** It is rewritten when it has grown by this much, and to several times what was kept. */
const LEAST_GROWTH_BYTES = 4_000_000
const GROWTH = 4

export interface OnceFileLog {
  info(msg: string, fields: { code: string }): void
  warn(msg: string, fields: { code: string; error?: string }): void
  error(msg: string, fields: { code: string; error?: string }): void
}

/** What is to be kept when the file is rewritten. */
export interface UsedEntries {
  /** Since when it is complete, in milliseconds since the epoch. */
  readonly since: number
  entries(): Iterable<UsedEntry>
}

export class OnceFile implements OnceJournal {
  readonly kept: readonly UsedEntry[]
  readonly since: number
  readonly #path: string
  readonly #log: OnceFileLog
  #text = new UsedLogText()
  #file: number
  #bytes = 0
  #keptBytes = 0
  /** Answers and releases that the disk did not take yet. */
  #pending: UsedLine[] = []
  /** Lines that are written while the file is being rewritten; null: it is not. */
  #meanwhile: UsedLine[] | null = null
  #hasTrouble = false
  #hasRotationTrouble = false

  /** Throws where the folder cannot be written. */
  constructor(folder: string, now: number, log: OnceFileLog) {
    this.#path = join(folder, 'used.log')
    this.#log = log
    const { since, entries } = this.#read(now)
    this.since = since
    this.kept = entries
    const aside = `${this.#path}.new`
    const lines = [this.#text.head(since)]
    for (const [id, answer, at] of entries) lines.push(this.#text.line([id, at, answer]))
    const content = Buffer.from(lines.join(''))
    writeFileSync(aside, content, { mode: 0o600 })
    this.#file = openSync(aside, 'a')
    renameSync(aside, this.#path)
    this.#bytes = content.length
    this.#keptBytes = content.length
  }

  /** Throws NotRecorded where the disk does not take it; then nothing may be done. */
  claimed(id: string, at: number): void {
    this.#append([id, at, null])
  }

  answered(id: string, answer: string, at: number): void {
    this.#appendNowOrLater([id, at, answer])
  }

  released(id: string, at: number): void {
    this.#appendNowOrLater([id, at])
  }

  /** So much has been added since the last time that rewriting is worth it. */
  get hasGrown(): boolean {
    return this.#bytes - this.#keptBytes > Math.max(LEAST_GROWTH_BYTES, GROWTH * this.#keptBytes)
  }

  /** Rewrites the file with these entries and what is written meanwhile. Trouble is logged, never thrown. */
  async rotate(used: UsedEntries, now: number): Promise<void> {
    if (this.#meanwhile !== null) return
    this.#meanwhile = [...this.#pending]
    const aside = `${this.#path}.new`
    let next: number | null = null
    try {
      const text = new UsedLogText()
      let bytes = await writeEntries(aside, text, used, now - GOOD_FOR_MS)
      // From here on nothing else runs: no line can be missed.
      next = openSync(aside, 'a')
      bytes += writeAll(next, this.#meanwhile.map((line) => text.line(line)).join(''))
      renameSync(aside, this.#path)
      closeSync(this.#file)
      this.#file = next
      next = null
      this.#text = text
      this.#bytes = bytes
      this.#keptBytes = bytes
      this.#pending = []
      this.#hasRotationTrouble = false
      this.#written()
    } catch (error) {
      if (next !== null) closeSync(next)
      rmSync(aside, { force: true })
      this.#notRotated(error)
    } finally {
      this.#meanwhile = null
    }
  }

  close(): void {
    closeSync(this.#file)
  }

  #appendNowOrLater(line: UsedLine): void {
    this.#meanwhile?.push(line)
    try {
      this.#append(line, true)
    } catch {
      this.#pending.push(line)
    }
  }

  /** All of it and what is pending, or nothing. */
  #append(line: UsedLine, isNoted = false): void {
    const { checksum } = this.#text
    const lines = [...this.#pending, line].map((one) => this.#text.line(one))
    try {
      this.#bytes += writeAll(this.#file, lines.join(''))
    } catch (error) {
      this.#text.checksum = checksum
      this.#removeHalfLine()
      this.#failed(error)
      const { code = 'error' } = error as NodeJS.ErrnoException
      throw new NotRecorded(
        `the data folder cannot be written (${code}), so nothing was done; make room on its disk, then ask again`,
        { cause: error },
      )
    }
    this.#pending = []
    if (!isNoted) this.#meanwhile?.push(line)
    this.#written()
  }

  /** It would spoil the next line. Where it stays, the file counts as damaged at the next start. */
  #removeHalfLine(): void {
    try {
      ftruncateSync(this.#file, this.#bytes)
    } catch {
      // The disk refuses everything; the caller reports it.
    }
  }

  #failed(error: unknown): void {
    if (!this.#hasTrouble)
      this.#log.error(
        `${this.#path} cannot be written: receipts and reservations are refused until it can`,
        { code: 'used_log_unwritable', error: String(error) },
      )
    this.#hasTrouble = true
  }

  /** The file is whole, and lines may still fit at its end. */
  #notRotated(error: unknown): void {
    if (!this.#hasRotationTrouble)
      this.#log.warn(`${this.#path} cannot be rewritten, so it grows until it can`, {
        code: 'used_log_not_rewritten',
        error: String(error),
      })
    this.#hasRotationTrouble = true
  }

  #written(): void {
    if (this.#hasTrouble)
      this.#log.info(`${this.#path} is being written again`, { code: 'used_log_written' })
    this.#hasTrouble = false
  }

  /**
   * What is known of the last hour. A file that is not there, or is damaged, does not know all of it:
   * what was given out before this moment is then not honoured any more.
   */
  #read(now: number): { since: number; entries: readonly UsedEntry[] } {
    let text: string
    try {
      text = readFileSync(this.#path, 'utf8')
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') this.#damaged(String(error))
      return { since: now, entries: [] }
    }
    const { since, entries, damagedLine, isTorn } = readUsedLog(text)
    if (damagedLine !== null) this.#damaged(`line ${damagedLine} is not as it was written`)
    else if (isTorn)
      this.#log.warn(`the last line of ${this.#path} was not written to its end; it is left out`, {
        code: 'used_log_torn',
      })
    else if (since !== null && since > now)
      this.#log.warn(
        `${this.#path} was written by a clock that was ahead: receipts and reservations given out before this start are refused`,
        { code: 'used_log_ahead' },
      )
    const oldest = now - GOOD_FOR_MS
    return {
      since: damagedLine !== null || since === null ? now : Math.max(since, oldest),
      entries: entries.filter(([, , at]) => at >= oldest),
    }
  }

  #damaged(error: string): void {
    this.#log.error(
      `${this.#path} is damaged: receipts and reservations given out before now are refused`,
      { code: 'used_log_damaged', error },
    )
  }
}

/** The entries that are not older; answers how many bytes they take. */
async function writeEntries(
  path: string,
  text: UsedLogText,
  used: UsedEntries,
  oldest: number,
): Promise<number> {
  const file = await open(path, 'w', 0o600)
  try {
    let bytes = 0
    const write = async (lines: string) => {
      await file.appendFile(lines)
      bytes += Buffer.byteLength(lines)
    }
    let lines = text.head(Math.max(used.since, oldest))
    let count = 0
    for (const [id, answer, at] of used.entries()) {
      if (at >= oldest) lines += text.line([id, at, answer])
      if (++count % STEP > 0) continue
      await write(lines)
      lines = ''
    }
    await write(lines)
    await file.sync()
    return bytes
  } finally {
    await file.close()
  }
}

/** Throws where not all of it could be written. Answers how many bytes it took. */
function writeAll(file: number, text: string): number {
  const bytes = Buffer.from(text)
  for (let done = 0; done < bytes.length; ) done += writeSync(file, bytes, done)
  return bytes.length
}
