/**
 * Reads batches from the stream, has them stored, and only then says that they have been read: exactly
 * once, since storing knows what it has. What a reader that died had taken is claimed by another. While
 * the database is away a few batches are held here and the rest stays in the stream.
 */
import { randomUUID } from 'node:crypto'
import type { Log } from '../telemetry/log.js'
import { noAnswer, within } from '../within.js'
import type { UsageBatch } from './batch.js'
import { FIELD, readBatch, type StreamRedis, streamKey } from './usage-stream.js'

export interface StreamReaderParts {
  readonly redis: StreamRedis
  readonly prefix: string
  /** Stores all of them or none; rejects where it could not. */
  readonly record: (batches: readonly UsageBatch[]) => Promise<void>
  readonly log: Log
  readonly everyMs?: number
  /** After so long without a word a reader is taken for dead. */
  readonly claimAfterMs?: number
  readonly deadlineMs?: number
}

const GROUP = 'recorders'
const AT_ONCE = 64
const EVERY_MS = 500
const CLAIM_AFTER_MS = 15_000
const DEADLINE_MS = 2000

interface Entry {
  readonly id: string
  /** Null: it cannot be read. */
  readonly batch: UsageBatch | null
}

type RawEntry = readonly [id: string, fields: readonly string[] | null]

/** By stream: pairs in RESP2, one after the other in RESP3. */
type StreamReply =
  | readonly [readonly [string, readonly RawEntry[]]]
  | readonly [string, readonly RawEntry[]]
  | null

export class StreamReader {
  readonly #redis: StreamRedis
  readonly #key: string
  readonly #record: StreamReaderParts['record']
  readonly #log: Log
  readonly #everyMs: number
  readonly #claimAfterMs: number
  readonly #deadlineMs: number
  readonly #name = randomUUID()
  /** Read and not stored yet. */
  #held: Entry[] = []
  /** Stored, and still in the stream. */
  #stored: string[] = []
  #claimAt = 0
  #trouble: string | null = null
  #timer: NodeJS.Timeout | undefined
  #running: Promise<void> | null = null
  #isClosed = false

  constructor(parts: StreamReaderParts) {
    this.#redis = parts.redis
    this.#key = streamKey(parts.prefix)
    this.#record = parts.record
    this.#log = parts.log
    this.#everyMs = parts.everyMs ?? EVERY_MS
    this.#claimAfterMs = parts.claimAfterMs ?? CLAIM_AFTER_MS
    this.#deadlineMs = parts.deadlineMs ?? DEADLINE_MS
  }

  start(): void {
    this.#timer = setTimeout(() => {
      this.#running = this.#roundAndOn()
    }, this.#everyMs)
    this.#timer.unref()
  }

  async #roundAndOn(): Promise<void> {
    await this.round()
    this.#running = null
    if (!this.#isClosed) this.start()
  }

  /** Reads until nothing is left, or something does not answer. Never rejects. */
  async round(): Promise<void> {
    try {
      while (!this.#isClosed && (await this.#step()) > 0);
      this.#tell(null)
    } catch (error) {
      const said = error instanceof Error ? error.message : String(error)
      if (said.startsWith('NOGROUP')) await this.#makeGroup()
      else this.#tell(said)
    }
  }

  /** Once for each trouble, and when it is over. */
  #tell(trouble: string | null): void {
    if (trouble === this.#trouble) return
    this.#trouble = trouble
    if (trouble === null) this.#log.info('usage is being stored again')
    else this.#log.warn('usage waits to be stored', { code: 'usage_waits', error: trouble })
  }

  /** How many were stored. */
  async #step(): Promise<number> {
    await this.#finish()
    if (this.#held.length === 0) this.#held = await this.#claim()
    if (this.#held.length === 0) this.#held = await this.#read()
    const held = this.#held
    if (held.length === 0) return 0
    const batches = held.flatMap(({ batch }) => (batch === null ? [] : [batch]))
    if (batches.length < held.length)
      this.#log.error('usage that cannot be read is left out', {
        code: 'usage_unreadable',
        count: held.length - batches.length,
      })
    if (batches.length > 0) await this.#record(batches)
    this.#held = []
    this.#stored = held.map(({ id }) => id)
    await this.#finish()
    return held.length
  }

  /** What is stored leaves the stream. */
  async #finish(): Promise<void> {
    const ids = this.#stored
    if (ids.length === 0) return
    await Promise.all([
      this.#ask('XACK', this.#key, GROUP, ...ids),
      this.#ask('XDEL', this.#key, ...ids),
    ])
    this.#stored = []
  }

  async #read(): Promise<Entry[]> {
    const reply = await this.#ask(
      'XREADGROUP',
      'GROUP',
      GROUP,
      this.#name,
      'COUNT',
      AT_ONCE,
      'STREAMS',
      this.#key,
      '>',
    )
    return entriesOf(entriesIn(reply as StreamReply))
  }

  /** What others had taken and not stored. */
  async #claim(): Promise<Entry[]> {
    if (performance.now() < this.#claimAt) return []
    const reply = (await this.#ask(
      'XAUTOCLAIM',
      this.#key,
      GROUP,
      this.#name,
      this.#claimAfterMs,
      '0-0',
      'COUNT',
      AT_ONCE,
    )) as readonly [string, readonly RawEntry[]]
    const entries = entriesOf(reply[1])
    if (entries.length === 0) this.#claimAt = performance.now() + this.#claimAfterMs / 3
    return entries
  }

  async #makeGroup(): Promise<void> {
    await this.#ask('XGROUP', 'CREATE', this.#key, GROUP, '0', 'MKSTREAM').catch(() => {})
  }

  #ask(command: string, ...args: (string | number)[]): Promise<unknown> {
    return within(this.#deadlineMs, this.#redis.call(command, ...args), noAnswer)
  }

  async close(): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#timer)
    await this.#running
  }
}

function entriesIn(reply: StreamReply): readonly RawEntry[] {
  if (reply === null) return []
  return reply.length === 1 ? reply[0][1] : reply[1]
}

function entriesOf(raw: readonly RawEntry[]): Entry[] {
  return raw.map(([id, fields]) => {
    const at = fields?.indexOf(FIELD) ?? -1
    return { id, batch: at < 0 ? null : readBatch(fields![at + 1]!) }
  })
}
