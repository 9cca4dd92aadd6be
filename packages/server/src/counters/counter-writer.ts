/**
 * Writes a store's counters: a whole state to begin a file with, then what changed, until the file is
 * several times its whole state and another is begun. Never two writes at once. Deciding goes on in
 * between: after a few milliseconds of reading rows others have their turn, and no write is waited for
 * by anyone but this. After any failure the next write is a whole state in a new file.
 */
import { open as openFile, rename, rm } from 'node:fs/promises'
import { setImmediate } from 'node:timers/promises'
import { type MemoryStore, SluiceError } from '@sluice/limiter'
import { StoreState } from '@sluice/limiter/state'
import type { CounterFiles } from './counter-files.js'
import { CounterLog } from './counter-log.js'

/** How long rows are read before others have their turn. */
const SLICE_MS = 1
const FRAME_BYTES = 262_144
/** A file is left when its changes are this many times its whole state. */
const GROWTH = 4
const LEAST_CHANGE_BYTES = 4_000_000

export type OpenFile = typeof openFile

/** A file beside the counters that is rewritten with each new file of theirs, and when it has grown. */
export interface RotatedFile {
  readonly hasGrown: boolean
  /** Never rejects. */
  rotate(): Promise<void>
}

export interface CounterWriterOptions {
  readonly now: () => number
  readonly open?: OpenFile
  readonly beside?: () => RotatedFile | null
}

export class CounterWriter {
  readonly #state: StoreState
  readonly #files: CounterFiles
  readonly #now: () => number
  readonly #open: OpenFile
  readonly #beside: () => RotatedFile | null
  #log: CounterLog | null = null
  #number: number
  #wholeBytes = 0
  #turn: Promise<unknown> = Promise.resolve()

  constructor(store: MemoryStore, files: CounterFiles, options: CounterWriterOptions) {
    this.#state = new StoreState(store)
    this.#files = files
    this.#now = options.now
    this.#open = options.open ?? openFile
    this.#beside = options.beside ?? (() => null)
    this.#number = files.numbers[0] ?? 0
  }

  /** Everything that was counted before this call is on the disk when it resolves. */
  write(): Promise<void> {
    const turn = this.#turn.then(() => this.#write())
    this.#turn = turn.catch(() => undefined)
    return turn
  }

  /** Leaves the file: the next write begins another. */
  async leave(): Promise<void> {
    await this.#turn
    await this.#leave()
  }

  async #write(): Promise<void> {
    if (this.#log === null || !this.#state.canExportChanges || this.#hasGrown(this.#log))
      await this.#writeWhole()
    else await this.#writeChanges(this.#log)
    const beside = this.#beside()
    if (beside?.hasGrown === true) await beside.rotate()
  }

  #hasGrown(log: CounterLog): boolean {
    return log.bytes - this.#wholeBytes > Math.max(LEAST_CHANGE_BYTES, GROWTH * this.#wholeBytes)
  }

  async #writeWhole(): Promise<void> {
    const number = this.#number + 1
    const aside = this.#files.asideOf(number)
    const log = new CounterLog(await this.#open(aside, 'w', 0o600))
    try {
      await log.begin()
      await this.#group(log, this.#state.export())
      await rename(aside, this.#files.pathOf(number))
      await this.#syncFolder()
    } catch (error) {
      await log.close().catch(() => undefined)
      await rm(aside, { force: true }).catch(() => undefined)
      // A full disk may be full of the files that are kept in case.
      if ((error as NodeJS.ErrnoException).code === 'ENOSPC') this.#files.keepNewest(1)
      throw error
    }
    await this.#leave()
    this.#log = log
    this.#number = number
    this.#wholeBytes = log.bytes
    this.#files.keepNewest(2)
    await this.#beside()?.rotate()
  }

  async #writeChanges(log: CounterLog): Promise<void> {
    try {
      await this.#group(log, this.#state.exportChanges())
    } catch (error) {
      await this.#leave()
      if (!(error instanceof SluiceError)) throw error
      // Rows had to go while their changes were read.
      await this.#writeWhole()
    }
  }

  async #group(log: CounterLog, pieces: Iterable<Uint8Array>): Promise<void> {
    const takenAtMs = this.#now()
    let batch: Uint8Array[] = []
    let bytes = 0
    let isAny = false
    let since = performance.now()
    for (const piece of pieces) {
      if (piece.length > 0) {
        batch.push(piece)
        bytes += piece.length
        isAny = true
      }
      if (bytes >= FRAME_BYTES) {
        await log.put(batch)
        batch = []
        bytes = 0
      } else if (performance.now() - since >= SLICE_MS) await setImmediate()
      else continue
      since = performance.now()
    }
    if (!isAny) return
    if (batch.length > 0) await log.put(batch)
    await log.end({ takenAtMs })
  }

  /** The name of a new file is on the disk too. */
  async #syncFolder(): Promise<void> {
    const folder = await openFile(this.#files.folder, 'r')
    try {
      await folder.sync()
    } finally {
      await folder.close()
    }
  }

  async #leave(): Promise<void> {
    const log = this.#log
    this.#log = null
    await log?.close().catch(() => undefined)
  }
}
