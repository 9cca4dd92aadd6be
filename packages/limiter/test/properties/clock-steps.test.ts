/**
 * A clock that jumps ahead and steps back, however far, mints nothing beyond what its ways ahead would refill:
 * also where everything that was ever taken is given back by receipt, again and again.
 */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createLimiter, type Decision, type LimitText, memoryStore } from '../../src/index.js'

const START_MS = 1_780_000_000_000
const AMOUNT = 10
const WINDOW_MS = 20_000
const DAY_MS = 86_400_000

/** What was taken and never undone, by how far the clock had gone ahead in all, and how many windows had begun. */
interface Spend {
  readonly aheadMs: number
  readonly windows: number
  readonly cost: number
  readonly decision: Decision
}

/** An ideal bucket that sees the ways ahead only. */
function overflows(spends: readonly Spend[], burst: number): boolean {
  let [debt, last] = [0, 0]
  return spends.some(({ aheadMs, cost }) => {
    debt = Math.max(0, debt - ((aheadMs - last) * AMOUNT) / WINDOW_MS) + cost
    last = aheadMs
    return debt > burst + 1e-6
  })
}

function sum(spends: readonly Spend[]): number {
  return spends.reduce((total, { cost }) => total + cost, 0)
}

const inOneWindow = (spends: readonly Spend[]): boolean =>
  spends.some(({ windows }) => sum(spends.filter((each) => each.windows === windows)) > AMOUNT)

const inAnyWindow = (spends: readonly Spend[]): boolean =>
  spends.some(
    ({ aheadMs }) =>
      sum(spends.filter((each) => each.aheadMs <= aheadMs && each.aheadMs > aheadMs - WINDOW_MS)) >
      AMOUNT,
  )

/** By limit, whether too much was admitted. */
const LIMITS: Readonly<Record<string, (spends: readonly Spend[]) => boolean>> = {
  '10 per 20s': (spends) => overflows(spends, AMOUNT),
  '10 per 20s burst 30': (spends) => overflows(spends, 30),
  '10 per 20s smooth 3': (spends) => overflows(spends, 3),
  '10 per 20s fixed': inOneWindow,
  '10 per 20s sliding': inOneWindow,
  '10 per 20s exact': inAnyWindow,
}

type Step =
  | { readonly does: 'take'; readonly cost: number }
  | { readonly does: 'move'; readonly ms: number }
  | { readonly does: 'undo'; readonly which: number }
  | { readonly does: 'undo all' }

const does = <D extends string>(what: D) => fc.constant(what)
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({ does: does('take'), cost: fc.constantFrom(1, 2, 3, 5, 10) }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      does: does('move'),
      ms: fc.oneof(
        fc.constantFrom(0, 2000, 5000, 10_000, 20_000),
        fc.integer({ min: -59_000, max: 60_000 }),
        fc.constantFrom(-61_000, 61_000, -DAY_MS, DAY_MS, -DAY_MS - 20_000, 3_600_000, -3_600_000),
      ),
    }),
  },
  { weight: 2, arbitrary: fc.record({ does: does('undo'), which: fc.nat(100) }) },
  { weight: 1, arbitrary: fc.record({ does: does('undo all') }) },
)

async function play(
  limit: LimitText,
  isTooMuch: (spends: readonly Spend[]) => boolean,
  steps: readonly Step[],
): Promise<void> {
  let now = START_MS
  const limiter = createLimiter({
    rules: { rule: { scope: 'user', limits: limit } },
    clock: () => now,
  })
  let spends: Spend[] = []
  let [aheadMs, windows] = [0, 0]
  const undo = async (spend: Spend | undefined) => {
    if (spend === undefined) return
    await limiter.refund(spend.decision)
    spends = spends.filter((other) => other !== spend)
  }
  for (const each of steps) {
    if (each.does === 'take') {
      const { cost } = each
      const decision = limiter.checkSync({ subject: { user: 'ada' }, cost })
      if (decision.allowed) spends.push({ aheadMs, windows, cost, decision })
    } else if (each.does === 'move') {
      const next = now + each.ms
      aheadMs += Math.max(0, each.ms)
      windows += Math.max(0, Math.floor(next / WINDOW_MS) - Math.floor(now / WINDOW_MS))
      now = next
    } else if (each.does === 'undo all') for (const spend of spends) await undo(spend)
    else await undo(spends[each.which % Math.max(1, spends.length)])
  }
  expect(isTooMuch(spends)).toBe(false)
}

describe('a clock that jumps ahead and steps back', () => {
  it.each(Object.entries(LIMITS))('%s: mints nothing', async (limit, isTooMuch) => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 2, maxLength: 60 }), (steps) =>
        play(limit as LimitText, isTooMuch, steps),
      ),
      { numRuns: 3000 },
    )
  })

  it('says so once for each step back of more than a minute', () => {
    let now = START_MS
    const steps: number[] = []
    const store = memoryStore({ onClockStepBack: (byMs) => steps.push(byMs) })
    const limiter = createLimiter('5/s', { store, clock: () => now })
    for (const ms of [0, 59_000, -59_000, DAY_MS, 0, -DAY_MS, 0, 1000, -62_000]) {
      now += ms
      limiter.checkSync({ subject: { key: 'ada' } })
    }
    expect(steps).toEqual([DAY_MS, 62_000])
    expect(store.clockStepsBack).toBe(2)
  })
})
