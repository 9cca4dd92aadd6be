/**
 * The counters of an embedded server: a memory store whose state is kept in a folder. A server that is
 * killed loses what it counted in the last second; one that is closed, nothing. Troubles with the disk
 * are said once and never stop deciding.
 */
import { chmodSync, mkdirSync } from 'node:fs'
import { type MemoryStore, type MemoryStoreOptions, memoryStore } from '@sluice/limiter'
import { within } from '../within.js'
import { CounterFiles } from './counter-files.js'
import { CounterWriter, type OpenFile, type RotatedFile } from './counter-writer.js'
import { CountersError } from './counters-error.js'
import { FolderLock } from './folder-lock.js'
import { type Restored, restore } from './restore.js'

/** A write and what it takes are within a second. */
const INTERVAL_MS = 800
const CLOSE_WITHIN_MS = 5000
/** After failures a write is tried this many intervals later at most. */
const MOST_INTERVALS = 32

export interface CountersOptions {
  readonly store?: MemoryStoreOptions
  /** From one write to the next; 800 unless given. */
  readonly intervalMs?: number
  /** How long `close` waits for the disk; 5000 unless given. */
  readonly closeWithinMs?: number
  /** What an operator should know: damaged files, what was lost. */
  readonly log?: (line: string) => void
  /** Counters are not being written, and why; null when they are again. Said once each. */
  readonly onTrouble?: (trouble: Error | null) => void
  /** Milliseconds since the epoch; `Date.now` unless given. */
  readonly now?: () => number
  /** What is rewritten together with the counters' files; asked for with each write. */
  readonly beside?: () => RotatedFile | null
  /** For tests: opens the files that are written. */
  readonly open?: OpenFile
}

export interface Counters {
  readonly store: MemoryStore
  /** null: nothing was there, or nothing could be read. */
  readonly restored: Restored | null
  /** Writes what was counted until now; rejects where the disk refuses. */
  flush(): Promise<void>
  /** Writes the last of it, within a bounded time, and leaves the folder to others. The store goes on in memory. */
  close(): Promise<void>
}

/** Throws `CountersError` where the folder cannot be used; damaged counters are said and never thrown. */
export function openCounters(folder: string, options: CountersOptions = {}): Counters {
  const now = options.now ?? Date.now
  const log = options.log ?? (() => undefined)
  const lock = lockFolder(folder)
  try {
    const files = new CounterFiles(folder)
    const store = memoryStore(options.store)
    files.removeParts()
    const restored = restore(store, files, now(), log)
    const writer = new CounterWriter(store, files, { ...options, now })
    return new KeptCounters({ folder, store, restored, writer, lock, options })
  } catch (error) {
    lock.release()
    throw unusable(folder, error)
  }
}

function lockFolder(folder: string): FolderLock {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    // It holds the secret seed of the keys.
    chmodSync(folder, 0o700)
    return new FolderLock(folder)
  } catch (error) {
    throw unusable(folder, error)
  }
}

function unusable(folder: string, error: unknown): CountersError {
  if (error instanceof CountersError) return error
  const why = error instanceof Error ? error.message : String(error)
  return new CountersError('unusable', `The folder ${folder} cannot keep counters: ${why}`, error)
}

interface Opened {
  readonly folder: string
  readonly store: MemoryStore
  readonly restored: Restored | null
  readonly writer: CounterWriter
  readonly lock: FolderLock
  readonly options: CountersOptions
}

class KeptCounters implements Counters {
  readonly store: MemoryStore
  readonly restored: Restored | null
  readonly #folder: string
  readonly #writer: CounterWriter
  readonly #lock: FolderLock
  readonly #options: CountersOptions
  readonly #now: () => number
  #timer: NodeJS.Timeout | undefined
  #failures = 0
  #closing: Promise<void> | undefined

  constructor({ folder, store, restored, writer, lock, options }: Opened) {
    this.#folder = folder
    this.store = store
    this.restored = restored
    this.#writer = writer
    this.#lock = lock
    this.#options = options
    this.#now = options.now ?? Date.now
    this.#schedule(this.#intervalMs)
  }

  get #intervalMs(): number {
    return this.#options.intervalMs ?? INTERVAL_MS
  }

  #schedule(delayMs: number): void {
    this.#timer = setTimeout(() => void this.#tick(), delayMs).unref()
  }

  async #tick(): Promise<void> {
    const began = performance.now()
    this.store.compact(this.#now())
    await this.flush().catch(() => undefined)
    if (this.#closing !== undefined) return
    const intervals = Math.min(2 ** this.#failures, MOST_INTERVALS)
    this.#schedule(Math.max(0, intervals * this.#intervalMs - (performance.now() - began)))
  }

  async flush(): Promise<void> {
    try {
      if (!(await this.#lock.refresh(this.#folder, Date.now()))) await this.#writer.leave()
      await this.#writer.write()
    } catch (error) {
      if (this.#failures++ === 0) this.#options.onTrouble?.(error as Error)
      throw error
    }
    if (this.#failures > 0) this.#options.onTrouble?.(null)
    this.#failures = 0
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    clearTimeout(this.#timer)
    const written = this.flush()
      .then(() => this.#writer.leave())
      .catch(() => undefined)
    const timeMs = this.#options.closeWithinMs ?? CLOSE_WITHIN_MS
    await within(timeMs, written)
    this.#lock.release()
  }
}
