/** Refunds by receipt, grants and resets: what they can never bring about, whatever the algorithm. */
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Decision } from '../../src/index.js'
import { type Deed, type History, histories, type Step } from './histories.js'
import { buckets, type LimitSpec, limitOf, MINUTE, smallLimits } from './limits.js'
import { Play } from './play.js'
import { World } from './world.js'

const FORWARD: readonly Deed[] = ['check', 'wait', 'await retry', 'strangers', 'refund', 'refund']
const TO_AND_FRO: readonly Deed[] = [...FORWARD, 'step back']

const BUCKETS = ['token_bucket', 'gcra', 'leaky_bucket'] as const

interface Taken {
  readonly decision: Decision
  readonly at: bigint
  readonly cost: bigint
  given: bigint
}

async function refund(world: World, { decision }: Taken, amount: bigint): Promise<bigint> {
  const given = await world.limiter.refund(decision, Number(amount))
  return BigInt(given['requests'] ?? 0)
}

/** Plays a history with its refunds; answers what was taken, and what of it was given back. */
async function playWithRefunds(history: History): Promise<{ world: World; taken: Taken[] }> {
  const play = new Play(history)
  const { world } = play
  const taken: Taken[] = []
  for (const step of history.steps) {
    if (step.does === 'refund' && taken.length > 0) {
      const take = taken[step.which % taken.length]!
      take.given += await refund(world, take, step.amount)
    }
    const decision = play.do(step)
    if (decision?.allowed === true && step.does === 'check')
      taken.push({ decision, at: world.now, cost: step.cost, given: 0n })
  }
  return { world, taken }
}

/** The same requests, but what was given back had never been asked for. */
function playWithoutRefunded(history: History, taken: readonly Taken[]): World {
  const world = new World(limitOf(history.spec), history.start)
  for (const { at, cost, given } of taken) {
    world.now = at
    if (cost > given) expect(world.check(cost - given).allowed).toBe(true)
  }
  return world
}

function laterTimes({ window, amount, burst }: LimitSpec): bigint[] {
  const token = window / amount
  const offsets = [0n, 1n, token, 3n * token + 1n, window / 2n, window, (burst * window) / amount]
  return offsets
}

describe('a refund by receipt', () => {
  it.each([
    ['any limit, by a clock that goes forward', smallLimits(), FORWARD],
    // A window that a step back has left behind knows of the later one only through what was taken in it.
    ['a bucket, by a clock that also steps back', smallLimits(BUCKETS), TO_AND_FRO],
  ])('never leaves more than if it had not been taken: %s', async (_name, limits, deeds) => {
    await fc.assert(
      fc.asyncProperty(histories(limits, deeds), async (history) => {
        const { world, taken } = await playWithRefunds(history)
        const without = playWithoutRefunded(history, taken)
        for (const offset of laterTimes(history.spec)) {
          const left = world.peek(1n, world.now + offset).remaining!
          expect(left).toBeLessThanOrEqual(without.peek(1n, world.now + offset).remaining!)
        }
      }),
      { numRuns: 600 },
    )
  })

  it('gives at most what was taken, however often it is asked', async () => {
    await fc.assert(
      fc.asyncProperty(histories(smallLimits(), TO_AND_FRO), async (history) => {
        const { world, taken } = await playWithRefunds(history)
        for (const take of taken) {
          take.given += await refund(world, take, 1_000_000_000n)
          expect(take.given).toBeLessThanOrEqual(take.cost)
          expect(await refund(world, take, 1_000_000_000n)).toBe(0n)
        }
      }),
      { numRuns: 300 },
    )
  })

  it('gives all of it back at the same instant', async () => {
    await fc.assert(
      fc.asyncProperty(histories(smallLimits(), FORWARD), async (history) => {
        const { world } = await playWithRefunds(history)
        const before = world.peek().remaining!
        const decision = world.check()
        expect(await world.limiter.refund(decision)).toEqual(
          decision.allowed ? { requests: 1 } : {},
        )
        expect(world.peek().remaining).toBe(before)
      }),
      { numRuns: 300 },
    )
  })

  it('gives nothing once time has repaid the take and others have taken all', async () => {
    await fc.assert(
      fc.asyncProperty(buckets('token_bucket', 5n), fc.nat({ max: 100 }), async (spec, percent) => {
        const world = new World(limitOf(spec), 1_780_000_000_000_000n)
        const cost = 1n + ((spec.burst - 1n) * BigInt(percent)) / 100n
        const decision = world.check(cost)
        world.now += (cost * spec.window) / spec.amount + 1n
        expect(world.check(spec.burst).allowed).toBe(true)
        expect(await world.limiter.refund(decision)).toEqual({ requests: 0 })
        expect(world.peek().remaining).toBe(0)
      }),
      { numRuns: 300 },
    )
  })

  it('gives nothing for a dry run or a denial', async () => {
    await fc.assert(
      fc.asyncProperty(smallLimits(), async (spec) => {
        const world = new World(limitOf(spec), MINUTE)
        expect(await world.limiter.refund(world.peek())).toEqual({})
        world.check(spec.burst)
        expect(await world.limiter.refund(world.check())).toEqual({})
        expect(world.peek().remaining).toBe(0)
      }),
      { numRuns: 100 },
    )
  })
})

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
