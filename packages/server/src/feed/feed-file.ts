/**
 * The last known state on disk, so that an instance can start while its source is away. Lines of JSON:
 * the head, every item, and how many there were, so that a file cut short is told from a whole one.
 * Written beside and renamed, in slices, at most once a second, and a large one seldomer: what is missing
 * is asked for from the source anyway.
 */
import { mkdir, open, readFile, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import type { Log } from '../telemetry/log.js'
import type { Edit, Head, Snapshot } from './change.js'
import type { FeedState } from './feed-state.js'

const VERSION = 1
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
    let text: string
    try {
      text = await readFile(this.#path, 'utf8')
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
      this.#log.warn(`${this.#path} cannot be read`, { error: String(error) })
      return null
    }
    try {
      return parsed(text)
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error)
      this.#log.warn(`${this.#path} is set aside: ${why}`)
      await rename(this.#path, `${this.#path}.broken`).catch(() => undefined)
      return null
    }
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
      const started = performance.now()
      try {
        await this.#write(state)
        this.#hasTrouble = false
      } catch (error) {
        if (!this.#hasTrouble)
          this.#log.error(`${this.#path} cannot be written: a restart would not know these rules`, {
            error: String(error),
          })
        this.#hasTrouble = true
      }
      const pause = Math.max(this.#everyMs, SHARE * (performance.now() - started))
      await Promise.race([wait(pause, undefined, { ref: false }), this.#closing])
    }
  }

  async #write(state: FeedState): Promise<void> {
    await mkdir(dirname(this.#path), { recursive: true })
    const beside = `${this.#path}.${process.pid}.new`
    const { revision } = state.head
    const file = await open(beside, 'w', 0o600)
    try {
      await file.write(`${JSON.stringify({ version: VERSION, ...state.head })}\n`)
      let count = 0
      let lines = ''
      for (const edit of state.edits()) {
        lines += `${JSON.stringify(edit)}\n`
        if (++count % STEP > 0) continue
        await file.write(lines)
        lines = ''
        // It has changed while it was written: the next one is whole.
        if (state.head.revision !== revision) return
      }
      await file.write(`${lines}${JSON.stringify({ count })}\n`)
      await file.sync()
      await rename(beside, this.#path)
    } finally {
      await file.close()
      await rm(beside, { force: true })
    }
  }
}

function parsed(text: string): Snapshot {
  const lines = text.split('\n')
  if (lines.pop() !== '' || lines.length < 2) throw new Error('it was cut short')
  const { version, revision, digest } = JSON.parse(lines[0]!) as Head & { version: number }
  if (version !== VERSION) throw new Error(`it is of version ${version}`)
  const { count } = JSON.parse(lines.at(-1)!) as { count?: number }
  if (count !== lines.length - 2) throw new Error('it was cut short')
  const edits = lines.slice(1, -1).map((line) => JSON.parse(line) as Edit)
  return { revision, digest, edits }
}
