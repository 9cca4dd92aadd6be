/** concurrency against a list of holds: in flight at most the limit, and the dead are released in time. */
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { most } from './fraction.js'
import { STARTS, steppedBack, stepsBack } from './histories.js'
import { concurrencyLimits, type LimitSpec, limitOf } from './limits.js'
import { HoldsOracle } from './oracle-holds.js'
import { expectAnswer } from './replay.js'
import { milliseconds, SUBJECT, World } from './world.js'

type Step =
  | { readonly does: 'hold'; readonly id: string; readonly cost: bigint }
  | { readonly does: 'renew' | 'release'; readonly id: string }
  | { readonly does: 'wait' | 'step back'; readonly us: bigint }
  | { readonly does: 'strangers'; readonly count: number }
  | { readonly does: 'reset' }

/** Few ids, so that they come again: held, expired and released ones. */
const IDS = fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f', 'g')

const LIMITS = concurrencyLimits()

function stepsOf({ amount, window }: LimitSpec, resets: boolean): fc.Arbitrary<Step[]> {
  const does = <D extends Step['does']>(...deeds: D[]) => fc.constantFrom(...deeds)
  const step = fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({
        does: does('hold'),
        id: IDS,
        cost: fc.oneof(fc.constant(1n), fc.bigInt(1n, amount + 1n)),
      }),
    },
    { weight: 3, arbitrary: fc.record({ does: does('renew', 'release'), id: IDS }) },
    {
      weight: 3,
      arbitrary: fc.record({
        does: does('wait'),
        us: fc.oneof(fc.constantFrom(1n, 1000n, window, window - 1n), fc.bigInt(0n, window)),
      }),
    },
    { weight: 1, arbitrary: fc.record({ does: does('strangers'), count: fc.nat({ max: 6 }) }) },
    { weight: resets ? 1 : 0, arbitrary: fc.record({ does: does('reset') }) },
    { weight: 1, arbitrary: fc.record({ does: does('step back'), us: stepsBack() }) },
  )
  return fc.array(step, { minLength: 1, maxLength: 40, size: 'max' })
}

const historiesWith = (resets: boolean) =>
  LIMITS.chain((spec) =>
    fc.record({ spec: fc.constant(spec), start: STARTS, steps: stepsOf(spec, resets) }),
  )
const HISTORIES = historiesWith(false)

class Flight {
  readonly world: World
  readonly oracle: HoldsOracle
  #latest: bigint

  constructor(spec: LimitSpec, start: bigint) {
    this.world = new World(limitOf(spec), start)
    this.oracle = new HoldsOracle(spec.amount, spec.window)
    this.#latest = start
  }

  async do(step: Step): Promise<void> {
    const { world, oracle } = this
    if (step.does === 'hold') this.#hold(step.id, step.cost)
    else if (step.does === 'renew') {
      const expiry = await world.limiter.renew({ subject: SUBJECT, holdId: step.id })
      const expected = oracle.renew(step.id, world.now)
      expect(expiry).toBe(expected === null ? null : Number(expected / 1000n))
    } else if (step.does === 'release') {
      const released = await world.limiter.release({ subject: SUBJECT, holdId: step.id })
      expect(oracle.release(step.id, world.now)).toContain(released)
    } else if (step.does === 'wait') world.now += step.us
    else if (step.does === 'step back') world.now = steppedBack(world.now, this.#latest, step.us)
    else if (step.does === 'strangers') world.welcomeStrangers(step.count)
    else expect(await world.reset()).toBe(oracle.reset(world.now) ? 1 : 0)
    this.#latest = most(this.#latest, world.now)
  }

  #hold(id: string, cost: bigint): void {
    const { world, oracle } = this
    const { now } = world
    const fits = oracle.fits(cost, now, id)
    const decision = world.check(cost, { holdId: id })
    if (fits) oracle.take(cost, now, id)
    expectAnswer(decision, oracle, cost, now, { fits })
    if (!fits) expect(decision.hold).toBeNull()
    else expect(decision.hold?.id).toBe(id)
  }
}

describe('concurrency', () => {
  it('answers, renews and releases as a list of holds does', async () => {
    await fc.assert(
      fc.asyncProperty(HISTORIES, async ({ spec, start, steps }) => {
        const flight = new Flight(spec, start)
        for (const step of steps) await flight.do(step)
      }),
      { numRuns: 300 },
    )
  })

  it('is emptied by a reset, which answers whether anything was held', async () => {
    await fc.assert(
      fc.asyncProperty(historiesWith(true), async ({ spec, start, steps }) => {
        const flight = new Flight(spec, start)
        for (const step of steps) await flight.do(step)
      }),
      { numRuns: 300 },
    )
  })

  it('never has more in flight than the limit', async () => {
    await fc.assert(
      fc.asyncProperty(HISTORIES, async ({ spec, start, steps }) => {
        const world = new World(limitOf(spec), start)
        const held = new Map<string, { cost: bigint; expiry: bigint }>()
        for (const step of steps) {
          if (step.does === 'wait') world.now += step.us
          else if (step.does === 'hold' && world.check(step.cost, { holdId: step.id }).allowed) {
            const known = held.get(step.id)
            const cost = known !== undefined && known.expiry > world.now ? known.cost : step.cost
            held.set(step.id, { cost, expiry: world.now + spec.window })
          } else if (step.does === 'release') {
            await world.limiter.release({ subject: SUBJECT, holdId: step.id })
            held.delete(step.id)
          }
          const live = [...held.values()].filter(({ expiry }) => expiry > world.now)
          const inFlight = live.reduce((sum, { cost }) => sum + cost, 0n)
          expect(inFlight).toBeLessThanOrEqual(spec.amount)
          expect(world.peek(1n, world.now, { holdId: 'new' }).remaining).toBe(
            Number(spec.amount - inFlight),
          )
        }
      }),
      { numRuns: 200 },
    )
  })

  it('admits at the promised time at the latest, and until then if nobody releases, denies', async () => {
    await fc.assert(
      fc.asyncProperty(HISTORIES, async ({ spec, start, steps }) => {
        const flight = new Flight(spec, start)
        for (const step of steps) await flight.do(step)
        const { world } = flight
        const denied = world.check(spec.amount, { holdId: 'late' })
        if (denied.allowed) return
        const retryAt = world.now + BigInt(denied.retryAfterMs!) * 1000n
        expect(world.peek(spec.amount, retryAt - 1000n, { holdId: 'late' }).allowed).toBe(false)
        expect(world.peek(spec.amount, retryAt, { holdId: 'late' }).allowed).toBe(true)
      }),
      { numRuns: 300 },
    )
  })

  it('lets as many more hold as it says remain, and no more', async () => {
    await fc.assert(
      fc.asyncProperty(HISTORIES, async ({ spec, start, steps }) => {
        const flight = new Flight(spec, start)
        for (const step of steps) await flight.do(step)
        const { world } = flight
        const left = world.peek(1n, world.now, { holdId: 'new' }).remaining!
        for (let i = 0; i < left; i++)
          expect(world.check(1n, { holdId: `${i}` }).allowed).toBe(true)
        expect(world.check(1n, { holdId: 'new' }).allowed).toBe(false)
      }),
      { numRuns: 200 },
    )
  })

  it('frees a holder that died at its time-out, to the microsecond', () => {
    fc.assert(
      fc.property(LIMITS, STARTS, (spec, start) => {
        const world = new World(limitOf(spec), start)
        const { hold } = world.check(spec.amount)
        expect(hold?.expiresAtMs).toBe(Number((start + spec.window) / 1000n))
        expect(world.peek(1n, start + spec.window - 1n).allowed).toBe(false)
        expect(world.peek(spec.amount, start + spec.window).allowed).toBe(true)
        expect(world.peek().resetAtMs).toBe(milliseconds(start + spec.window))
      }),
      { numRuns: 200 },
    )
  })
})
