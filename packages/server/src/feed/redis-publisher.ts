/**
 * Brings a history of changes to Redis, where data planes follow it. What Redis has is looked at every
 * time: it may have been emptied, or have lost the last writes in a failover, and is then brought up to
 * date, by changes where these continue what it has, else by a snapshot.
 */
import { randomUUID } from 'node:crypto'
import type { Change, FeedSource, Head, Snapshot } from './change.js'
import type { FeedKeys, FeedRedis } from './feed-redis.js'

/** Entries of the log that are kept. */
const LONGEST_LOG = 2000
/** A new snapshot is made when the log has grown by so many changes since the last, so that a start is quick. */
const CHANGES_PER_SNAPSHOT = 1000
/** A change with more characters than this is not in the log: data planes take the snapshot. */
const LARGEST_CHANGE = 256 * 1024
/** Bytes of a part of a snapshot, about. */
const PART_BYTES = 256 * 1024
/** Whoever is reading a snapshot when the next one comes has this long to finish. */
const OLD_SNAPSHOT_SECONDS = 600

/** Appends a change where it continues the head. Answers 1, or 0 where it does not. */
const APPEND = `
local revision = tonumber(redis.call('HGET', KEYS[1], 'revision') or '')
local digest = redis.call('HGET', KEYS[1], 'digest')
if revision ~= tonumber(ARGV[1]) - 1 or digest ~= ARGV[2] then return 0 end
redis.call('XADD', KEYS[2], 'MAXLEN', '~', ARGV[5], '*', 'revision', ARGV[1], 'previous', ARGV[2], 'digest', ARGV[3], 'edits', ARGV[4])
redis.call('HSET', KEYS[1], 'revision', ARGV[1], 'digest', ARGV[3])
return 1`

/**
 * Puts a snapshot in the place of the one before. Where the head is not further along in the same history
 * it becomes the snapshot's; the log, which does not lead there, is dropped, and begins with one empty
 * entry that wakes whoever follows.
 */
const REPLACE = `
local head = redis.call('HMGET', KEYS[1], 'revision', 'digest', 'snapshot')
local revision = tonumber(head[1] or '')
redis.call('PERSIST', KEYS[3])
redis.call('HSET', KEYS[1], 'snapshot', KEYS[3], 'snapshot_revision', ARGV[1], 'snapshot_digest', ARGV[2], 'parts', ARGV[3])
if ARGV[4] == '1' or revision == nil then
  redis.call('DEL', KEYS[2])
  redis.call('XADD', KEYS[2], 'MAXLEN', '~', ARGV[5], '*', 'revision', ARGV[1], 'previous', '', 'digest', ARGV[2], 'edits', '')
  redis.call('HSET', KEYS[1], 'revision', ARGV[1], 'digest', ARGV[2])
end
return head[3] or ''`

export class RedisPublisher {
  readonly #redis: FeedRedis
  readonly #keys: FeedKeys

  constructor(redis: FeedRedis, keys: FeedKeys) {
    this.#redis = redis
    this.#keys = keys
  }

  /** What Redis has; null where that is nothing. */
  async head(): Promise<Head | null> {
    return headOf(await this.#redis.hgetall(this.#keys.head))
  }

  /**
   * Afterwards Redis has all that the source has. Answers how many changes it was given, `snapshot`, or
   * `replaced` where it had the history of something else.
   */
  async publish(source: FeedSource): Promise<number | 'snapshot' | 'replaced'> {
    const newest = await source.head()
    if (newest === null) return 0
    const there = await this.#redis.hgetall(this.#keys.head)
    const known = headOf(there)
    if (known === null || there['snapshot'] === undefined) return this.#replace(source, true)
    if (isSame(known, newest)) return this.#renew(source, there)
    if (known.revision >= newest.revision) {
      await this.#replace(source, true)
      return 'replaced'
    }
    const changes = await source.changesAfter(known.revision)
    if (changes === null) return this.#replace(source, true)
    let published = 0
    for (const change of changes) {
      if (change.edits.length > LARGEST_CHANGE) return this.#replace(source, true)
      if (!(await this.#append(change))) {
        await this.#replace(source, true)
        return published === 0 && change.previous !== known.digest ? 'replaced' : 'snapshot'
      }
      published++
    }
    await this.#renew(source, await this.#redis.hgetall(this.#keys.head))
    return published
  }

  async #append({ revision, previous, digest, edits }: Change): Promise<boolean> {
    const { head, log } = this.#keys
    const args = [revision, previous, digest, edits, LONGEST_LOG]
    return (await this.#redis.eval(APPEND, 2, head, log, ...args)) === 1
  }

  /** A snapshot where the log has become long, or does not continue the one there is. */
  async #renew(source: FeedSource, there: Record<string, string>): Promise<number> {
    const behind = Number(there['revision']) - Number(there['snapshot_revision'])
    if (behind === 0) return 0
    const kept = await this.#redis.xlen(this.#keys.log)
    if (behind >= CHANGES_PER_SNAPSHOT || behind > kept) await this.#replace(source, false)
    return 0
  }

  /** `isHead`: what Redis has does not lead to it. */
  async #replace(source: FeedSource, isHead: boolean): Promise<'snapshot'> {
    const snapshot = await source.snapshot()
    if (snapshot === null) throw new Error('there is nothing to publish')
    const key = this.#keys.snapshot(snapshot.revision, randomUUID().slice(0, 8))
    const parts = await this.#write(key, snapshot)
    const { head, log } = this.#keys
    const { revision, digest } = snapshot
    const args = [revision, digest, parts, Number(isHead), LONGEST_LOG]
    const before = await this.#redis.eval(REPLACE, 3, head, log, key, ...args)
    if (typeof before === 'string' && before !== '' && before !== key)
      await this.#redis.expire(before, OLD_SNAPSHOT_SECONDS)
    return 'snapshot'
  }

  /** In parts, so that no single command is a long one. Answers how many. */
  async #write(key: string, { edits }: Snapshot): Promise<number> {
    let parts = 0
    const push = async (texts: readonly string[]) => {
      await this.#redis.rpush(key, `[${texts.join()}]`)
      // Unless it is finished it goes away by itself.
      if (parts++ === 0) await this.#redis.expire(key, OLD_SNAPSHOT_SECONDS)
    }
    let texts: string[] = []
    let bytes = 0
    for (const edit of edits) {
      const text = JSON.stringify(edit)
      texts.push(text)
      bytes += text.length
      if (bytes < PART_BYTES) continue
      await push(texts)
      texts = []
      bytes = 0
    }
    await push(texts)
    return parts
  }
}

function headOf({ revision, digest }: Record<string, string>): Head | null {
  return revision === undefined || digest === undefined
    ? null
    : { revision: Number(revision), digest }
}

function isSame(a: Head, b: Head): boolean {
  return a.revision === b.revision && a.digest === b.digest
}
