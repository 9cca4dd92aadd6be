/**
 * Takes what was counted every two seconds and delivers it, in order. While it cannot be delivered it
 * waits here: batches of one minute are made one first, which loses nothing; then the oldest go, and are
 * counted as lost. A batch that was tried keeps its number and stays as it is until it has arrived:
 * nobody knows whether it has already. Nothing that decides waits for any of this.
 */
import { randomUUID } from 'node:crypto'
import { within } from '../within.js'
import { merged, minuteOf, sizeOf, type UsageBatch, type UsageCounts } from './batch.js'
import type { Tally } from './tally.js'

/** Carries a batch to where it is stored. Rejects where it may not have arrived; then the same one is given again. */
export type Deliver = (batch: UsageBatch) => Promise<void>

export interface SenderParts {
  readonly tally: Tally
  readonly deliver: Deliver
  /** Milliseconds since the epoch, by the clock that decides. */
  readonly now: () => number
  /** What may wait, in bytes; 16 MB unless given. */
  readonly mostBytes?: number
  readonly everyMs?: number
}

const EVERY_MS = 2000
const MOST_BYTES = 16 * 1024 * 1024
/** Beyond so many, those of one minute become one. */
const MERGED_BEYOND = 8
/** How long the end may take. */
const CLOSE_WITHIN_MS = 2000

interface Waiting {
  readonly counts: UsageCounts
  readonly size: number
}

export class UsageSender {
  readonly instance = randomUUID()
  readonly #tally: Tally
  readonly #deliver: Deliver
  readonly #now: () => number
  readonly #everyMs: number
  readonly #mostBytes: number
  #waiting: Waiting[] = []
  #bytes = 0
  /** Tried already: it is not changed any more. */
  #outgoing: UsageBatch | null = null
  #sequence = 0
  /** Decisions of all batches that were given a number. */
  #numbered = 0
  #lost = 0
  #sending: Promise<void> | null = null
  #timer: NodeJS.Timeout | undefined
  #isClosed = false

  constructor({ tally, deliver, now, mostBytes = MOST_BYTES, everyMs = EVERY_MS }: SenderParts) {
    this.#tally = tally
    this.#deliver = deliver
    this.#now = now
    this.#mostBytes = mostBytes
    this.#everyMs = everyMs
  }

  /** Decisions whose counts had to be given up here. */
  get lost(): number {
    return this.#lost
  }

  /** How old the oldest is that waits, in milliseconds. */
  get lagMs(): number {
    const oldest = this.#outgoing ?? this.#waiting[0]?.counts
    return oldest === undefined ? 0 : Math.max(0, this.#now() - oldest.to)
  }

  start(): void {
    // By the clock's own steps, so that a batch is of one minute.
    const next = this.#everyMs - (this.#now() % this.#everyMs)
    this.#timer = setTimeout(() => {
      this.take()
      void this.send()
      if (!this.#isClosed) this.start()
    }, next)
    this.#timer.unref()
  }

  /** What was counted until now waits to be sent. */
  take(): void {
    const counts = this.#tally.take(this.#now())
    if (counts.decisions === 0) return
    this.#push({ counts, size: sizeOf(counts) })
    if (this.#waiting.length > MERGED_BEYOND || this.#bytes > this.#mostBytes) this.#mergeMinutes()
    while (this.#bytes > this.#mostBytes && this.#waiting.length > 0) this.#drop()
  }

  #push(one: Waiting): void {
    this.#waiting.push(one)
    this.#bytes += one.size
  }

  #mergeMinutes(): void {
    const all = this.#waiting
    this.#waiting = []
    this.#bytes = 0
    for (const one of all) {
      const last = this.#waiting.at(-1)
      if (last === undefined || minuteOf(last.counts) !== minuteOf(one.counts)) this.#push(one)
      else {
        this.#waiting.pop()
        this.#bytes -= last.size
        const counts = merged(last.counts, one.counts)
        this.#push({ counts, size: sizeOf(counts) })
      }
    }
  }

  #drop(): void {
    const { counts, size } = this.#waiting.shift()!
    this.#bytes -= size
    this.#lost += counts.decisions
  }

  /** Sends what waits, until there is nothing or it cannot be delivered. Never rejects. */
  send(): Promise<void> {
    this.#sending ??= this.#sendAll().finally(() => {
      this.#sending = null
    })
    return this.#sending
  }

  async #sendAll(): Promise<void> {
    for (;;) {
      this.#outgoing ??= this.#number()
      if (this.#outgoing === null) return
      try {
        await this.#deliver(this.#outgoing)
      } catch {
        return
      }
      this.#outgoing = null
    }
  }

  #number(): UsageBatch | null {
    const next = this.#waiting.shift()
    if (next === undefined) return null
    this.#bytes -= next.size
    this.#numbered += next.counts.decisions
    this.#sequence++
    const { instance } = this
    const total = this.#numbered + this.#lost
    return { ...next.counts, instance, sequence: this.#sequence, total, dropped: this.#lost }
  }

  /** The rest is sent if that is possible soon. */
  async close(): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#timer)
    this.take()
    await within(
      CLOSE_WITHIN_MS,
      this.send().then(() => this.send()),
    )
  }
}
