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
/** A data plane that is reading a snapshot when the next one comes has this long to finish, */
const OLD_SNAPSHOT_SECONDS = 600
/** or until so many more have come: reading one takes no longer than making one. */
const OLD_SNAPSHOTS = 3

/** Appends a change where it continues the head. Answers 1, or 0 where it does not. */
const APPEND = `
local revision = tonumber(redis.call('HGET', KEYS[1], 'revision') or '')
local digest = redis.call('HGET', KEYS[1], 'digest')
if revision ~= tonumber(ARGV[1]) - 1 or digest ~= ARGV[2] then return 0 end
redis.call('XADD', KEYS[2], 'MAXLEN', '~', ARGV[5], '*', 'revision', ARGV[1], 'previous', ARGV[2], 'digest', ARGV[3], 'edits', ARGV[4])
redis.call('HSET', KEYS[1], 'revision', ARGV[1], 'digest', ARGV[3])
return 1`

/**
 * Puts a snapshot in the place of the one before, where that is still the one that was seen. With ARGV[4]
 * the head, where it is still the one that was seen, becomes the snapshot's; the log, which does not lead
 * there, is dropped, and begins with one empty entry that wakes whoever follows. Answers the snapshots
 * before, the last one first (those beyond ARGV[6] are not remembered any more); or nil where another
 * publisher has been there meanwhile.
 */
const REPLACE = `
local head = redis.call('HMGET', KEYS[1], 'snapshot', 'digest')
local snapshot = head[1] or ''
if snapshot ~= ARGV[7] or (ARGV[4] == '1' and (head[2] or '') ~= ARGV[8]) then return nil end
redis.call('PERSIST', KEYS[3])
redis.call('HSET', KEYS[1], 'snapshot', KEYS[3], 'snapshot_revision', ARGV[1], 'snapshot_digest', ARGV[2], 'parts', ARGV[3])
if ARGV[4] == '1' then
  redis.call('DEL', KEYS[2])
  redis.call('XADD', KEYS[2], 'MAXLEN', '~', ARGV[5], '*', 'revision', ARGV[1], 'previous', '', 'digest', ARGV[2], 'edits', '')
  redis.call('HSET', KEYS[1], 'revision', ARGV[1], 'digest', ARGV[2])
end
if snapshot ~= '' then redis.call('LPUSH', KEYS[4], snapshot) end
local old = redis.call('LRANGE', KEYS[4], 0, -1)
redis.call('LTRIM', KEYS[4], 0, tonumber(ARGV[6]) - 1)
return old`

/** What is under the head's key. */
type Found = Readonly<Record<string, string>>

/** `overtaken`: another publisher has been there meanwhile, so it has to be looked at again. */
type Outcome = number | 'snapshot' | 'replaced' | 'overtaken'

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
  async publish(source: FeedSource): Promise<Exclude<Outcome, 'overtaken'>> {
    for (;;) {
      const outcome = await this.#attempt(source)
      if (outcome !== 'overtaken') return outcome
    }
  }

  async #attempt(source: FeedSource): Promise<Outcome> {
    // In this order: what is there is never further along than a source that is asked later.
    const there = await this.#redis.hgetall(this.#keys.head)
    const newest = await source.head()
    if (newest === null) return 0
    const known = headOf(there)
    if (known === null || there['snapshot'] === undefined) return this.#replace(source, there, true)
    if (isSame(known, newest)) return this.#renew(source, there, 0)
    if (known.revision >= newest.revision) return this.#replaceOther(source, there)
    const changes = await source.changesAfter(known.revision)
    if (changes === null) return this.#replace(source, there, true)
    let { digest } = known
    let published = 0
    for (const change of changes) {
      const isLarge = change.edits.length > LARGEST_CHANGE
      if (isLarge || !(await this.#append(change))) {
        const isOther = !isLarge && published === 0 && change.previous !== known.digest
        const seen = { ...there, digest }
        return isOther ? this.#replaceOther(source, seen) : this.#replace(source, seen, true)
      }
      ;({ digest } = change)
      published++
    }
    return this.#renew(source, await this.#redis.hgetall(this.#keys.head), published)
  }

  /** What Redis has is the history of something else. */
  async #replaceOther(source: FeedSource, there: Found): Promise<Outcome> {
    const outcome = await this.#replace(source, there, true)
    return outcome === 'overtaken' ? outcome : 'replaced'
  }

  async #append({ revision, previous, digest, edits }: Change): Promise<boolean> {
    const { head, log } = this.#keys
    const args = [revision, previous, digest, edits, LONGEST_LOG]
    return (await this.#redis.eval(APPEND, 2, head, log, ...args)) === 1
  }

  /** A snapshot where the log has become long, or does not continue the one there is. */
  async #renew(source: FeedSource, there: Found, published: number): Promise<Outcome> {
    const behind = Number(there['revision']) - Number(there['snapshot_revision'])
    if (behind === 0) return published
    const kept = await this.#redis.xlen(this.#keys.log)
    if (behind < CHANGES_PER_SNAPSHOT && behind <= kept) return published
    const outcome = await this.#replace(source, there, false)
    return outcome === 'overtaken' ? outcome : published
  }

  /** `isHead`: what Redis has does not lead to it. */
  async #replace(
    source: FeedSource,
    there: Found,
    isHead: boolean,
  ): Promise<'snapshot' | 'overtaken'> {
    const snapshot = await source.snapshot()
    if (snapshot === null) throw new Error('there is nothing to publish')
    const key = this.#keys.snapshot(snapshot.revision, randomUUID().slice(0, 8))
    const parts = await this.#write(key, snapshot)
    const { head, log, oldSnapshots } = this.#keys
    const { revision, digest } = snapshot
    const args = [revision, digest, parts, Number(isHead), LONGEST_LOG, OLD_SNAPSHOTS]
    const seen = [there['snapshot'] ?? '', there['digest'] ?? '']
    const old = await this.#redis.eval(REPLACE, 4, head, log, key, oldSnapshots, ...args, ...seen)
    if (old === null) {
      await this.#redis.unlink(key)
      return 'overtaken'
    }
    await this.#letGo(old as string[])
    return 'snapshot'
  }

  /** The last one first. */
  async #letGo(old: readonly string[]): Promise<void> {
    if (old[0] !== undefined) await this.#redis.expire(old[0], OLD_SNAPSHOT_SECONDS)
    const tooMany = old.slice(OLD_SNAPSHOTS)
    if (tooMany.length > 0) await this.#redis.unlink(...tooMany)
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
