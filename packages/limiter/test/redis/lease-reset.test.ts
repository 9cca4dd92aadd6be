/** A grant or a reset while tokens are leased out: these count as used, stay with their holder, and stay taken. */
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createLimiter } from '../../src/index.js'
import { redisStore } from '../../src/redis.js'
import { connected } from './over-redis.js'
import { RedisServer } from './servers.js'

const LIMIT = 2000
/** What an hourly bucket of that size refills in half a minute. */
const REFILL = 20
const ADA = { subject: { user: 'ada' } }

let server: RedisServer
beforeAll(async () => {
  server = await RedisServer.start()
})
afterAll(() => server.stop())

describe.each(['2000/h', '2000/h fixed', '2000/h sliding', '2000/h exact'] as const)(
  'a limit of %s with leases out',
  (limits) => {
    it.each(['grant', 'reset'] as const)('stays within its amount after a %s', async (how) => {
      const client = await connected(server)
      const rules = { hot: { scope: 'user', limits } }
      const options = {
        deadlineMs: 20_000,
        prefix: `lease-${how}-${limits.replaceAll(/[ /]/g, '-')}`,
      }
      const leased = redisStore(client, { ...options, leases: true })
      const holder = createLimiter({ rules, store: leased })
      const strict = createLimiter({ rules, store: redisStore(client, options) })
      let used = 0
      for (let round = 0; round < 60; round++) {
        const asks = Array.from({ length: 10 }, () => holder.check(ADA))
        for (const { allowed } of await Promise.all(asks)) used += Number(allowed)
        await sleep(2)
      }
      const heldNow = () => {
        const { granted, spent, returned } = leased.health.leases.tokens
        return granted - spent - returned
      }
      const held = heldNow()
      expect(leased.health.leases.tokens.granted).toBeGreaterThan(0)
      if (how === 'grant') {
        const given = (await strict.refund({ ...ADA, cost: LIMIT }))!['requests']!
        // The holder may have given something back meanwhile; replies come in order.
        await client.ping()
        expect(given).toBeGreaterThanOrEqual(used + heldNow() - REFILL)
        expect(given).toBeLessThanOrEqual(used + held)
      } else expect(await strict.reset({ user: 'ada' })).toBe(1)
      let after = 0
      for (let i = 0; i < held; i++) after += Number((await holder.check(ADA)).allowed)
      while ((await strict.check(ADA)).allowed) after++
      expect(after).toBeLessThanOrEqual(LIMIT + REFILL)
      expect(after).toBeGreaterThan(LIMIT / 2)
      await Promise.all([holder.close(), strict.close()])
      client.disconnect()
    })
  },
)
