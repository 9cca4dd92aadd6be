/** Every algorithm that can be split keeps its promise in shards, for any run of requests, and says a time that holds. */
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { worldOf } from './over-memory.js'

const WINDOW_MS = 10_000
const LIMIT = 60
const ADA = { subject: { user: 'ada' } }

interface Take {
  readonly at: number
  readonly amount: number
}

const sum = (takes: readonly Take[]) => takes.reduce((all, { amount }) => all + amount, 0)

/** The most that was taken in any window of this length, wherever it starts. */
function mostIn(takes: readonly Take[], ms: number): number {
  return Math.max(
    0,
    ...takes.map(({ at: start }) => sum(takes.filter(({ at }) => at >= start && at < start + ms))),
  )
}

/** The most in any window that starts at a multiple of its length. */
function mostAligned(takes: readonly Take[], ms: number): number {
  const windows = new Map<number, number>()
  for (const { at, amount } of takes) {
    const index = Math.floor(at / ms)
    windows.set(index, (windows.get(index) ?? 0) + amount)
  }
  return Math.max(0, ...windows.values())
}

const BOUNDS = {
  '60 per 10s exact': (takes: readonly Take[]) => mostIn(takes, WINDOW_MS) <= LIMIT,
  '60 per 10s fixed': (takes: readonly Take[]) => mostAligned(takes, WINDOW_MS) <= LIMIT,
  '60 per 10s sliding': (takes: readonly Take[]) => mostAligned(takes, WINDOW_MS) <= LIMIT,
  '60 per 10s burst 40': (takes: readonly Take[]) =>
    takes.every(({ at: start }) =>
      takes
        .filter(({ at }) => at >= start)
        .every(({ at: end }) => {
          const within = takes.filter(({ at }) => at >= start && at <= end)
          return sum(within) <= 40 + ((end - start) * LIMIT) / WINDOW_MS
        }),
    ),
} as const

const steps = fc.array(
  fc.record({
    waitMs: fc.oneof(fc.constant(0), fc.nat(300), fc.nat(9000)),
    cost: fc.oneof(fc.constant(1), fc.integer({ min: 1, max: 4 }), fc.integer({ min: 5, max: 40 })),
    instance: fc.nat(2),
    comesBack: fc.boolean(),
  }),
  { minLength: 40, maxLength: 120 },
)

describe.each(Object.entries(BOUNDS))('%s in shards', (limits, isKept) => {
  it('never admits more than it promises, and admits at the time that it names', async () => {
    await fc.assert(
      fc.asyncProperty(
        steps,
        fc.nat(),
        fc.integer({ min: 2, max: 6 }),
        async (run, seed, shards) => {
          const rules = { hot: { scope: 'user', limits: limits as '60 per 10s', shards } }
          const world = worldOf(rules, { instances: 3, seed })
          const takes: Take[] = []
          for (const { waitMs, cost, instance, comesBack } of run) {
            world.now += waitMs
            const limiter = world.limiters[instance]!
            const decision = await limiter.check({ ...ADA, cost })
            const most = Math.floor(decision.limit! / shards)
            const isNever = !decision.allowed && decision.reason === 'too_expensive'
            expect(isNever).toBe(cost > most)
            if (decision.allowed) takes.push({ at: world.now, amount: cost })
            else if (comesBack && !isNever) {
              world.now += decision.retryAfterMs!
              expect((await limiter.check({ ...ADA, cost })).allowed).toBe(true)
              takes.push({ at: world.now, amount: cost })
            }
          }
          expect(isKept(takes)).toBe(true)
        },
      ),
      { numRuns: 60 },
    )
  })
})
