/** The far ends of what is stated: buckets that take a century to fill, and dates up to 2255. */
import * as fc from 'fast-check'
import { describe, it } from 'vitest'
import { least } from './fraction.js'
import { costs } from './histories.js'
import {
  DAY,
  type LimitSpec,
  limitOf,
  MINUTE,
  oracleOf,
  smallLimits,
  windows,
  YEAR,
} from './limits.js'
import { Replay } from './replay.js'
import { World } from './world.js'

const CENTURIES: fc.Arbitrary<LimitSpec> = fc
  .record({ amount: fc.bigInt(1n, 1000n), window: windows() })
  .map(({ amount, window }) => {
    const burst = least((100n * YEAR * amount) / window, 1_000_000_000n)
    return { algorithm: 'token_bucket', amount, window, burst }
  })

/** Requests with pauses of at most so many milliseconds. */
function asking(specs: fc.Arbitrary<LimitSpec>, longestMs: bigint) {
  return specs.chain((spec) => {
    const ask = fc.record({ cost: costs(spec), pauseMs: fc.bigInt(0n, longestMs) })
    return fc.record({ spec: fc.constant(spec), asks: fc.array(ask, { maxLength: 30 }) })
  })
}

async function replay(
  start: bigint,
  { spec, asks }: { spec: LimitSpec; asks: { cost: bigint; pauseMs: bigint }[] },
): Promise<void> {
  const world = new World(limitOf(spec), start)
  const replay = new Replay(world, oracleOf(spec))
  for (const { cost, pauseMs } of asks) {
    world.now += pauseMs * 1000n
    await replay.do({ does: 'check', cost })
  }
}

describe('the stated range', () => {
  it('holds buckets that take 100 years to fill, exactly', async () => {
    const year2026 = 1_780_000_000_123_457n
    await fc.assert(
      fc.asyncProperty(asking(CENTURIES, DAY / 1000n), (asked) => replay(year2026, asked)),
      { numRuns: 200 },
    )
  })

  it('goes on to the year 2255', async () => {
    const year2254 = 8_980_000_000_000_000n
    await fc.assert(
      fc.asyncProperty(asking(smallLimits(), MINUTE / 1000n), (asked) => replay(year2254, asked)),
      { numRuns: 200 },
    )
  })
})
