/** Who follows the feed, and how far each has come: every data plane says so in Redis, by Redis's clock. */
import { NEW_NAMES } from './change.js'
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
  /** Of an older release: it cannot read what is new in this one. */
  readonly isOlder: boolean
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

/** What an instance writes. Those of the previous release do not say what they know. */
interface Report extends Said {
  readonly knows?: readonly string[]
}

export class Planes {
  readonly #redis: FeedRedis
  readonly #keys: FeedKeys
  readonly #instance: string
  readonly #say: () => Said
  #timer: ReturnType<typeof setInterval> | undefined
  /** All that are there, as of the last look. */
  all: readonly Plane[] = []
  #knownBy = new Map<string, readonly string[]>()

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
      const report: Report = { ...this.#say(), knows: NEW_NAMES }
      await this.#redis.eval(SAY, 1, planes, this.#instance, JSON.stringify(report))
      const { planes: all, knownBy } = await this.#ask()
      this.all = all
      this.#knownBy = knownBy
    } catch {
      // The next one may get through.
    }
  }

  async #ask(): Promise<{ planes: Plane[]; knownBy: Map<string, readonly string[]> }> {
    const { planes: key } = this.#keys
    const [now, fields] = (await this.#redis.eval(ASK, 1, key)) as [string, string[]]
    const planes: Plane[] = []
    const knownBy = new Map<string, readonly string[]>()
    for (let i = 0; i + 1 < fields.length; i += 2) {
      const instance = fields[i]!
      const space = fields[i + 1]!.indexOf(' ')
      const silentMs = Number(now) - Number(fields[i + 1]!.slice(0, space))
      // Whoever is there says so every second, also after Redis's clock has stepped back.
      if (Math.abs(silentMs) > GONE_MS) {
        await this.#redis.hdel(key, instance)
        continue
      }
      const { knows = [], ...said } = JSON.parse(fields[i + 1]!.slice(space + 1)) as Report
      knownBy.set(instance, knows)
      const isOlder = NEW_NAMES.some((name) => !knows.includes(name))
      planes.push({ instance, ...said, seen: Math.max(0, silentMs) / 1000, isOlder })
    }
    planes.sort((a, b) => (a.instance < b.instance ? -1 : 1))
    return { planes, knownBy }
  }

  /** Of these names (NEW_NAMES), those that instances of an older release cannot read, and which instances. As of now, if Redis answers. */
  async lacking(names: readonly string[]): Promise<Map<string, string[]>> {
    await this.beat()
    const instances = this.all.map(({ instance }) => instance)
    const lacking = names.map((name): [string, string[]] => [
      name,
      instances.filter((instance) => !this.#knownBy.get(instance)!.includes(name)),
    ])
    return new Map(lacking.filter(([, all]) => all.length > 0))
  }

  async close(): Promise<void> {
    clearInterval(this.#timer)
    await this.#redis.hdel(this.#keys.planes, this.#instance).catch(() => undefined)
  }
}
