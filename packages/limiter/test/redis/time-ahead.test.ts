/** Rows in Redis that were written by a clock which has since stepped back by days. */
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import { createLimiter, type LimitText } from '../../src/index.js'
import { redisStore } from '../../src/redis.js'
import { Look } from './look.js'
import { connected } from './over-redis.js'
import { RedisServer } from './servers.js'

const ADA = { subject: { user: 'ada' } }
const DAYS_MS = 3 * 86_400_000

let look: Look
beforeAll(async () => {
  look = await Look.start()
})
afterEach(() => look.clear())
afterAll(() => look.stop())

it('a receipt from then gives nothing, also where nothing was asked since', async () => {
  const limiter = look.limiter({ rule: { scope: 'user', limits: '9/d fixed' } })
  look.now += DAYS_MS
  const taken = await limiter.check({ ...ADA, cost: 5 })
  look.now -= DAYS_MS
  await limiter.refund(taken)
  expect((await limiter.peek(ADA)).remaining).toBe(4)
})

it.each([
  ['9/d fixed', [4, 9]],
  ['9/d', [4, 5]],
] as const)('what another instance counts by %s is not counted as of then', async (text, left) => {
  const limits: LimitText[] = ['9/h fixed', text]
  const [older, newer] = [
    look.limiter({ rule: { scope: 'user', limits: '9/h fixed' } }),
    look.limiter({ rule: { scope: 'user', limits } }),
  ]
  look.now += DAYS_MS
  await newer.check({ ...ADA, cost: 4 })
  look.now -= DAYS_MS
  // Starts the row anew, with the other instance's column in it.
  expect(await older.check(ADA)).toMatchObject({ remaining: 4 })
  const { limits: said } = await newer.peek(ADA)
  expect(said.map(({ remaining }) => remaining)).toEqual(left)
})

it('a calendar window is started anew only by those who know its boundaries', async () => {
  const server = await RedisServer.start()
  const client = await connected(server)
  const [clock, time] = [{ now: look.now + DAYS_MS }, { now: look.now + DAYS_MS }]
  const store = redisStore(client, { testClock: () => time.now })
  const rules = { rule: { scope: 'user', limits: '5 per calendar day' } } as const
  const limiter = createLimiter({ rules, store, clock: () => clock.now })
  expect((await limiter.check({ ...ADA, cost: 5 })).allowed).toBe(true)
  // The clock of Redis alone steps back: the caller asks with the boundaries of three days later.
  time.now -= DAYS_MS
  expect((await limiter.check(ADA)).allowed).toBe(false)
  await limiter.close()
  client.disconnect()
  await server.stop()
})
