/** What leases leave unused: beside one strict limiter that sees the same requests, with a load that moves. */
import { describe, expect, it } from 'vitest'
import type { LimitsInput } from '../../limiter/src/index.js'
import { play, QUIET } from '../src/run.js'
import { firstSeed } from './seeds.js'

const LOADS = [0.9, 1.1, 2.5]
const INSTANCES = [2, 10, 50]

const LIMITS: readonly [LimitsInput, perSecond: number][] = [
  ['2000/s', 2000],
  ['200/s', 200],
  ['2000/s burst 100', 2000],
  ['2000/s fixed', 2000],
  ['2000/s sliding', 2000],
  ['20000 per 10s exact', 2000],
  [['2000/s', '6000 per 10s fixed'], 2000],
]

describe('of what a limit allows, leases use at least 99 in a hundred, and never more than all', () => {
  it.each(LIMITS)('under %s', async (limits, perSecond) => {
    for (const instances of INSTANCES)
      for (const load of LOADS) {
        const { admitted, ideal, worst } = await play({
          ...QUIET,
          seed: firstSeed(),
          rules: { all: { scope: 'global', limits } },
          instances,
          perSecond: load * perSecond,
          dealtEveryMs: 300,
          onMs: 0,
          offMs: 0,
          costs: [1],
          subjects: [{}],
          ms: 4000,
          drift: 0.0001,
        })
        const where = `${instances} instances, load ${load}`
        expect(Math.max(...worst.map(({ over }) => over)), where).toBe(0)
        expect(admitted / ideal, where).toBeGreaterThan(0.99)
      }
  })
})
