/** Who follows the feed, and how far each has come: every data plane says so in Redis, by Redis's clock. */
import type { FeedKeys, FeedRedis } from './feed-redis.js'

export interface Plane {
  /** One process. */
  readonly instance: string
  readonly host: string
  readonly revision: number
  /** For how long it has known of a newer revision, in seconds. */
  readonly lag: number
  /** How long ago it said so, in seconds. */
  readonly seen: number
}

const EVERY_MS = 1000
/** Whoever has said nothing for so long is not there any more. */
const GONE_MS = 10_000

const SAY = `
local time = redis.call('TIME')
redis.call('HSET', KEYS[1], ARGV[1], (time[1] * 1000 + math.floor(time[2] / 1000)) .. ' ' .. ARGV[2])
return 1`

const ASK = `
local time = redis.call('TIME')
return { tostring(time[1] * 1000 + math.floor(time[2] / 1000)), redis.call('HGETALL', KEYS[1]) }`

export interface Said {
  readonly host: string
  readonly revision: number
  readonly lag: number
}

export class Planes {
  readonly #redis: FeedRedis
  readonly #keys: FeedKeys
  readonly #instance: string
  readonly #say: () => Said
  #timer: ReturnType<typeof setInterval> | undefined
  /** All that are there, as of the last look. */
  all: readonly Plane[] = []

  constructor(redis: FeedRedis, keys: FeedKeys, instance: string, say: () => Said) {
    this.#redis = redis
    this.#keys = keys
    this.#instance = instance
    this.#say = say
  }

  start(): void {
    void this.beat()
    this.#timer = setInterval(() => void this.beat(), EVERY_MS)
    this.#timer.unref()
  }

  /** Says how far this one is, and hears of the others. Never rejects. */
  async beat(): Promise<void> {
    try {
      const { planes } = this.#keys
      await this.#redis.eval(SAY, 1, planes, this.#instance, JSON.stringify(this.#say()))
      this.all = await this.#ask()
    } catch {
      // The next one may get through.
    }
  }

  async #ask(): Promise<Plane[]> {
    const { planes: key } = this.#keys
    const [now, fields] = (await this.#redis.eval(ASK, 1, key)) as [string, string[]]
    const planes: Plane[] = []
    for (let i = 0; i + 1 < fields.length; i += 2) {
      const instance = fields[i]!
      const space = fields[i + 1]!.indexOf(' ')
      const silentMs = Number(now) - Number(fields[i + 1]!.slice(0, space))
      if (silentMs > GONE_MS) {
        await this.#redis.hdel(key, instance)
        continue
      }
      const said = JSON.parse(fields[i + 1]!.slice(space + 1)) as Said
      planes.push({ instance, ...said, seen: Math.max(0, silentMs) / 1000 })
    }
    return planes.sort((a, b) => (a.instance < b.instance ? -1 : 1))
  }

  async close(): Promise<void> {
    clearInterval(this.#timer)
    await this.#redis.hdel(this.#keys.planes, this.#instance).catch(() => undefined)
  }
}
