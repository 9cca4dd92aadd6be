/**
 * The last known state on disk, so that an instance can start while its source is away. Written beside
 * and renamed, in slices, at most once a second, and a large one seldomer: what is missing is asked for
 * from the source anyway. What is written is of one moment, so that changes which go on all the time
 * neither keep it from being written nor get into it by halves. A damaged file is never used: the state
 * then comes from the source alone.
 */
import { mkdir, open, readFile, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import type { Log } from '../telemetry/log.js'
import type { Edit, Head, Snapshot } from './change.js'
import { FeedFileText, type ReadFeedFile, readFeedFile } from './feed-file-format.js'
import type { FeedState } from './feed-state.js'

const EVERY_MS = 1000
/** How many items are written at a time. */
const STEP = 500
/** How many times as long as it took nothing is written afterwards. */
const SHARE = 20

export class FeedFile {
  readonly #path: string
  readonly #log: Log
  readonly #everyMs: number
  #state: FeedState | null = null
  #writing: Promise<void> | null = null
  #hasTrouble = false
  #close!: () => void
  readonly #closing = new Promise<void>((resolve) => {
    this.#close = resolve
  })

  constructor(path: string, log: Log, everyMs = EVERY_MS) {
    this.#path = path
    this.#log = log
    this.#everyMs = everyMs
  }

  /** What was kept last; null where there is none, or none that can be trusted. */
  async load(): Promise<Snapshot | null> {
    let content: Buffer
    try {
      content = await readFile(this.#path)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
      this.#log.error(`${this.#path} cannot be read; the rules are loaded from their source`, {
        code: 'rules_file_unreadable',
        error: String(error),
      })
      return null
    }
    try {
      return this.#accepted(readFeedFile(content))
    } catch (error) {
      const aside = `${this.#path}.broken`
      this.#log.error(
        `${this.#path} is damaged and set aside as ${aside}; the rules are loaded from their source`,
        {
          code: 'rules_file_damaged',
          error: error instanceof Error ? error.message : String(error),
        },
      )
      await rename(this.#path, aside).catch(() => undefined)
      return null
    }
  }

  /** The follower keeps every state that it puts in force, so this one is written in the newest version. */
  #accepted({ version, snapshot }: ReadFeedFile): Snapshot {
    if (version === 1)
      this.#log.warn(`${this.#path} is of version 1, which has no checksum; it is rewritten`, {
        code: 'rules_file_version_1',
      })
    return snapshot
  }

  /** To be written soon. */
  keep(state: FeedState): void {
    this.#state = state
    this.#writing ??= this.#writeWhileAsked().finally(() => {
      this.#writing = null
      if (this.#state !== null) this.keep(this.#state)
    })
  }

  /** All that was to be kept is written. */
  async close(): Promise<void> {
    this.#close()
    while (this.#writing !== null) await this.#writing
  }

  async #writeWhileAsked(): Promise<void> {
    while (this.#state !== null) {
      const state = this.#state
      this.#state = null
      // It is kept again when the change under way is in force.
      if (!state.isOfHead) return
      const started = performance.now()
      try {
        await this.#write(state.head, state.edits())
        this.#hasTrouble = false
      } catch (error) {
        if (!this.#hasTrouble)
          this.#log.error(`${this.#path} cannot be written: a restart would not know these rules`, {
            code: 'rules_file_unwritable',
            error: String(error),
          })
        this.#hasTrouble = true
      }
      const pause = Math.max(this.#everyMs, SHARE * (performance.now() - started))
      await Promise.race([wait(pause, undefined, { ref: false }), this.#closing])
    }
  }

  async #write(head: Head, edits: Iterable<Edit>): Promise<void> {
    await mkdir(dirname(this.#path), { recursive: true })
    const beside = `${this.#path}.${process.pid}.new`
    const file = await open(beside, 'w', 0o600)
    try {
      const text = new FeedFileText()
      let count = 0
      let lines = text.head(head)
      for (const edit of edits) {
        lines += text.item(edit)
        if (++count % STEP > 0) continue
        await file.appendFile(lines)
        lines = ''
      }
      await file.appendFile(lines + text.end())
      await file.sync()
      await rename(beside, this.#path)
    } finally {
      await file.close()
      await rm(beside, { force: true })
    }
  }
}
