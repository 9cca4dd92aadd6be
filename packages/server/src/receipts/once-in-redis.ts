/**
 * What may happen once, agreed on over Redis. A claim says whose it is and lives a few seconds; it is
 * prolonged to an hour before anything is done, and then becomes the answer. So a claim that Redis heard of
 * too late blocks nobody for long, one whose work has begun is never taken over, and an instance knows its
 * own: what it is not working on, it has not begun.
 */
import { randomUUID } from 'node:crypto'
import { GOOD_FOR_MS, NotDone, type Once, UnderWay } from './once.js'

/** What is needed of ioredis. */
export interface OnceRedis {
  set(key: string, value: string, px: 'PX', ms: number, condition: 'NX' | 'XX'): Promise<unknown>
  get(key: string): Promise<string | null>
  del(key: string): Promise<unknown>
}

const CLAIMED_FOR_MS = 5000

export class OnceInRedis implements Once {
  readonly #redis: OnceRedis
  readonly #prefix: string
  readonly #deadlineMs: number
  readonly #claim = `?${randomUUID()}`
  readonly #running = new Map<string, Promise<string>>()

  constructor(redis: OnceRedis, prefix: string, deadlineMs: number) {
    this.#redis = redis
    this.#prefix = prefix
    this.#deadlineMs = deadlineMs
  }

  async run(id: string, _since: number, work: () => Promise<string>): Promise<string> {
    const running = this.#running.get(id)
    if (running !== undefined) return running
    const answer = this.#run(`${this.#prefix}:once:${id}`, work).finally(() =>
      this.#running.delete(id),
    )
    this.#running.set(id, answer)
    return answer
  }

  async #run(key: string, work: () => Promise<string>): Promise<string> {
    const known = await this.#begin(key)
    if (known !== null) return known
    try {
      const answer = await work()
      await this.#within(this.#redis.set(key, answer, 'PX', GOOD_FOR_MS, 'XX')).catch(() => {})
      return answer
    } catch (error) {
      if (error instanceof NotDone) await this.#within(this.#redis.del(key)).catch(() => {})
      throw error
    }
  }

  /** The answer that is there; null: the claim is ours, for an hour. */
  async #begin(key: string): Promise<string | null> {
    try {
      const claimed = await this.#within(
        this.#redis.set(key, this.#claim, 'PX', CLAIMED_FOR_MS, 'NX'),
      )
      if (claimed === null) {
        const known = await this.#within(this.#redis.get(key))
        if (known !== null && !known.startsWith('?')) return known
        if (known !== null && known !== this.#claim) throw new UnderWay('under way elsewhere')
      }
      const kept = await this.#within(this.#redis.set(key, this.#claim, 'PX', GOOD_FOR_MS, 'XX'))
      if (kept === null) throw new NotDone('the claim was lost')
      return null
    } catch (cause) {
      if (cause instanceof UnderWay || cause instanceof NotDone) throw cause
      throw new NotDone('the store cannot be asked', { cause })
    }
  }

  async #within<T>(reply: Promise<T>): Promise<T> {
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<never>((_resolve, reject) => {
      timer = setTimeout(() => reject(new Error('no answer in time')), this.#deadlineMs)
    })
    try {
      return await Promise.race([reply, late])
    } finally {
      clearTimeout(timer)
      reply.catch(() => {})
    }
  }
}
