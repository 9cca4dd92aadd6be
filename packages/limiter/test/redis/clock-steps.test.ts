/** What an instance learns when Redis's clock has stepped back. That nothing is minted is in the conformance suite. */
import { expect, it } from 'vitest'
import { limiterOver, START } from './over-redis.js'
import { RedisServer } from './servers.js'

const DAY_MS = 86_400_000

it('rows that Redis wrote in the time ahead are started anew once, and the reply says so', async () => {
  const server = await RedisServer.start()
  const clock = { now: START }
  let steps = 0
  const over = await limiterOver(server, { r: { scope: 'user', limits: '5/h' } }, clock, {
    onClockStepBack: () => steps++,
  })
  const isAllowed = async () =>
    (await over.limiter.check({ subject: { user: 'ada' }, cost: 5 })).allowed
  clock.now += DAY_MS
  expect([await isAllowed(), steps]).toEqual([true, 0])
  clock.now -= DAY_MS
  expect([await isAllowed(), steps]).toEqual([false, 1])
  clock.now += 3_600_000
  expect([await isAllowed(), steps]).toEqual([true, 1])
  expect(over.store.health.clockStepsBack).toBe(1)
  await over.close()
  await server.stop()
})
