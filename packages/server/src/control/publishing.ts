/**
 * Brings every change to where data planes follow it: at once after one of this instance's own, and a
 * few times a second after those of others. Of several control planes one publishes at a time, under an
 * advisory lock; what is published twice does no harm.
 */
import type { FeedSource, Head } from '../feed/change.js'
import type { Database } from './database.js'

/** Of all locks in the database, the publisher's. */
const LOCK = 7_311_640
const LOOK_EVERY_MS = 250
/** What was published may have been lost since. */
const VERIFY_EVERY_MS = 2000
/** Another one that holds the lock for so long without publishing is stuck. */
const PATIENCE_MS = 5000
/** So that the database does not take a long publication for an idle session. */
const STIR_EVERY_MS = 3000

export interface PublishingParts {
  readonly database: Database
  readonly source: FeedSource
  /** Afterwards everything that the source has is where data planes look. */
  readonly publish: (source: FeedSource) => Promise<unknown>
  /** What is there already. */
  readonly published: () => Promise<Head | null>
  /** It does not get through, or does again (null). */
  readonly trouble: (error: Error | null) => void
}

export class Publishing {
  readonly #parts: PublishingParts
  #published: Head | null = null
  #verifiedAt = performance.now() - VERIFY_EVERY_MS
  #hasTrouble = false
  #isClosed = false
  #running: Promise<void> | null = null
  #again = false
  readonly #timer: ReturnType<typeof setInterval>
  readonly #stopWatching: () => void

  constructor(parts: PublishingParts) {
    this.#parts = parts
    this.#stopWatching = parts.source.watch(() => this.look())
    this.#timer = setInterval(() => this.look(), LOOK_EVERY_MS)
    this.#timer.unref()
    this.look()
  }

  async close(): Promise<void> {
    this.#isClosed = true
    clearInterval(this.#timer)
    this.#stopWatching()
    await this.#running
  }

  look(): void {
    this.#again = true
    this.#running ??= this.#publishWhileAsked().finally(() => {
      this.#running = null
    })
  }

  async #publishWhileAsked(): Promise<void> {
    while (this.#again && !this.#isClosed) {
      this.#again = false
      try {
        await this.#publish()
        if (this.#hasTrouble) this.#parts.trouble(null)
        this.#hasTrouble = false
      } catch (error) {
        if (!this.#hasTrouble)
          this.#parts.trouble(error instanceof Error ? error : new Error(String(error)))
        this.#hasTrouble = true
      }
    }
  }

  async #publish(): Promise<void> {
    const { database, source, publish } = this.#parts
    const head = await source.head()
    const isKnown = head !== null && head.digest === this.#published?.digest
    if (isKnown && performance.now() - this.#verifiedAt < VERIFY_EVERY_MS) return
    await database.transaction(async (sql) => {
      const [lock] = await sql.query<{ mine: boolean }>(
        'SELECT pg_try_advisory_xact_lock($1) AS mine',
        [LOCK],
      )
      if (lock?.mine !== true) return this.#leaveToOther(head)
      const stirring = setInterval(() => {
        sql.query('SELECT 1').catch(() => undefined)
      }, STIR_EVERY_MS)
      try {
        await publish(source)
      } finally {
        clearInterval(stirring)
      }
      this.#done(head)
    })
  }

  /** Another one is publishing: it gets there, or that is said. */
  async #leaveToOther(head: Head | null): Promise<void> {
    const there = await this.#parts.published()
    if (there?.digest === head?.digest) return this.#done(head)
    if (performance.now() - this.#verifiedAt > PATIENCE_MS)
      throw new Error('another control plane holds the lock for publishing, and does not publish')
  }

  #done(head: Head | null): void {
    this.#published = head
    this.#verifiedAt = performance.now()
  }
}
