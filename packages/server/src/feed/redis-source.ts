/** The feed as a data plane reads it from Redis: head, log and snapshot; woken by the log as it grows. */
import { setTimeout as wait } from 'node:timers/promises'
import type { Change, Edit, FeedSource, Head, Snapshot } from './change.js'
import { type FeedKeys, type FeedRedis, fieldsOf, type StreamEntry } from './feed-redis.js'

const PAGE = 500
const BLOCK_MS = 1000
const AGAIN_AFTER_MS = 200

export class RedisSource implements FeedSource {
  readonly #redis: FeedRedis
  /** Another connection: it waits for the log. */
  readonly #waiting: FeedRedis
  readonly #keys: FeedKeys
  /** The entry of the last change that was read, so that the log need not be read from its beginning. */
  #read: { revision: number; id: string } | null = null

  constructor(redis: FeedRedis, waiting: FeedRedis, keys: FeedKeys) {
    this.#redis = redis
    this.#waiting = waiting
    this.#keys = keys
  }

  async head(): Promise<Head | null> {
    const { revision, digest } = await this.#redis.hgetall(this.#keys.head)
    if (revision === undefined || digest === undefined) return null
    return { revision: Number(revision), digest }
  }

  async snapshot(): Promise<Snapshot | null> {
    const head = await this.#redis.hgetall(this.#keys.head)
    const { snapshot, snapshot_revision: revision, snapshot_digest: digest, parts } = head
    if (snapshot === undefined || digest === undefined) return null
    const edits: Edit[] = []
    const count = Number(parts)
    for (let i = 0; i < count; i++) {
      const [part] = await this.#redis.lrange(snapshot, i, i)
      if (part === undefined) return null
      for (const edit of JSON.parse(part) as Edit[]) edits.push(edit)
    }
    this.#read = null
    return { revision: Number(revision), digest, edits }
  }

  async changesAfter(revision: number): Promise<Change[] | null> {
    const changes: Change[] = []
    let leadsOn = true
    let from = this.#read?.revision === revision ? `(${this.#read.id}` : '-'
    for (;;) {
      const entries = await this.#redis.xrange(this.#keys.log, from, '+', 'COUNT', PAGE)
      for (const entry of entries) {
        const change = changeOf(entry)
        if (change === null) continue
        if (change.edits === '') {
          // What comes before was of another history, or is in the snapshot; nothing leads past it.
          changes.length = 0
          this.#read = null
          leadsOn = change.revision <= revision
          continue
        }
        if (change.revision <= revision) continue
        changes.push(change)
        this.#read = { revision: change.revision, id: entry[0] }
      }
      if (entries.length < PAGE) break
      from = `(${entries.at(-1)![0]}`
    }
    return leadsOn && changes.length > 0 ? changes : null
  }

  watch(perhaps: () => void): () => void {
    const over = new AbortController()
    const follow = async () => {
      let last = '$'
      while (!over.signal.aborted) {
        try {
          const answer = await this.#waiting.xread(
            'BLOCK',
            BLOCK_MS,
            'STREAMS',
            this.#keys.log,
            last,
          )
          const entries = answer?.[0]?.[1] ?? []
          if (entries.length > 0) {
            last = entries.at(-1)![0]
            perhaps()
          }
        } catch {
          // The log may have been lost: whatever comes next is new.
          last = '$'
          await wait(AGAIN_AFTER_MS, undefined, { ref: false })
        }
      }
    }
    void follow()
    return () => {
      over.abort()
      this.#waiting.disconnect()
    }
  }
}

function changeOf(entry: StreamEntry): Change | null {
  const { revision, digest, previous, edits } = fieldsOf(entry)
  if (revision === undefined || digest === undefined || previous === undefined) return null
  const since = Number(entry[0].split('-')[0])
  return { revision: Number(revision), digest, previous, edits: edits ?? '', since }
}
