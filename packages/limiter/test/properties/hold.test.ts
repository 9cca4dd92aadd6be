/** A hold taken with `hold`: released once, and renewed by itself until then. */
import * as fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { concurrencyLimits, limitOf, MINUTE } from './limits.js'
import { SUBJECT, World } from './world.js'

const LIMITS = concurrencyLimits()

describe('a hold', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }))
  afterEach(() => void vi.useRealTimers())

  it('is released once, and frees nobody else’s place', async () => {
    await fc.assert(
      fc.asyncProperty(LIMITS, fc.array(fc.nat({ max: 8 })), async (spec, releases) => {
        const world = new World(limitOf(spec), MINUTE)
        const holds = await Promise.all(
          Array.from({ length: Number(spec.amount) }, () =>
            world.limiter.hold({ subject: SUBJECT }),
          ),
        )
        const released = new Set<number>()
        for (const which of releases.map((n) => n % holds.length)) {
          expect(await holds[which]!.release()).toBe(!released.has(which))
          released.add(which)
          expect(world.peek().remaining).toBe(released.size)
        }
      }),
      { numRuns: 200 },
    )
  })

  it('renews itself for as long as it is not released', async () => {
    await fc.assert(
      fc.asyncProperty(LIMITS, fc.integer({ min: 1, max: 20 }), async (spec, thirds) => {
        const world = new World(limitOf(spec), MINUTE)
        const hold = await world.limiter.hold({ subject: SUBJECT })
        const third = Number(spec.window) / 3000
        for (let i = 0; i < thirds; i++) {
          world.now += BigInt(Math.ceil(third * 1000))
          await vi.advanceTimersByTimeAsync(Math.ceil(third))
        }
        expect(hold.lost).toBe(false)
        expect(world.peek().remaining).toBe(Number(spec.amount - 1n))
        await hold.release()
        expect(world.peek().remaining).toBe(Number(spec.amount))
      }),
      { numRuns: 100 },
    )
  })
})
