import { type LimitText, RuleSet } from '@sluice/limiter'
import { describe, expect, it } from 'vitest'
import { adviceOf } from './advice.js'
import type { HotRow } from './hot-rows.js'
import { type Leasing, scalingOf } from './scaling.js'

function advised(limits: LimitText, askedPerSecond: number, leasing: Leasing = 'on') {
  const rule = RuleSet.compile({ rules: { a: { scope: 'user', limits } } }).named('a')!
  const row = { rule: 'a', askedPerSecond } as HotRow
  return adviceOf(row, scalingOf(rule, leasing))
}
const shards = (limits: LimitText, askedPerSecond: number) =>
  Number(/`shards: (\d+)`/.exec(advised(limits, askedPerSecond)?.message ?? '')?.[1] ?? 0)

describe('advice', () => {
  it('is to lease what is asked more than a thousand times a second and could be leased', () => {
    expect(advised('1M/s', 1001, 'off')).toEqual({
      code: 'lease',
      message:
        'it is asked of Redis 1,001 times a second by this instance; leases answer most of that from memory: start it with --leases on, or as a sidecar',
    })
    expect(advised('1M/s', 1000, 'off')).toBeNull()
    expect(advised('1M/s', 9000, 'on')).toBeNull()
    expect(advised('1M/s', 9000, null)).toBeNull()
  })

  it('is not to lease what never is: spaced requests, who is inside, and a few', () => {
    for (const limits of [
      '1M/s smooth 99',
      '1M/s queue 99',
      '100 concurrent for 60s',
      '15/s',
    ] as const)
      expect([limits, advised(limits, 9000, 'off')]).toEqual([limits, null])
    expect(advised('16/s', 9000, 'off')).not.toBeNull()
  })

  it('is to split what is asked more than ten thousand times a second all the same', () => {
    expect(advised('1M/s', 12_000)).toEqual({
      code: 'shard',
      message:
        'it is asked of Redis 12,000 times a second by this instance, all under one key; `shards: 4` of a spreads it over the nodes of a Redis Cluster (a single Redis gains nothing)',
    })
    expect(advised('1M/s', 10_000)).toBeNull()
    expect(advised('1M/s', 12_000, 'off')).toMatchObject({ code: 'lease' })
  })

  it('names as many shards as bring each under five thousand a second, 64 at most', () => {
    expect([10_001, 19_999, 20_000, 160_000, 9e6].map((rate) => shards('1M/s', rate))).toEqual([
      4, 4, 8, 64, 64,
    ])
  })

  it('names no more shards than the limit can be split into', () => {
    const most = (limits: LimitText) => shards(limits, 9e6)
    expect([most('32/s'), most('33/s burst 9'), most('9/s burst 1000')]).toEqual([8, 2, 8])
    expect([most('6/s'), most('1M/s smooth')]).toEqual([0, 0])
  })
})
