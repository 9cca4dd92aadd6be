/** What may happen once, agreed on over Redis. A claim without an answer stays: at most once, never twice. */
import { GOOD_FOR_MS, NobodyKnows, type Once, UnderWay } from './once.js'

/** What is needed of ioredis. */
export interface OnceRedis {
  set(key: string, value: string, px: 'PX', ms: number, nx: 'NX'): Promise<unknown>
  set(key: string, value: string, keepTtl: 'KEEPTTL'): Promise<unknown>
  get(key: string): Promise<string | null>
}

const UNDER_WAY = '?'

export class OnceInRedis implements Once {
  readonly #redis: OnceRedis
  readonly #prefix: string

  constructor(redis: OnceRedis, prefix: string) {
    this.#redis = redis
    this.#prefix = prefix
  }

  async run(id: string, _since: number, work: () => Promise<string>): Promise<string> {
    const key = `${this.#prefix}:once:${id}`
    let claimed: unknown
    try {
      claimed = await this.#redis.set(key, UNDER_WAY, 'PX', GOOD_FOR_MS, 'NX')
      if (claimed === null) {
        const known = await this.#redis.get(key)
        if (known !== null && known !== UNDER_WAY) return known
      }
    } catch (cause) {
      throw new NobodyKnows('the store cannot be asked', { cause })
    }
    if (claimed === null) throw new UnderWay('under way')
    const answer = await work()
    await this.#redis.set(key, answer, 'KEEPTTL').catch(() => {})
    return answer
  }
}
