/** A rule that gets more limits, or fewer: the others are left as they were. */
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Decision } from '../../src/index.js'
import { type LimitSpec, limitOf, MINUTE, oracleOf, smallLimits } from './limits.js'
import type { GiveBack, Oracle } from './oracle.js'
import { HoldsOracle } from './oracle-holds.js'
import { milliseconds, SUBJECT, World } from './world.js'

/** The limits of one rule; some come later and some go, and none comes twice. */
class Growing {
  readonly world: World
  readonly #counters: { spec: LimitSpec; oracle: Oracle }[]
  readonly #known: Set<string>
  #holds = 0
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
    this.world.setLimits(this.#counters.map(({ spec }) => limitOf(spec)))
  }

  check(cost: bigint): void {
    const { now } = this.world
    const holdId = this.#newHold()
    const fits = this.#counters.map(({ oracle }) => oracle.fits(cost, now, holdId))
    const decision = this.world.check(cost, { holdId })
    expect(decision.allowed).toBe(!fits.includes(false))
    if (decision.allowed) {
      const takes = this.#counters.map(
        ({ oracle }) => [oracle, oracle.take(cost, now, holdId)] as const,
      )
      this.#receipts.push({ decision, giveBacks: new Map(takes), cost })
    }
    this.#expectNumbers(decision, fits)
  }

  #expectNumbers(decision: Decision, fits: readonly boolean[]): void {
    const { now } = this.world
    expect(
      decision.limits.map(({ allowed, used, remaining, resetAtMs }) => ({
        allowed,
        used,
        remaining,
        resetAtMs,
      })),
    ).toEqual(
      this.#counters.map(({ oracle }, i) => ({
        allowed: fits[i],
        used: Number(oracle.used(now)),
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

  /** Uses more than was reserved: debt in every limit that was reserved from. */
  async overrun(more: bigint): Promise<void> {
    const { now } = this.world
    const holdId = this.#newHold()
    const reservation = await this.world.limiter.reserve({ subject: SUBJECT, holdId })
    if (!reservation.allowed) return
    await reservation.settle(Number(1n + more))
    for (const { oracle } of this.#counters) {
      oracle.take(1n, now, holdId)
      oracle.charge(more, now)
    }
  }

  /** A hold is released with its ticket, whatever the rules are by then. */
  async release(which: number): Promise<void> {
    const held = this.#receipts.flatMap(({ decision }) => decision.hold ?? [])
    const hold = held[which % Math.max(1, held.length)]
    if (hold === undefined) return
    await this.world.limiter.release(hold)
    for (const { oracle } of this.#counters)
      if (oracle instanceof HoldsOracle) oracle.release(hold.id, this.world.now)
  }

  #newHold(): string {
    return `hold-${this.#holds++}`
  }

  async reset(): Promise<void> {
    const inUse = this.#counters.map(({ oracle }) => oracle.reset(this.world.now))
    expect(await this.world.reset()).toBe(inUse.includes(true) ? 1 : 0)
  }
}

function identity({ algorithm, window }: LimitSpec): string {
  return `${algorithm} ${window}`
}

const ANY_LIMIT = fc.oneof(
  { weight: 6, arbitrary: smallLimits() },
  { weight: 1, arbitrary: smallLimits(['concurrency']) },
)

describe('more limits, or fewer', () => {
  it('leave the others as they were', async () => {
    const place = fc.nat({ max: 5 })
    const step = fc.oneof(
      { weight: 8, arbitrary: fc.record({ check: fc.bigInt(1n, 5n) }) },
      { weight: 4, arbitrary: fc.record({ wait: fc.bigInt(0n, 3n * MINUTE) }) },
      { weight: 1, arbitrary: fc.record({ wait: fc.bigInt(0n, 240n * MINUTE) }) },
      { weight: 2, arbitrary: fc.record({ add: ANY_LIMIT, place }) },
      { weight: 1, arbitrary: fc.record({ remove: place }) },
      { weight: 1, arbitrary: fc.record({ refund: fc.nat({ max: 20 }) }) },
      { weight: 1, arbitrary: fc.record({ reset: fc.constant(true) }) },
      { weight: 1, arbitrary: fc.record({ release: fc.nat({ max: 20 }) }) },
      { weight: 1, arbitrary: fc.record({ overrun: fc.bigInt(1n, 40n) }) },
      { weight: 1, arbitrary: fc.record({ strangers: fc.nat({ max: 6 }) }) },
    )
    const steps = fc.array(step, { maxLength: 50, size: 'max' })
    await fc.assert(
      fc.asyncProperty(ANY_LIMIT, steps, async (first, steps) => {
        const growing = new Growing(first)
        for (const step of steps) {
          if ('check' in step) growing.check(step.check)
          else if ('wait' in step) growing.world.now += step.wait
          else if ('add' in step) growing.add(step.add, step.place)
          else if ('remove' in step) growing.remove(step.remove)
          else if ('refund' in step) await growing.refund(step.refund)
          else if ('reset' in step) await growing.reset()
          else if ('release' in step) await growing.release(step.release)
          else if ('overrun' in step) await growing.overrun(step.overrun)
          else growing.world.welcomeStrangers(step.strangers)
        }
      }),
      { numRuns: 300 },
    )
  })
})
