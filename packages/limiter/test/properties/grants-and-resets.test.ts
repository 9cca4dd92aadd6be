/** Grants and resets: all that they give, and what they leave older receipts worth. */
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Deed, histories, type Step } from './histories.js'
import { type LimitSpec, limitOf, MINUTE, smallLimits } from './limits.js'
import { Play } from './play.js'
import { FORWARD, playWithRefunds, refund } from './play-with-refunds.js'
import { World } from './world.js'

const BUCKETS = ['token_bucket', 'gcra', 'leaky_bucket'] as const

describe('a reset', () => {
  it('makes everything available, and leaves older receipts worth nothing', async () => {
    await fc.assert(
      fc.asyncProperty(histories(smallLimits(), FORWARD), async (history) => {
        const { world, taken } = await playWithRefunds(history)
        await world.reset()
        const { burst } = history.spec
        expect(world.peek(burst)).toMatchObject({ allowed: true, remaining: Number(burst) })
        expect(world.check(burst).allowed).toBe(true)
        for (const take of taken) expect(await refund(world, take, 1_000_000_000n)).toBe(0n)
        expect(world.peek().remaining).toBe(0)
      }),
      { numRuns: 250 },
    )
  })

  it('mints nothing by a clock that steps back afterwards', async () => {
    const cases = fc.record({
      spec: smallLimits(['fixed_window', 'sliding_window_log', 'sliding_window_counter']),
      back: fc.bigInt(1n, MINUTE),
      strangers: fc.constantFrom(0, 8),
    })
    await fc.assert(
      fc.asyncProperty(cases, async ({ spec, back, strangers }) => {
        const top = 1_000n * spec.window
        const world = new World(limitOf(spec), top)
        world.check()
        await world.reset()
        world.welcomeStrangers(strangers)
        world.now = top - back
        expect(world.check(spec.amount).allowed).toBe(true)
        world.now = top
        expect(world.check().allowed).toBe(false)
      }),
      { numRuns: 300 },
    )
  })
})

describe('a grant', () => {
  const deeds: readonly Deed[] = ['check', 'wait', 'await retry', 'strangers', 'grant', 'grant']

  it('gives at most what is used, and never more than full', async () => {
    const isCounter = ({ algorithm }: LimitSpec) => algorithm === 'sliding_window_counter'
    await fc.assert(
      fc.asyncProperty(histories(smallLimits(), deeds), async (history) => {
        const play = new Play(history)
        const { world } = play
        for (const step of history.steps) await grantOr(play, step)
        const { remaining, limit } = world.peek()
        const given = (await world.grant(1_000_000_000n))['requests']!
        // A bucket's last token may be used in part; a counter gives of the current window alone.
        expect(given).toBeLessThanOrEqual(limit! - remaining!)
        if (!isCounter(history.spec)) expect(world.peek().remaining).toBe(limit)
        expect(world.peek().remaining).toBeLessThanOrEqual(limit!)
        expect((await world.grant(1n))['requests']).toBe(0)
      }),
      { numRuns: 300 },
    )
  })

  it('lets a bucket admit at most that much more', async () => {
    await fc.assert(
      fc.asyncProperty(histories(smallLimits(BUCKETS), deeds), async (history) => {
        const { amount, window, burst } = history.spec
        const play = new Play(history)
        const events: { at: bigint; net: bigint }[] = []
        for (const step of history.steps) {
          const net = await grantOr(play, step)
          if (net !== 0n) events.push({ at: play.world.now, net })
        }
        for (const [i, { at: from }] of events.entries()) {
          let net = 0n
          for (const event of events.slice(i)) {
            net += event.net
            expect(net * window <= burst * window + amount * (event.at - from)).toBe(true)
          }
        }
      }),
      { numRuns: 300 },
    )
  })
})

/** What the step took, less what it gave. */
async function grantOr(play: Play, step: Step): Promise<bigint> {
  if (step.does === 'grant') return -BigInt((await play.world.grant(step.amount))['requests']!)
  return play.do(step)?.allowed === true && step.does === 'check' ? step.cost : 0n
}
