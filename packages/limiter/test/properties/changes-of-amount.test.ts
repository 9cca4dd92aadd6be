/** A bucket whose amount and burst change, by new rules or by the request's tier: use carries over. */
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createLimiter, type Decision, type RuleInput } from '../../src/index.js'
import { expectRateBound } from './bounds.js'
import { DAY, windows } from './limits.js'
import { ChangingBucketOracle, type Numbers } from './oracle-changing-bucket.js'
import { milliseconds } from './world.js'

type Plan = Pick<Numbers, 'amount' | 'burst'>

type Step =
  | { readonly does: 'check'; readonly cost: bigint; readonly tier: number }
  | { readonly does: 'wait'; readonly us: bigint }
  | { readonly does: 'change'; readonly plan: Plan; readonly tier: number }
  | { readonly does: 'overrun'; readonly tier: number; readonly more: bigint }
  | { readonly does: 'strangers'; readonly count: number }
  /** Another limit, too large to matter, comes or goes. */
  | { readonly does: 'companion' }

const AMOUNTS = fc.oneof(fc.bigInt(1n, 20n), fc.constantFrom(7n, 97n, 100n, 997n))
const PLANS = fc.record({ amount: AMOUNTS, burst: AMOUNTS })
/** The rule's own numbers, and those of its tier `pro`. */
const TIERS = [undefined, 'pro'] as const
const COMPANION = '1000000/h fixed'

function stepsWith({ tiers, overruns }: { tiers: boolean; overruns: boolean }) {
  const does = <D extends Step['does']>(deed: D) => fc.constant(deed)
  const tier = fc.nat({ max: tiers ? 1 : 0 })
  return (window: bigint): fc.Arbitrary<Step[]> => {
    const us = fc.oneof(
      fc.constantFrom(0n, 1n, 1000n, window / 7n, window),
      fc.bigInt(0n, window),
      fc.bigInt(0n, window / 10n),
    )
    const step = fc.oneof(
      {
        weight: 6,
        arbitrary: fc.record({ does: does('check'), cost: fc.bigInt(1n, 10n), tier }),
      },
      { weight: 3, arbitrary: fc.record({ does: does('wait'), us }) },
      { weight: 2, arbitrary: fc.record({ does: does('change'), plan: PLANS, tier }) },
      { weight: 1, arbitrary: fc.record({ does: does('strangers'), count: fc.nat({ max: 6 }) }) },
      { weight: 1, arbitrary: fc.record({ does: does('companion') }) },
      {
        weight: overruns ? 1 : 0,
        arbitrary: fc.record({ does: does('overrun'), tier, more: fc.bigInt(1n, 30n) }),
      },
    )
    return fc.array(step, { minLength: 1, maxLength: 40, size: 'max' })
  }
}

function histories(options: { tiers: boolean; overruns: boolean }) {
  return windows(DAY).chain((window) =>
    fc.record({
      window: fc.constant(window),
      plans: fc.tuple(PLANS, PLANS),
      steps: stepsWith(options)(window),
    }),
  )
}

class Subject {
  now = 1_780_000_000_123_457n
  readonly limiter
  readonly admissions: { at: bigint; cost: bigint }[] = []
  readonly numbers: Numbers[]
  readonly #window: bigint
  readonly #oracle: ChangingBucketOracle
  #strangers = 0
  #hasCompanion = false

  constructor(window: bigint, plans: readonly Plan[]) {
    this.#window = window
    this.numbers = plans.map((plan) => ({ ...plan, since: null }))
    this.#oracle = new ChangingBucketOracle(window)
    this.limiter = createLimiter({ rules: this.#rules(), clock: () => Number(this.now) / 1000 })
  }

  #rules(): { rule: RuleInput<'user'> } {
    const [own, pro] = this.numbers.map(({ amount, burst }) => ({
      algorithm: 'token_bucket' as const,
      amount: Number(amount),
      burst: Number(burst),
      window: `${this.#window / 1000n}ms`,
    }))
    const companions = this.#hasCompanion ? ([COMPANION] as const) : []
    const tiers = { pro: [...companions, pro!] }
    return { rule: { scope: 'user', limits: [...companions, own!], tiers } }
  }

  async do(step: Step): Promise<void> {
    this.#oracle.mayForget(this.numbers, this.now)
    if (step.does === 'wait') this.now += step.us
    else if (step.does === 'change') this.#change(step.plan, step.tier)
    else if (step.does === 'check') this.#check(step.cost, step.tier)
    else if (step.does === 'overrun') await this.#overrun(step.tier, step.more)
    else if (step.does === 'companion') {
      this.#hasCompanion = !this.#hasCompanion
      this.limiter.setRules({ rules: this.#rules() })
    } else {
      for (let i = 0; i < step.count; i++)
        this.limiter.checkSync({ subject: { user: `stranger-${this.#strangers++}` } })
    }
  }

  #change(plan: Plan, tier: number): void {
    const before = this.numbers[tier]!
    const since = before.amount === plan.amount ? before.since : this.now
    this.numbers[tier] = { ...plan, since }
    this.limiter.setRules({ rules: this.#rules() })
  }

  #request(cost: bigint, tier: number) {
    const name = TIERS[tier]
    const request = { subject: { user: 'ada' }, cost: Number(cost) }
    return name === undefined ? request : { ...request, tier: name }
  }

  #check(cost: bigint, tier: number): void {
    const { now } = this
    const numbers = this.numbers[tier]!
    const decision = this.limiter.checkSync(this.#request(cost, tier))
    const { from, to } = this.#oracle.admittedAt(cost, numbers, now)
    if (cost > numbers.burst) expect(decision).toMatchObject({ reason: 'too_expensive' })
    else if (from > now) expect(decision.allowed).toBe(false)
    else if (to <= now) expect(decision.allowed).toBe(true)
    if (decision.allowed) {
      this.#oracle.charge(cost, numbers, now)
      this.admissions.push({ at: now, cost })
    } else if (decision.retryAfterMs !== null) {
      expect(decision.retryAfterMs).toBeGreaterThanOrEqual(milliseconds(from - now))
      expect(decision.retryAfterMs).toBeLessThanOrEqual(milliseconds(to - now))
    }
    this.#expectRemaining(decision, numbers)
  }

  #expectRemaining({ limits }: Decision, numbers: Numbers): void {
    const { used, remaining } = limits.at(-1)!
    const bounds = this.#oracle.remaining(numbers, this.now)
    expect(remaining).toBeGreaterThanOrEqual(Number(bounds.least))
    expect(remaining).toBeLessThanOrEqual(Number(bounds.most))
    const counted = this.#oracle.used(numbers, this.now)
    expect(used).toBeGreaterThanOrEqual(Number(counted.least))
    expect(used).toBeLessThanOrEqual(Number(counted.most))
  }

  /** A reservation that is settled, for more, after the numbers have changed to the other tier's. */
  async #overrun(tier: number, more: bigint): Promise<void> {
    const numbers = this.numbers[tier]!
    const { amount, burst } = this.numbers[1 - tier]!
    const reservation = await this.limiter.reserve(this.#request(1n, tier))
    if (!reservation.allowed) return
    this.#oracle.charge(1n, numbers, this.now)
    this.#change({ amount, burst }, tier)
    this.now += this.#window / 3n
    this.#oracle.mayForget(this.numbers, this.now)
    await reservation.settle(Number(1n + more))
    this.#oracle.charge(more, this.numbers[tier]!, this.now)
    const peeked = this.limiter.checkSync({ ...this.#request(1n, tier), dryRun: true })
    this.#expectRemaining(peeked, this.numbers[tier]!)
  }
}

describe('a change of amount and burst', () => {
  it.each([
    ['by new rules', { tiers: false, overruns: false }],
    ['by the tier of the request', { tiers: true, overruns: false }],
    ['between reserving and settling', { tiers: false, overruns: true }],
  ])('neither refills nor empties a bucket, %s', async (_name, options) => {
    await fc.assert(
      fc.asyncProperty(histories(options), async ({ window, plans, steps }) => {
        const subject = new Subject(window, plans)
        for (const step of steps) await subject.do(step)
      }),
      { numRuns: 300 },
    )
  })

  it('never admits above the largest burst and the largest rate', async () => {
    await fc.assert(
      fc.asyncProperty(
        histories({ tiers: true, overruns: false }),
        async ({ window, plans, steps }) => {
          const subject = new Subject(window, plans)
          const largest = { amount: 1n, burst: 1n }
          const note = ({ amount, burst }: Plan) => {
            if (amount > largest.amount) largest.amount = amount
            if (burst > largest.burst) largest.burst = burst
          }
          for (const step of steps) {
            subject.numbers.forEach(note)
            await subject.do(step)
          }
          subject.numbers.forEach(note)
          expectRateBound(subject.admissions, { window, ...largest })
        },
      ),
      { numRuns: 200 },
    )
  })

  it('leaves receipts from before worth nothing', async () => {
    const cases = fc.record({
      window: windows(DAY),
      before: PLANS,
      after: PLANS,
      part: fc.nat(100),
    })
    await fc.assert(
      fc.asyncProperty(cases, async ({ window, before, after, part }) => {
        fc.pre(before.amount !== after.amount)
        const [changed, untouched] = [before, before].map(
          (plan) => new Subject(window, [plan, plan]),
        )
        const decisions = [changed!, untouched!].map((subject) => {
          const decision = subject.limiter.checkSync({
            subject: { user: 'ada' },
            cost: Number(before.burst),
          })
          void subject.do({ does: 'change', plan: after, tier: 0 })
          subject.now += (window * BigInt(part)) / 100n
          return decision
        })
        expect(await changed!.limiter.refund(decisions[0]!)).toEqual({ requests: 0 })
        const [left, expected] = [changed!, untouched!].map(
          ({ limiter }) => limiter.checkSync({ subject: { user: 'ada' }, dryRun: true }).remaining,
        )
        expect(left).toBe(expected)
      }),
      { numRuns: 300 },
    )
  })
})
