/** Holds in Redis: what is kept of them, and for how long. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { Look } from './look.js'

const ADA = { subject: { user: 'ada' } }

let look: Look
beforeAll(async () => {
  look = await Look.start()
})
afterEach(() => look.clear())
afterAll(() => look.stop())

/** Where the holds of the limiter's only rule are. */
async function heldKey(): Promise<string> {
  for (const key of await look.keys()) if ((await look.redis.type(key)) === 'zset') return key
  throw new Error('nothing is held')
}

describe('holds in Redis', () => {
  it('that have ended are dropped by the next one', async () => {
    const limiter = look.limiter({ rule: { scope: 'user', limits: '9 concurrent for 60s' } })
    for (const holdId of ['a', 'b']) await limiter.check({ ...ADA, cost: 2, holdId })
    look.now += 60_000
    await limiter.check({ ...ADA, holdId: 'c' })
    expect(await look.redis.zrange(await heldKey(), '0', '-1')).toEqual(['c/1'])
  })

  it('that are renewed keep their key', async () => {
    const limiter = look.limiter({ rule: { scope: 'user', limits: '9 concurrent for 60s' } })
    const { hold } = await limiter.check({ ...ADA, holdId: 'a' })
    const key = await heldKey()
    await look.redis.pexpire(key, 10_000)
    look.now += 50_000
    expect(await limiter.renew(hold!)).toBe(look.now + 60_000)
    expect(await look.redis.pttl(key)).toBeGreaterThan(60_000)
  })

  it('under several limits are renewed until the first of them ends one', async () => {
    const limits = ['5 concurrent for 60s', '3 concurrent for 30s'] as const
    const limiter = look.limiter({ rule: { scope: 'user', limits: [...limits] } })
    const { hold } = await limiter.check({ ...ADA, holdId: 'a' })
    look.now += 10_000
    expect(await limiter.renew(hold!)).toBe(look.now + 30_000)
  })
})
