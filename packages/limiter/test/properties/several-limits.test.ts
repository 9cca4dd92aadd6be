/** Several limits and rules at once: all or nothing, the top-level numbers, and shadow rules. */
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createLimiter, type Decision, type Request, type RuleInput } from '../../src/index.js'
import { limitOf, MINUTE, smallLimits } from './limits.js'
import { type Asked, type RuleSpec, type RulesAnswer, RulesOracle } from './oracle-rules.js'
import { milliseconds } from './world.js'

const ALL = smallLimits([
  'token_bucket',
  'gcra',
  'leaky_bucket',
  'fixed_window',
  'sliding_window_log',
  'sliding_window_counter',
  'concurrency',
])

const RULES: fc.Arbitrary<RuleSpec[]> = fc
  .array(
    fc.record({
      scope: fc.constantFrom('user', 'org', 'global'),
      shadow: fc.boolean(),
      unit: fc.constantFrom('requests', 'requests', 'tokens'),
      limits: fc.array(ALL, { minLength: 1, maxLength: 3 }),
    }),
    { minLength: 1, maxLength: 4 },
  )
  .map((rules) => rules.map((rule, i) => ({ name: `rule-${i}`, ...rule })))

/** The second rule of a scope is additive: all of them apply. */
function inputsOf(rules: readonly RuleSpec[]): Record<string, RuleInput> {
  const inputs = rules.map(({ name, scope, shadow, unit, limits }, i) => {
    const additive = rules.slice(0, i).some((other) => other.scope === scope)
    return [name, { scope, shadow, additive, unit, limits: limits.map(limitOf) }] as const
  })
  return Object.fromEntries(inputs)
}

type Step =
  | ({ readonly does: 'check' | 'peek' } & Omit<Asked, 'holdId'>)
  | { readonly does: 'wait'; readonly us: bigint }
  | { readonly does: 'await retry'; readonly off: bigint }
  | { readonly does: 'refund'; readonly which: number }

const SUBJECTS = fc
  .record(
    { user: fc.constantFrom('ada', 'bob'), org: fc.constantFrom('acme', 'umbrella') },
    { requiredKeys: [] },
  )
  .map((subject) => ({ ...subject }))

function stepsWith(refunds: boolean): fc.Arbitrary<Step[]> {
  const does = <D extends Step['does']>(...deeds: D[]) => fc.constantFrom(...deeds)
  const cost = fc.oneof(fc.constant(1n), fc.bigInt(1n, 13n))
  const costs = fc
    .record({ requests: cost, tokens: cost }, { requiredKeys: ['requests'] })
    .map((costs) => ({ ...costs }))
  const step = fc.oneof(
    {
      weight: 8,
      arbitrary: fc.record({ does: does('check', 'check', 'peek'), subject: SUBJECTS, costs }),
    },
    {
      weight: 3,
      arbitrary: fc.record({
        does: does('wait'),
        us: fc.oneof(fc.constantFrom(0n, 1n, 1_000_000n, MINUTE), fc.bigInt(0n, 10n * MINUTE)),
      }),
    },
    {
      weight: 2,
      arbitrary: fc.record({ does: does('await retry'), off: fc.constantFrom(-1n, 0n) }),
    },
    {
      weight: refunds ? 1 : 0,
      arbitrary: fc.record({ does: does('refund'), which: fc.nat({ max: 20 }) }),
    },
  )
  return fc.array(step, { minLength: 1, maxLength: 40, size: 'max' })
}

class Council {
  now = 1_780_000_000_123_457n
  readonly limiter
  readonly #oracle: RulesOracle
  readonly #receipts: { decision: Decision; giveBack: (now: bigint) => unknown }[] = []
  #retryAt: bigint | null = null
  #holds = 0

  constructor(rules: readonly RuleSpec[]) {
    this.limiter = createLimiter({
      rules: inputsOf(rules),
      clock: () => Number(this.now) / 1000,
    })
    this.#oracle = new RulesOracle(rules)
  }

  async do(step: Step): Promise<void> {
    if (step.does === 'wait') this.now += step.us
    else if (step.does === 'await retry') {
      if (this.#retryAt !== null && this.#retryAt > this.now) this.now = this.#retryAt + step.off
    } else if (step.does === 'refund') await this.#refund(step.which)
    else this.#check(step, step.does === 'peek')
  }

  #check({ subject, costs }: Omit<Asked, 'holdId'>, dryRun: boolean): void {
    const holdId = `hold-${this.#holds++}`
    const units = Object.entries(costs).map(([unit, cost]) => [unit, Number(cost)] as const)
    const request = { subject, costs: Object.fromEntries(units), dryRun, holdId }
    const decision = this.limiter.checkSync(request)
    const expected = this.#oracle.check({ subject, costs, holdId }, this.now, dryRun)
    expectDecision(decision, expected, this.now)
    this.#retryAt = null
    if (!decision.allowed && decision.retryAfterMs !== null) {
      this.#retryAt = expected.top!.retryAt
      this.#expectExactRetry(request, decision.retryAfterMs)
    }
    const { giveBack } = expected
    if (giveBack !== null) this.#receipts.push({ decision, giveBack })
  }

  /** What denies has the latest retry, so then everything admits; nothing has taken anything. */
  #expectExactRetry(request: Request, retryAfterMs: number): void {
    const { now } = this
    this.now = now + BigInt(retryAfterMs - 1) * 1000n
    expect(this.limiter.checkSync({ ...request, dryRun: true }).allowed).toBe(false)
    this.now = now + BigInt(retryAfterMs) * 1000n
    expect(this.limiter.checkSync({ ...request, dryRun: true }).allowed).toBe(true)
    this.now = now
  }

  async #refund(which: number): Promise<void> {
    const [receipt] = this.#receipts.splice(which % Math.max(1, this.#receipts.length), 1)
    if (receipt === undefined) return
    const given = await this.limiter.refund(receipt.decision)
    expect(given).toEqual(receipt.giveBack(this.now))
  }
}

function expectDecision(
  decision: Decision,
  { allowed, limits, top, releaseAt }: RulesAnswer,
  now: bigint,
): void {
  expect(decision.allowed).toBe(allowed)
  expect(
    decision.limits.map(({ rule, allowed, used, remaining, resetAtMs, retryAfterMs, shadow }) => {
      return { rule, allowed, used, remaining, resetAtMs, retryAfterMs, shadow }
    }),
  ).toEqual(
    limits.map(({ rule, allowed, used, remaining, resetAt, retryAt }) => ({
      rule: rule.name,
      allowed,
      used: Number(used),
      remaining: Number(remaining),
      resetAtMs: milliseconds(resetAt),
      retryAfterMs: retryAt === null ? null : milliseconds(retryAt - now),
      shadow: rule.shadow,
    })),
  )
  expect(decision.delayMs).toBe(allowed ? Number(releaseAt - now) / 1000 : 0)
  expect(decision).toMatchObject({
    rule: top?.rule.name ?? null,
    scope: top?.rule.scope ?? null,
    limit: top === null ? null : Number(top.spec.burst),
    used: top === null ? null : Number(top.used),
    remaining: top === null ? null : Number(top.remaining),
    resetAtMs: top === null ? null : milliseconds(top.resetAt),
  })
  if (decision.allowed) return
  const never = top!.retryAt === null
  expect(decision.reason).toBe(never ? 'too_expensive' : 'limited')
  expect(decision.retryAfterMs).toBe(never ? null : milliseconds(top!.retryAt! - now))
  if (never) expect(top!.cost).toBeGreaterThan(top!.spec.burst)
}

describe('several limits at once', () => {
  it('take from all or from none, and the numbers on top are those of the right one', async () => {
    await fc.assert(
      fc.asyncProperty(RULES, stepsWith(false), async (rules, steps) => {
        const council = new Council(rules)
        for (const step of steps) await council.do(step)
      }),
      { numRuns: 300 },
    )
  })

  it('are all given back to', async () => {
    await fc.assert(
      fc.asyncProperty(RULES, stepsWith(true), async (rules, steps) => {
        const council = new Council(rules)
        for (const step of steps) await council.do(step)
      }),
      { numRuns: 250 },
    )
  })

  it('never deny for the sake of a shadow rule alone', async () => {
    const shadows = RULES.map((rules) => rules.map((rule) => ({ ...rule, shadow: true })))
    await fc.assert(
      fc.asyncProperty(shadows, stepsWith(false), async (rules, steps) => {
        const council = new Council(rules)
        for (const step of steps) await council.do(step)
        const { allowed, state, limit } = council.limiter.checkSync({
          costs: { requests: 14, tokens: 14 },
        })
        expect({ allowed, state, limit }).toEqual({ allowed: true, state: 'normal', limit: null })
      }),
      { numRuns: 200 },
    )
  })
})
