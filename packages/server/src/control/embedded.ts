/**
 * PostgreSQL in this process, for who has none: PGlite, in a thread of its own and a folder that nobody
 * else may use meanwhile. It has one connection, so statements and transactions wait for each other here.
 * It never makes the disk write at once (fsync), so a whole dump is kept beside it.
 */
import { existsSync, mkdirSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Worker } from 'node:worker_threads'
import { FolderLock } from '../counters/folder-lock.js'
import { within } from '../within.js'
import {
  type Database,
  DatabaseAway,
  type Row,
  refusal,
  runWork,
  type Sql,
  withRetries,
} from './database.js'
import type { EmbeddedAnswer, EmbeddedPlace, EmbeddedRequest } from './embedded-protocol.js'

const OPENING_MS = 15_000
const DUMP_EVERY_MS = 10 * 60_000
/** So that a burst of writes is over. */
const DUMP_AFTER_MS = 60_000
const REFRESH_MS = 2_000
const DUMP_FILE = 'database.dump.tar.gz'

export interface EmbeddedOptions {
  /** What an operator should know: that a dump was taken instead of the files. */
  readonly log?: (message: string) => void
  /** How long whoever asks waits for the opening. */
  readonly openingMs?: number
  readonly dumpEveryMs?: number
  readonly dumpAfterMs?: number
}

/** Whether one was made in this data folder before. */
export function hasEmbedded(folder: string): boolean {
  return existsSync(join(folder, 'database', 'files')) || existsSync(join(folder, DUMP_FILE))
}

/** `folder` is the server's data folder. Throws where another process has the database open. */
export function openEmbedded(folder: string, options: EmbeddedOptions = {}): Database {
  return new EmbeddedDatabase(folder, options)
}

/** Beside the bundle; from the sources, where the bundle was put. */
function besideBundle(name: string): URL {
  const isSource = import.meta.url.endsWith('.ts')
  return new URL(isSource ? `../../dist/${name}` : `./${name}`, import.meta.url)
}

interface Waiting {
  readonly kind: Question['kind']
  resolve(rows: Row[]): void
  reject(error: Error): void
}

type Question =
  | { readonly kind: 'query'; readonly text: string; readonly parameters: readonly unknown[] }
  | { readonly kind: 'dump' | 'close' }

/** The disk is. */
const FULL = /^(53100|ENOSPC)$/

/** The thread while it lives, and who waits for its answers. */
class DatabaseThread {
  readonly #worker: Worker
  readonly #waiting = new Map<number, Waiting>()
  #lastId = 0
  isOver = false
  isOpen = false
  readonly opened: Promise<void>

  constructor(place: EmbeddedPlace, log: (message: string) => void) {
    this.#worker = new Worker(besideBundle('embedded-worker.cjs'), { workerData: place })
    this.opened = new Promise((resolve, reject) => {
      this.#worker.on('message', (answer: EmbeddedAnswer) => {
        if (answer.kind === 'open') {
          this.isOpen = true
          resolve()
        } else if (answer.kind === 'log') log(answer.message)
        else this.#answered(answer)
      })
      const end = (error: Error) => {
        this.#end(error)
        reject(new DatabaseAway(`the database does not open: ${error.message}`, false))
      }
      this.#worker.on('error', end)
      this.#worker.on('exit', () => end(new Error('its thread ended')))
    })
    this.opened.catch(() => undefined)
  }

  #answered(answer: Exclude<EmbeddedAnswer, { kind: 'open' | 'log' }>): void {
    const waiting = this.#waiting.get(answer.id)
    this.#waiting.delete(answer.id)
    if (answer.kind === 'rows') return waiting?.resolve(answer.rows)
    waiting?.reject(refusal(answer.message, answer.state, answer.constraint))
    // After that its next statement may never end; what was written is read from the files again.
    if (waiting?.kind === 'query' && FULL.test(answer.state)) this.#end(new Error(answer.message))
  }

  #end(error: Error): void {
    this.isOver = true
    for (const waiting of this.#waiting.values())
      waiting.reject(new DatabaseAway(`the database ended: ${error.message}`, true))
    this.#waiting.clear()
  }

  ask(question: Question): Promise<Row[]> {
    if (this.isOver) return Promise.reject(new DatabaseAway('the database ended', false))
    const id = ++this.#lastId
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { kind: question.kind, resolve, reject })
      const request: EmbeddedRequest = { id, ...question }
      // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
      this.#worker.postMessage(request)
    })
  }

  async stop(): Promise<void> {
    await this.#worker.terminate()
  }
}

class EmbeddedDatabase implements Database {
  readonly kind = 'embedded'
  readonly name: string
  readonly #folder: string
  readonly #options: EmbeddedOptions
  readonly #lock: FolderLock
  readonly #refresh: NodeJS.Timeout
  #thread: DatabaseThread
  /** Ends when whoever came last is done. */
  #turn: Promise<unknown> = Promise.resolve()
  #dumpTimer: NodeJS.Timeout | null = null
  #isClosed = false

  constructor(folder: string, options: EmbeddedOptions) {
    this.#folder = resolve(folder)
    this.#options = options
    this.name = `embedded PostgreSQL in ${folder}`
    const own = join(this.#folder, 'database')
    mkdirSync(own, { recursive: true, mode: 0o700 })
    this.#lock = new FolderLock(own)
    this.#refresh = setInterval(() => {
      void this.#lock.refresh(own, Date.now()).catch(() => undefined)
    }, REFRESH_MS).unref()
    this.#thread = this.#start()
  }

  #start(): DatabaseThread {
    const own = join(this.#folder, 'database')
    const time = new Date().toISOString().replaceAll(':', '-')
    const place: EmbeddedPlace = {
      files: join(own, 'files'),
      beginning: join(own, 'beginning'),
      seed: fileURLToPath(besideBundle('database-seed.tar.gz')),
      dump: this.#dumpFile,
      broken: join(this.#folder, `database.broken-${time}`),
    }
    return new DatabaseThread(place, this.#options.log ?? (() => undefined))
  }

  get #dumpFile(): string {
    return join(this.#folder, DUMP_FILE)
  }

  query<R extends Row = Row>(text: string, parameters: readonly unknown[] = []): Promise<R[]> {
    return this.#inTurn(async (thread) => {
      const rows = (await thread.ask({ kind: 'query', text, parameters })) as R[]
      if (!/^\s*(select|show)\b/i.test(text)) this.#wrote()
      return rows
    })
  }

  transaction<T>(work: (sql: Sql) => Promise<T>): Promise<T> {
    return this.#inTurn((thread) => withRetries(() => this.#attempt(thread, work)))
  }

  async #attempt<T>(thread: DatabaseThread, work: (sql: Sql) => Promise<T>): Promise<T> {
    const run = (text: string, parameters: readonly unknown[] = []) =>
      thread.ask({ kind: 'query', text, parameters })
    let done: T
    await run('BEGIN')
    try {
      done = await runWork(run, work)
    } catch (error) {
      if (!thread.isOver) await run('ROLLBACK')
      // A transaction that did not get to its end has changed nothing.
      const isOver = error instanceof DatabaseAway && error.mayHaveRun
      throw isOver ? new DatabaseAway(error.message, false) : error
    }
    await run('COMMIT')
    this.#wrote()
    return done
  }

  /** One after the other, in the order in which they came; each waits for the opening first. */
  #inTurn<T>(work: (thread: DatabaseThread) => Promise<T>): Promise<T> {
    const until = performance.now() + (this.#options.openingMs ?? OPENING_MS)
    const turn = this.#turn.then(async () => {
      if (this.#isClosed) throw new DatabaseAway('the database was closed', false)
      if (this.#thread.isOver) {
        await this.#thread.stop()
        this.#thread = this.#start()
      }
      const thread = this.#thread
      await within(until - performance.now(), thread.opened, isOpening)
      return work(thread)
    })
    this.#turn = turn.catch(() => undefined)
    return turn
  }

  /** Keeps a dump that is not much older than the last write. */
  #wrote(): void {
    if (this.#dumpTimer !== null || this.#isClosed) return
    const { dumpEveryMs = DUMP_EVERY_MS, dumpAfterMs = DUMP_AFTER_MS } = this.#options
    const last = existsSync(this.#dumpFile) ? statSync(this.#dumpFile).mtimeMs : 0
    const wait = Math.max(last + dumpEveryMs - Date.now(), dumpAfterMs)
    this.#dumpTimer = setTimeout(() => {
      this.#dumpTimer = null
      void this.#dump()
    }, wait).unref()
  }

  async #dump(): Promise<void> {
    try {
      await this.#inTurn((thread) => thread.ask({ kind: 'dump' }))
    } catch (error) {
      if (this.#isClosed) return
      this.#options.log?.(`the database could not be dumped: ${(error as Error).message}`)
      this.#wrote()
    }
  }

  async close(): Promise<void> {
    if (this.#isClosed) return
    clearTimeout(this.#dumpTimer ?? undefined)
    clearInterval(this.#refresh)
    const thread = this.#thread
    // Nobody waits for an opening that nobody needs: it is begun anew the next time.
    if (thread.isOpen) await this.#turn
    this.#isClosed = true
    try {
      if (thread.isOpen) await thread.ask({ kind: 'close' })
    } catch {
      // It has ended already: there is nothing to be closed.
    } finally {
      await thread.stop()
      this.#lock.release()
    }
  }
}

function isOpening(): DatabaseAway {
  return new DatabaseAway('the database is still opening', false)
}
