/** What is counted in Redis, against exact counters that share no code with it. */
import * as fc from 'fast-check'
import type { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createLimiter, type Decision, type Limiter } from '../../src/index.js'
import { redisStore } from '../../src/redis.js'
import { buckets, type LimitSpec, limitOf, oracleOf, smallLimits } from '../properties/limits.js'
import type { Oracle } from '../properties/oracle.js'
import { connected } from './over-redis.js'
import { RedisServer } from './servers.js'

const SUBJECT = { user: 'ada' }
const BUCKETS = new Set(['token_bucket', 'gcra', 'leaky_bucket'])

let played = 0

type Step =
  | { readonly does: 'check'; readonly cost: bigint }
  | { readonly does: 'wait'; readonly us: bigint }
  | { readonly does: 'overrun'; readonly more: bigint }
  /** Another limit, which is lower or higher; of a bucket another burst. */
  | { readonly does: 'change'; readonly limit: bigint }

const does = <D extends Step['does']>(deed: D) => fc.constant(deed)

function stepsOf({ burst, window }: LimitSpec): fc.Arbitrary<Step[]> {
  const step = fc.oneof(
    { weight: 5, arbitrary: fc.record({ does: does('check'), cost: fc.bigInt(1n, burst + 1n) }) },
    {
      weight: 3,
      arbitrary: fc.record({
        does: does('wait'),
        us: fc.oneof(fc.bigInt(0n, window), fc.bigInt(0n, window / burst)),
      }),
    },
    {
      weight: 2,
      arbitrary: fc.record({ does: does('overrun'), more: fc.bigInt(1n, 3n * burst) }),
    },
    {
      weight: 2,
      arbitrary: fc.record({ does: does('change'), limit: fc.bigInt(1n, 2n * burst) }),
    },
  )
  return fc.array(step, { minLength: 4, maxLength: 16 })
}

class Counted {
  now = 1_780_000_000_123_457n
  readonly #spec: LimitSpec
  readonly #oracle: Oracle
  readonly #limiter: Limiter

  constructor(spec: LimitSpec, client: Redis) {
    this.#spec = spec
    this.#oracle = oracleOf(spec)
    const clock = () => Number(this.now) / 1000
    const prefix = `used-${played++}`
    const store = redisStore(client, { testClock: clock, prefix, deadlineMs: 60_000 })
    this.#limiter = createLimiter({ ...rulesOf(spec), store, clock })
  }

  async do(step: Step): Promise<void> {
    if (step.does === 'wait') this.now += step.us
    else if (step.does === 'check') await this.#check(step.cost)
    else if (step.does === 'overrun') await this.#overrun(step.more)
    else {
      const amount = BUCKETS.has(this.#spec.algorithm) ? this.#spec.amount : step.limit
      this.#limiter.setRules(rulesOf({ ...this.#spec, amount, burst: step.limit }))
      this.#oracle.limit = step.limit
    }
    this.#expectCounted(await this.#limiter.peek({ subject: SUBJECT }))
  }

  async #check(cost: bigint): Promise<void> {
    const decision = await this.#limiter.check({
      subject: SUBJECT,
      costs: { requests: Number(cost) },
    })
    if (decision.allowed) this.#oracle.take(cost, this.now, '')
    this.#expectCounted(decision)
  }

  async #overrun(more: bigint): Promise<void> {
    const reservation = await this.#limiter.reserve({ subject: SUBJECT })
    if (!reservation.allowed) return
    await reservation.settle(Number(1n + more))
    this.#oracle.charge(1n + more, this.now)
  }

  #expectCounted({ limit, used, remaining, limits }: Decision): void {
    const counted = {
      limit: Number(this.#oracle.limit),
      used: Number(this.#oracle.used(this.now)),
      remaining: Number(this.#oracle.remaining(this.now)),
    }
    expect({ limit, used, remaining }).toEqual(counted)
    expect(limits).toMatchObject([counted])
  }

  close(): Promise<void> {
    return this.#limiter.close()
  }
}

function rulesOf(spec: LimitSpec) {
  return { rules: { rule: { scope: 'user', limits: limitOf(spec) } } }
}

describe('what is used in Redis', () => {
  let server: RedisServer
  let client: Redis
  beforeAll(async () => {
    server = await RedisServer.start()
    client = await connected(server, { socketTimeout: 30_000 })
  })
  afterAll(async () => {
    client.disconnect()
    await server.stop()
  })

  it.each([
    ['small limits of every algorithm', smallLimits(), 300],
    ['buckets of any size', buckets('token_bucket', 5n, 10_000_000n), 150],
  ])('is what an exact counter says, in debt and after changes: %s', async (_name, specs, runs) => {
    const cases = specs
      .filter(({ window, burst }) => window > burst)
      .chain((spec) => fc.record({ spec: fc.constant(spec), steps: stepsOf(spec) }))
    await fc.assert(
      fc.asyncProperty(cases, async ({ spec, steps }) => {
        const counted = new Counted(spec, client)
        for (const step of steps) await counted.do(step)
        await counted.close()
      }),
      { numRuns: runs },
    )
  })
})
