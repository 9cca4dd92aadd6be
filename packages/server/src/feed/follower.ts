/**
 * Follows a source of changes: from what was known last (on disk), by the changes since, or from a
 * snapshot where those are not to be had. A change is taken only where it continues what is known, so
 * messages may be lost, doubled or come in any order: whatever does not fit is asked for again. While the
 * source is away, what is known stays in force.
 */
import type { Log } from '../telemetry/log.js'
import { within } from '../within.js'
import {
  type Change,
  digestOf,
  type Edit,
  type FeedSource,
  type Head,
  type Snapshot,
} from './change.js'
import type { FeedFile } from './feed-file.js'
import { FeedState, nothingTouched, type Touched } from './feed-state.js'

/** The source is looked at this often, whatever it says. */
const POLL_MS = 500
/** A source that has less than is known may only be behind: so long it is waited for. */
const PATIENCE_MS = 3000
const CLOSE_WITHIN_MS = 500

export interface FollowerParts {
  readonly source: FeedSource
  /** Puts what was touched in force. */
  readonly enforce: (state: FeedState, touched: Touched, since?: number) => Promise<void>
  /** This is in force now. */
  readonly inForce?: (head: Head) => void
  /** Where the last known is kept; null: nowhere. */
  readonly file: FeedFile | null
  readonly log: Log
  readonly pollMs?: number
  /** Milliseconds that only go forward. */
  readonly clock?: () => number
}

export interface FeedReading {
  /** In force. */
  readonly revision: number
  /** The newest that the source has, as far as is known. */
  readonly head: number
  /** For how long there has been a newer one, in seconds. */
  readonly lag: number
  readonly isAway: boolean
}

interface Waiter {
  readonly revision: number
  readonly done: () => void
}

export class Follower {
  readonly #state = new FeedState()
  readonly #parts: FollowerParts
  readonly #clock: () => number
  #isAway = false
  #newest = 0
  /** Since when there is a newer revision than the one in force. */
  #behindSince: number | null = null
  /** Since when the source has had less than is known. */
  #aheadSince: number | null = null
  #looking: Promise<void> | null = null
  #lookAgain = false
  #isClosed = false
  #stopWatching: (() => void) | null = null
  #timer: ReturnType<typeof setInterval> | undefined
  readonly #waiters = new Set<Waiter>()
  #isKnown = false
  readonly #restored: Promise<void>
  #tellRestored!: () => void

  constructor(parts: FollowerParts) {
    this.#parts = parts
    this.#clock = parts.clock ?? (() => performance.now())
    this.#restored = new Promise((resolve) => {
      this.#tellRestored = resolve
    })
  }

  /** What was known last is in force, if anything was. */
  get restored(): Promise<void> {
    return this.#restored
  }

  /** Something is known: from disk, or from the source. */
  get isKnown(): boolean {
    return this.#isKnown
  }

  /** What was known last is in force, and the source has been asked once. */
  async start(): Promise<void> {
    const { file, source, log, pollMs = POLL_MS } = this.#parts
    const kept = (await file?.load()) ?? null
    if (kept !== null) {
      await this.#takeWhole(kept)
      log.info('the last known rules are in force', { revision: kept.revision })
    }
    this.#tellRestored()
    await this.look()
    this.#stopWatching = source.watch(() => void this.look())
    this.#timer = setInterval(() => void this.look(), pollMs)
    this.#timer.unref()
  }

  async close(): Promise<void> {
    this.#isClosed = true
    clearInterval(this.#timer)
    this.#stopWatching?.()
    // A source that does not answer is not waited for.
    if (this.#looking !== null) await within(CLOSE_WITHIN_MS, this.#looking)
    await this.#parts.file?.close()
  }

  get head(): Head {
    return this.#state.head
  }

  get reading(): FeedReading {
    const { revision } = this.#state.head
    const since = this.#newest > revision ? this.#behindSince : null
    return {
      revision,
      head: this.#newest,
      lag: since === null ? 0 : (this.#clock() - since) / 1000,
      isAway: this.#isAway,
    }
  }

  /** When this revision is in force, or so many milliseconds have passed. */
  async reached(revision: number, withinMs: number): Promise<void> {
    if (this.#state.head.revision >= revision) return
    void this.look()
    let done = () => {}
    const isReached = new Promise<void>((resolve) => {
      done = resolve
    })
    const waiter = { revision, done }
    this.#waiters.add(waiter)
    await within(withinMs, isReached)
    this.#waiters.delete(waiter)
  }

  /** Looks at the source now; one look at a time, and another where it was asked for meanwhile. Never rejects. */
  look(): Promise<void> {
    this.#lookAgain = true
    this.#looking ??= this.#lookWhileAsked().finally(() => {
      this.#looking = null
    })
    return this.#looking
  }

  async #lookWhileAsked(): Promise<void> {
    while (this.#lookAgain && !this.#isClosed) {
      this.#lookAgain = false
      try {
        await this.#follow()
        if (this.#isAway) this.#parts.log.info('the feed is back', { revision: this.head.revision })
        this.#isAway = false
      } catch (error) {
        this.#tellAway(error)
      }
    }
  }

  #tellAway(error: unknown): void {
    if (this.#isAway || this.#isClosed) return
    this.#isAway = true
    const { revision } = this.#state.head
    this.#parts.log.warn(`the feed is away; revision ${revision} stays in force`, {
      code: 'feed_away',
      revision,
      error: error instanceof Error ? error.message : String(error),
    })
  }

  async #follow(): Promise<void> {
    const { source } = this.#parts
    const newest = await source.head()
    if (newest === null) {
      if (this.#state.head.revision > 0) throw new Error('it has nothing yet, or lost what it had')
      return
    }
    const { revision, digest } = this.#state.head
    this.#newest = newest.revision
    if (newest.revision === revision && newest.digest === digest) return this.#upToDate()
    if (newest.revision > revision) {
      this.#behindSince ??= this.#clock()
      this.#aheadSince = null
      const changes = await source.changesAfter(revision)
      if (changes !== null && (await this.#takeChanges(changes))) return this.#upToDate()
    } else if (newest.revision < revision && !this.#isPatienceOver()) return
    const snapshot = await source.snapshot()
    if (snapshot === null) throw new Error('it has no snapshot')
    if (snapshot.digest === digest && snapshot.revision === revision)
      throw new Error('its changes do not continue its snapshot')
    // An older one is a way back, unless its changes lead on: then it is another history.
    const isBack = newest.revision > revision && snapshot.revision < revision
    if (isBack && !leadsTo(newest, snapshot, (await source.changesAfter(snapshot.revision)) ?? []))
      throw new Error('its changes are lost, and its snapshot is older than what is in force')
    await this.#takeWhole(snapshot)
    this.#upToDate()
  }

  #upToDate(): void {
    this.#isKnown = true
    this.#aheadSince = null
    if (this.#state.head.revision >= this.#newest) this.#behindSince = null
    else void this.look()
  }

  #isPatienceOver(): boolean {
    this.#aheadSince ??= this.#clock()
    return this.#clock() - this.#aheadSince >= PATIENCE_MS
  }

  /** Whether they continue what is known, all of them. */
  async #takeChanges(changes: readonly Change[]): Promise<boolean> {
    const touched = nothingTouched()
    const news: { change: Change; edits: readonly Edit[] }[] = []
    let { revision, digest } = this.#state.head
    for (const change of changes) {
      if (change.revision <= revision) continue
      const isNext = change.revision === revision + 1 && change.previous === digest
      if (!isNext || digestOf(change.previous, change.edits) !== change.digest) return false
      news.push({ change, edits: JSON.parse(change.edits) as Edit[] })
      ;({ revision, digest } = change)
    }
    if (news.length === 0) return false
    for (const { edits } of news) this.#state.apply(edits, touched)
    const last = news.at(-1)!.change
    await this.#inForce({ revision, digest }, touched, last.since ?? undefined)
    return true
  }

  async #takeWhole(snapshot: Snapshot): Promise<void> {
    const touched = this.#state.reset(snapshot)
    await this.#inForce(snapshot, touched)
    this.#newest = Math.max(this.#newest, snapshot.revision)
  }

  async #inForce({ revision, digest }: Head, touched: Touched, since?: number): Promise<void> {
    const { enforce, inForce, file } = this.#parts
    await enforce(this.#state, touched, since)
    this.#state.head = { revision, digest }
    this.#isKnown = true
    inForce?.(this.#state.head)
    file?.keep(this.#state)
    for (const waiter of this.#waiters) if (waiter.revision <= revision) waiter.done()
  }
}

/** Whether the changes lead from one revision to the other, each continuing the one before. */
function leadsTo(to: Head, from: Head, changes: readonly Change[]): boolean {
  let { revision, digest } = from
  for (const change of changes) {
    if (change.revision <= revision) continue
    if (change.revision !== revision + 1 || change.previous !== digest) return false
    ;({ revision, digest } = change)
  }
  return revision >= to.revision
}
