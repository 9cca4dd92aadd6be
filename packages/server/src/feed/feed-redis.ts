/**
 * Where the feed is in Redis, and what is needed of a client. Four kinds of keys, in one slot of a
 * cluster:
 *
 * - `head`, a hash: `revision` and `digest` of the newest change; `snapshot`, the key of the newest
 *   snapshot, its `snapshot_revision` and `snapshot_digest`;
 * - `log`, a stream of changes (`revision`, `digest`, `previous`, `edits`), the last two thousand; the time
 *   in an entry's id is when the change took effect by the store's clock;
 * - `snapshot:…`, a list of texts, each a JSON array of edits;
 * - `old`, a list: the keys of the last snapshots before the newest, which somebody may still be reading.
 *
 * A change is appended only where it continues the head, in one step; so it does not matter how many
 * publishers there are, or how often one of them says the same.
 */

export type StreamEntry = [id: string, fields: string[]]

/** What is needed of ioredis. */
export interface FeedRedis {
  hgetall(key: string): Promise<Record<string, string>>
  lrange(key: string, start: number, end: number): Promise<string[]>
  rpush(key: string, ...values: string[]): Promise<number>
  expire(key: string, seconds: number): Promise<number>
  unlink(...keys: string[]): Promise<number>
  xrange(key: string, start: string, end: string, count: 'COUNT', n: number): Promise<StreamEntry[]>
  xlen(key: string): Promise<number>
  xread(
    block: 'BLOCK',
    ms: number,
    streams: 'STREAMS',
    key: string,
    id: string,
  ): Promise<[string, StreamEntry[]][] | null>
  eval(script: string, keys: number, ...args: (string | number)[]): Promise<unknown>
  hdel(key: string, ...fields: string[]): Promise<number>
  disconnect(): void
}

export class FeedKeys {
  readonly head: string
  readonly log: string
  readonly oldSnapshots: string
  readonly planes: string
  readonly #prefix: string

  constructor(prefix: string) {
    this.#prefix = `${prefix}:{feed}`
    this.head = `${this.#prefix}:head`
    this.log = `${this.#prefix}:log`
    this.oldSnapshots = `${this.#prefix}:old`
    this.planes = `${this.#prefix}:planes`
  }

  snapshot(revision: number, id: string): string {
    return `${this.#prefix}:snapshot:${revision}:${id}`
  }
}

export function fieldsOf([, fields]: StreamEntry): Record<string, string> {
  const named: Record<string, string> = {}
  for (let i = 0; i + 1 < fields.length; i += 2) named[fields[i]!] = fields[i + 1]!
  return named
}
