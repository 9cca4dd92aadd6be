/**
 * What may happen once, agreed on over Redis. The key of an id holds, in this order:
 *
 *   ?TOKEN    claimed: nothing was begun. Lives a few seconds, so a claim that Redis heard of too late blocks
 *             the id only briefly. The instance that made it may run.
 *   ?!TOKEN   begun: the work may have been done. Lives an hour and never runs again, except that the instance
 *             whose token it is may, where it knows that it did not run; it also takes it away then.
 *   ?~        the work ended and its outcome is not known.
 *   otherwise the answer.
 *
 * A token names the instance and the attempt. Every change compares what is there, so that a command which
 * Redis hears late changes nothing that came after it.
 */
import { randomUUID } from 'node:crypto'
import { noAnswer, within } from '../within.js'
import {
  type GivenOut,
  GOOD_FOR_MS,
  InProgress,
  NotDone,
  type Once,
  OutcomeUnknown,
} from './once.js'

/** What is needed of ioredis. */
export interface OnceRedis {
  set(key: string, value: string, px: 'PX', ms: number, condition: 'NX'): Promise<unknown>
  eval(script: string, keys: 1, key: string, ...args: string[]): Promise<unknown>
}

const CLAIMED_FOR_MS = 5000
/** Work takes a few deadlines of the store: what began longer ago has ended, or was cut off. */
const LEAST_WORK_MS = 10_000
const DEADLINES_OF_WORK = 5
const MOST_NOT_RUN = 10_000

/** What is there, and how long it lives. */
const LOOK = `return { redis.call('GET', KEYS[1]), redis.call('PTTL', KEYS[1]) }`
/** Puts ARGV[2] for ARGV[3] ms, or nothing, in the place of ARGV[1]; answers whether that was there. */
const REPLACE = `
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
if ARGV[2] == '' then redis.call('DEL', KEYS[1])
else redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3]) end
return 1`

/** The same, also where nothing is there: Redis has lost that it was begun, and it must not begin again. */
const END = `
local there = redis.call('GET', KEYS[1])
if there and there ~= ARGV[1] then return 0 end
if ARGV[2] == '' then redis.call('DEL', KEYS[1])
else redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3]) end
return 1`

/** Takes away a claim (ARGV[1]), or what was begun in its place (ARGV[2]). */
const LET_GO = `
local there = redis.call('GET', KEYS[1])
if there == ARGV[1] or there == ARGV[2] then redis.call('DEL', KEYS[1]) end
return 1`
const LET_GO_AFTER_MS = [0, 200, 500, 1000, 2000, 4000]

const BEGUN = '?!'
const UNKNOWN = '?~'

export class OnceInRedis implements Once {
  readonly #redis: OnceRedis
  readonly #prefix: string
  readonly #deadlineMs: number
  readonly #longestWorkMs: number
  readonly #instance = randomUUID()
  #attempts = 0
  readonly #running = new Map<string, Promise<string>>()
  /** What was begun by this instance, as far as Redis may know, and certainly not run; the oldest are forgotten. */
  readonly #notRun = new Set<string>()

  constructor(redis: OnceRedis, prefix: string, deadlineMs: number) {
    this.#redis = redis
    this.#prefix = prefix
    this.#deadlineMs = deadlineMs
    this.#longestWorkMs = Math.max(LEAST_WORK_MS, DEADLINES_OF_WORK * deadlineMs)
  }

  async run(id: string, _given: GivenOut, work: () => Promise<string>): Promise<string> {
    const running = this.#running.get(id)
    if (running !== undefined) return running
    const answer = this.#run(`${this.#prefix}:once:${id}`, work).finally(() =>
      this.#running.delete(id),
    )
    this.#running.set(id, answer)
    return answer
  }

  async #run(key: string, work: () => Promise<string>): Promise<string> {
    const token = `${this.#instance}.${this.#attempts++}`
    const begun = `${BEGUN}${token}`
    const known = await this.#begin(key, token)
    if (known !== null) return known
    try {
      const answer = await work()
      await this.#replace(END, key, begun, answer).catch(() => {})
      return answer
    } catch (error) {
      const isNotDone = error instanceof NotDone
      if (isNotDone) this.#remember(begun)
      await this.#replace(END, key, begun, isNotDone ? '' : UNKNOWN).catch(() => {
        if (isNotDone) void this.#letGo(key, begun, begun)
      })
      throw error
    }
  }

  /** The answer that is there; null: it is begun, by this attempt. */
  async #begin(key: string, token: string): Promise<string | null> {
    const begun = `${BEGUN}${token}`
    try {
      const claim = `?${token}`
      const claimed = await this.#within(this.#redis.set(key, claim, 'PX', CLAIMED_FOR_MS, 'NX'))
      const found = claimed === null ? await this.#found(key) : claim
      if (!found.startsWith('?')) return found
      // Until Redis has answered, it may be begun there.
      this.#remember(begun)
      const isBegun = await this.#replace(REPLACE, key, found, begun).catch((error: unknown) => {
        void this.#letGo(key, found, begun)
        throw error
      })
      if (!isBegun) throw new NotDone('the claim was lost')
      this.#notRun.delete(begun)
      return null
    } catch (cause) {
      if (
        cause instanceof InProgress ||
        cause instanceof OutcomeUnknown ||
        cause instanceof NotDone
      )
        throw cause
      throw new NotDone('the store cannot be asked', { cause })
    }
  }

  /** The answer, or what this instance may begin in the place of. */
  async #found(key: string): Promise<string> {
    const [found, livesMs] = (await this.#within(this.#redis.eval(LOOK, 1, key))) as [
      string | null,
      number,
    ]
    if (found === null) throw new NotDone('the claim was lost')
    if (!found.startsWith('?') || found.startsWith(`?${this.#instance}.`)) return found
    if (this.#notRun.has(found)) return found
    // The previous release marks what it has begun by its life alone.
    const isBegun = found.startsWith(BEGUN) || livesMs > CLAIMED_FOR_MS
    if (found === UNKNOWN || (isBegun && livesMs < GOOD_FOR_MS - this.#longestWorkMs))
      throw new OutcomeUnknown('it was begun, and whether it was done is not known')
    throw new InProgress('it is under way')
  }

  /**
   * What certainly did not run must not keep other instances from running it: they cannot know. Tries for some
   * seconds. Where Redis hears of it late, it compares, so that nothing that came after is taken away.
   */
  async #letGo(key: string, claim: string, begun: string): Promise<void> {
    for (const ms of LET_GO_AFTER_MS) {
      await new Promise((resolve) => setTimeout(resolve, ms).unref())
      try {
        await this.#within(this.#redis.eval(LET_GO, 1, key, claim, begun))
        return
      } catch {
        // Redis may be back the next time.
      }
    }
  }

  #remember(begun: string): void {
    this.#notRun.add(begun)
    if (this.#notRun.size <= MOST_NOT_RUN) return
    const [oldest] = this.#notRun
    this.#notRun.delete(oldest!)
  }

  /** What the script answers. An empty `after` takes away what is there. */
  async #replace(script: string, key: string, before: string, after: string): Promise<boolean> {
    const reply = this.#redis.eval(script, 1, key, before, after, String(GOOD_FOR_MS))
    return (await this.#within(reply)) === 1
  }

  #within<T>(reply: Promise<T>): Promise<T> {
    return within(this.#deadlineMs, reply, noAnswer)
  }
}
