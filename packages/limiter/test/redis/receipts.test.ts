/** What a receipt gives back of a bucket in Redis, whatever has become of its row since. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import type { Limiter } from '../../src/index.js'
import { Look } from './look.js'

const ADA = { subject: { user: 'ada' } }
const FIVE = { ...ADA, cost: 5 }

let look: Look
beforeAll(async () => {
  look = await Look.start()
})
afterEach(() => look.clear())
afterAll(() => look.stop())

// A token is a second. A row of nothing but buckets is written by another part of the script.
describe.each([
  ['alone in its row', ['10 per 10s']],
  ['beside a window', ['10 per 10s', '100/h fixed']],
] as const)('a receipt of a bucket %s', (_, limits) => {
  const left = async (limiter: Limiter) => (await limiter.peek(ADA)).limits[0]!.remaining
  const open = () => look.limiter({ rule: { scope: 'user', limits: [...limits] } })

  it('gives nothing of a row that was made anew since', async () => {
    const limiter = open()
    const first = await limiter.check(FIVE)
    await look.redis.flushall()
    look.now += 1
    await limiter.check(FIVE)
    await limiter.refund(first)
    expect(await left(limiter)).toBe(5)
  })

  it('gives nothing of what was granted since', async () => {
    const limiter = open()
    const first = await limiter.check(FIVE)
    await limiter.check(FIVE)
    await limiter.refund(FIVE)
    expect(await limiter.refund(first)).toEqual({ requests: 0 })
    expect(await left(limiter)).toBe(5)
  })

  it('gives nothing once the row was reset', async () => {
    const limiter = open()
    const first = await limiter.check(FIVE)
    await limiter.reset(ADA.subject)
    await limiter.check(FIVE)
    await limiter.refund(first)
    expect(await left(limiter)).toBe(5)
  })

  it('gives back also what was taken by a clock that had stepped back', async () => {
    const limiter = open()
    look.now += 3000
    await limiter.check(ADA)
    look.now -= 2000
    const second = await limiter.check(FIVE)
    look.now += 2000
    await limiter.refund(second)
    expect(await left(limiter)).toBe(9)
  })

  it('gives what time had left of the take at the latest take, though the clock has stepped back', async () => {
    const limiter = open()
    const first = await limiter.check(FIVE)
    look.now += 3000
    await limiter.check(ADA)
    look.now -= 2000
    await limiter.check(ADA)
    await limiter.refund(first)
    // Two of five. Of the others nothing is repaid before that time comes again.
    expect(await left(limiter)).toBe(6)
  })

  it('gives what time had left of the take at the latest change, though the clock has stepped back', async () => {
    const limiter = open()
    const first = await limiter.check(FIVE)
    look.now += 3000
    await limiter.refund(ADA)
    look.now -= 2000
    await limiter.refund(first)
    expect(await left(limiter)).toBe(8)
  })
})
