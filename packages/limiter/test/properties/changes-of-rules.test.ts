/** Rules that change under way: new numbers, other windows and algorithms, more limits, tiers, overrides. */
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Algorithm, Decision, LimitsInput } from '../../src/index.js'
import { type Deed, histories } from './histories.js'
import { type LimitSpec, limitOf, MINUTE, oracleOf, smallLimits } from './limits.js'
import type { GiveBack, Oracle } from './oracle.js'
import { Play } from './play.js'
import { expectAnswer, GIVING, Replay } from './replay.js'
import { milliseconds, SUBJECT, World } from './world.js'

const COUNTING: readonly Algorithm[] = [
  'fixed_window',
  'sliding_window_log',
  'sliding_window_counter',
]
const ASKING: readonly Deed[] = ['check', 'wait', 'await retry', 'strangers']

function setLimits({ limiter }: World, limits: LimitsInput): void {
  limiter.setRules({ rules: { rule: { scope: 'user', limits } } })
}

/** Two histories, one after the other, and what changes between them. */
function turns(specs: fc.Arbitrary<LimitSpec>, deeds: readonly Deed[]) {
  return histories(specs, deeds, 20).chain((history) =>
    fc.record({
      history: fc.constant(history),
      next: fc.array(fc.constantFrom(...history.steps), { maxLength: 20 }),
      amount: fc.bigInt(1n, 12n),
    }),
  )
}

describe('a change of numbers', () => {
  it('keeps every count, and holds it against the new amount', async () => {
    await fc.assert(
      fc.asyncProperty(turns(smallLimits(COUNTING), GIVING), async ({ history, next, amount }) => {
        const replay = await Replay.of(history)
        setLimits(replay.world, limitOf({ ...history.spec, amount, burst: amount }))
        replay.oracle.limit = amount
        for (const step of next) await replay.do(step)
      }),
      { numRuns: 250 },
    )
  })

  it('of the burst alone leaves a bucket’s use to the microsecond', async () => {
    const specs = smallLimits(['token_bucket', 'gcra', 'leaky_bucket'])
    await fc.assert(
      fc.asyncProperty(turns(specs, GIVING), async ({ history, next, amount: burst }) => {
        const replay = await Replay.of(history)
        setLimits(replay.world, limitOf({ ...history.spec, burst }))
        replay.oracle.limit = burst
        for (const step of next) await replay.do(step)
      }),
      { numRuns: 250 },
    )
  })
})

describe('a change of window or algorithm', () => {
  it('starts that limit anew', () => {
    const cases = fc.record({ history: histories(smallLimits(), ASKING), other: smallLimits() })
    fc.assert(
      fc.property(cases, ({ history, other }) => {
        const { algorithm, window } = history.spec
        fc.pre(algorithm !== other.algorithm || window !== other.window)
        const play = new Play(history)
        for (const step of history.steps) play.do(step)
        setLimits(play.world, limitOf(other))
        expectAnswer(play.world.peek(other.burst), oracleOf(other), other.burst, play.world.now)
      }),
      { numRuns: 300 },
    )
  })
})

/** The limits of one rule; some come later and some go, and none comes twice. */
class Growing {
  readonly world: World
  readonly #counters: { spec: LimitSpec; oracle: Oracle }[]
  readonly #known: Set<string>
  readonly #receipts: { decision: Decision; giveBacks: Map<Oracle, GiveBack>; cost: bigint }[] = []

  constructor(first: LimitSpec) {
    this.world = new World(limitOf(first), 1_780_000_000_123_457n)
    this.#counters = [{ spec: first, oracle: oracleOf(first) }]
    this.#known = new Set([identity(first)])
  }

  add(spec: LimitSpec, place: number): void {
    if (this.#known.has(identity(spec))) return
    this.#known.add(identity(spec))
    this.#counters.splice(place % (this.#counters.length + 1), 0, { spec, oracle: oracleOf(spec) })
    this.#setLimits()
  }

  remove(place: number): void {
    if (this.#counters.length < 2) return
    this.#counters.splice(place % this.#counters.length, 1)
    this.#setLimits()
  }

  #setLimits(): void {
    setLimits(
      this.world,
      this.#counters.map(({ spec }) => limitOf(spec)),
    )
  }

  check(cost: bigint): void {
    const { now } = this.world
    const fits = this.#counters.map(({ oracle }) => oracle.fits(cost, now, ''))
    const decision = this.world.check(cost)
    expect(decision.allowed).toBe(!fits.includes(false))
    if (decision.allowed) {
      const takes = this.#counters.map(
        ({ oracle }) => [oracle, oracle.take(cost, now, '')] as const,
      )
      this.#receipts.push({ decision, giveBacks: new Map(takes), cost })
    }
    this.#expectNumbers(decision, fits)
  }

  #expectNumbers(decision: Decision, fits: readonly boolean[]): void {
    const { now } = this.world
    expect(
      decision.limits.map(({ allowed, remaining, resetAtMs }) => ({
        allowed,
        remaining,
        resetAtMs,
      })),
    ).toEqual(
      this.#counters.map(({ oracle }, i) => ({
        allowed: fits[i],
        remaining: Number(oracle.remaining(now)),
        resetAtMs: milliseconds(oracle.resetAt(now)),
      })),
    )
  }

  async refund(which: number): Promise<void> {
    const [receipt] = this.#receipts.splice(which % Math.max(1, this.#receipts.length), 1)
    if (receipt === undefined) return
    await this.world.limiter.refund(receipt.decision)
    for (const { oracle } of this.#counters)
      receipt.giveBacks.get(oracle)?.(receipt.cost, this.world.now)
  }

  async reset(): Promise<void> {
    const inUse = this.#counters.map(({ oracle }) => oracle.reset(this.world.now))
    expect(await this.world.reset()).toBe(inUse.includes(true) ? 1 : 0)
  }
}

function identity({ algorithm, window }: LimitSpec): string {
  return `${algorithm} ${window}`
}

describe('more limits, or fewer', () => {
  it('leave the others as they were', async () => {
    const place = fc.nat({ max: 5 })
    const step = fc.oneof(
      { weight: 8, arbitrary: fc.record({ check: fc.bigInt(1n, 5n) }) },
      { weight: 4, arbitrary: fc.record({ wait: fc.bigInt(0n, 3n * MINUTE) }) },
      { weight: 1, arbitrary: fc.record({ wait: fc.bigInt(0n, 240n * MINUTE) }) },
      { weight: 2, arbitrary: fc.record({ add: smallLimits(), place }) },
      { weight: 1, arbitrary: fc.record({ remove: place }) },
      { weight: 1, arbitrary: fc.record({ refund: fc.nat({ max: 20 }) }) },
      { weight: 1, arbitrary: fc.record({ reset: fc.constant(true) }) },
      { weight: 1, arbitrary: fc.record({ strangers: fc.nat({ max: 6 }) }) },
    )
    const steps = fc.array(step, { maxLength: 50, size: 'max' })
    await fc.assert(
      fc.asyncProperty(smallLimits(), steps, async (first, steps) => {
        const growing = new Growing(first)
        for (const step of steps) {
          if ('check' in step) growing.check(step.check)
          else if ('wait' in step) growing.world.now += step.wait
          else if ('add' in step) growing.add(step.add, step.place)
          else if ('remove' in step) growing.remove(step.remove)
          else if ('refund' in step) await growing.refund(step.refund)
          else if ('reset' in step) await growing.reset()
          else growing.world.welcomeStrangers(step.strangers)
        }
      }),
      { numRuns: 300 },
    )
  })
})

describe('tiers and overrides', () => {
  const cases = fc.record({
    spec: smallLimits(COUNTING),
    pro: fc.bigInt(1n, 20n),
    override: fc.bigInt(1n, 20n),
    steps: fc.array(
      fc.record({
        cost: fc.bigInt(1n, 4n),
        tier: fc.constantFrom(undefined, 'pro'),
        wait: fc.oneof(fc.constant(0n), fc.bigInt(0n, MINUTE)),
      }),
      { maxLength: 40, size: 'max' },
    ),
  })

  function limitsOf(spec: LimitSpec, amount: bigint) {
    return limitOf({ ...spec, amount, burst: amount })
  }

  it('of one rule are the same counter with other numbers', () => {
    fc.assert(
      fc.property(cases, fc.nat({ max: 40 }), ({ spec, pro, override, steps }, until) => {
        const world = new World(limitOf(spec), 1_780_000_000_000_000n)
        const oracle = oracleOf(spec)
        const ends = world.now + BigInt(until) * MINUTE
        const overrides =
          until === 0
            ? []
            : [
                {
                  scope: 'user',
                  value: SUBJECT.user,
                  rule: 'rule',
                  limits: limitsOf(spec, override),
                  until: new Date(Number(ends / 1000n)),
                },
              ]
        const tiers = { pro: limitsOf(spec, pro) }
        world.limiter.setRules({
          rules: { rule: { scope: 'user', limits: limitOf(spec), tiers } },
          overrides,
        })
        for (const { cost, tier, wait } of steps) {
          world.now += wait
          const { now } = world
          oracle.limit = now < ends ? override : tier === 'pro' ? pro : spec.amount
          const fits = oracle.fits(cost, now, '')
          const decision = world.check(cost, tier === undefined ? {} : { tier })
          if (fits) oracle.take(cost, now, '')
          expectAnswer(decision, oracle, cost, now, { fits })
        }
      }),
      { numRuns: 250 },
    )
  })

  it('are all emptied by a reset', async () => {
    const buckets = fc.record({ own: fc.bigInt(1n, 1000n), pro: fc.bigInt(1n, 1000n) })
    await fc.assert(
      fc.asyncProperty(buckets, fc.bigInt(0n, MINUTE), async ({ own, pro }, wait) => {
        const bucket = (amount: bigint) =>
          limitOf({ algorithm: 'token_bucket', amount, window: MINUTE, burst: 10n })
        const world = new World(bucket(own), 1_780_000_000_000_000n)
        const tiers = { pro: bucket(pro) }
        world.limiter.setRules({ rules: { rule: { scope: 'user', limits: bucket(own), tiers } } })
        for (const tier of ['pro', undefined]) {
          const more = tier === undefined ? {} : { tier }
          world.check(10n, more)
          world.now += wait
          const inUse = world.peek(1n, world.now, more).remaining! < 10
          const reset = await world.reset()
          if (inUse) expect(reset).toBe(1)
          expect(world.peek(1n, world.now, more).remaining).toBe(10)
        }
      }),
      { numRuns: 300 },
    )
  })
})
