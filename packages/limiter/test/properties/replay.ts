/** Replays a history on a limiter and on its oracle, and compares every answer. */
import { expect } from 'vitest'
import type { Decision, Reservation } from '../../src/index.js'
import { least, most } from './fraction.js'
import { type Deed, type History, type Step, steppedBack } from './histories.js'
import { type LimitSpec, limitOf, oracleOf } from './limits.js'
import type { GiveBack, Oracle } from './oracle.js'
import { LAST_EXACT, milliseconds, World } from './world.js'

/** Everything that changes a counter, by a clock that only goes forward. */
export const GIVING: readonly Deed[] = [
  'check',
  'wait',
  'await retry',
  'strangers',
  'refund',
  'grant',
  'reset',
  'reserve',
  'settle',
]

export interface Admission {
  readonly at: bigint
  /** What it took and was not given back. */
  cost: bigint
  /** When it may go on. */
  readonly releaseAt: bigint
}

interface Receipt {
  readonly decision: Decision
  readonly giveBack: GiveBack
  readonly admission: Admission
  left: bigint
  settled: boolean
}

export class Replay {
  readonly world: World
  readonly oracle: Oracle
  readonly admissions: Admission[] = []
  readonly #receipts: Receipt[] = []
  readonly #reservations: { readonly reservation: Reservation; readonly receipt: Receipt }[] = []
  #latest: bigint
  #retryAt: bigint | null = null

  constructor(world: World, oracle: Oracle) {
    this.world = world
    this.oracle = oracle
    this.#latest = world.now
  }

  /** `tiers`: other numbers that share the counters, and that nobody asks under. */
  static async of(
    { spec, start, steps }: History,
    tiers: Record<string, LimitSpec> = {},
  ): Promise<Replay> {
    const limits = Object.entries(tiers).map(([tier, spec]) => [tier, limitOf(spec)] as const)
    const world = new World(limitOf(spec), start, Object.fromEntries(limits))
    const replay = new Replay(world, oracleOf(spec))
    for (const step of steps) await replay.do(step)
    return replay
  }

  async do(step: Step): Promise<void> {
    const { world } = this
    switch (step.does) {
      case 'check':
        this.#decided(world.check(step.cost), step.cost)
        break
      case 'wait':
        world.wait(step.us)
        break
      case 'await retry':
        if (this.#retryAt !== null && this.#retryAt < LAST_EXACT)
          world.now = most(world.now, this.#retryAt + step.off)
        break
      case 'step back':
        world.now = steppedBack(world.now, this.#latest, step.us)
        break
      case 'strangers':
        world.welcomeStrangers(step.count)
        break
      case 'refund':
        await this.#refund(step.which, step.amount)
        break
      case 'grant':
        expect(await world.grant(step.amount)).toEqual({
          requests: Number(this.oracle.grant(step.amount, world.now)),
        })
        break
      case 'reset':
        expect(await world.reset()).toBe(this.oracle.reset(world.now) ? 1 : 0)
        break
      case 'reserve': {
        const reservation = await world.reserve(step.estimate)
        const receipt = this.#decided(reservation, step.estimate)
        if (receipt !== undefined) this.#reservations.push({ reservation, receipt })
        break
      }
      case 'settle':
        await this.#settle(step.which, step.used)
    }
    this.#latest = most(this.#latest, world.now)
    expectAnswer(world.peek(), this.oracle, 1n, world.now)
  }

  #decided(decision: Decision, cost: bigint): Receipt | undefined {
    const { oracle, world } = this
    const { now } = world
    const fits = oracle.fits(cost, now, '')
    const releaseAt = oracle.releaseAt(now)
    const giveBack = fits ? oracle.take(cost, now, '') : undefined
    expectAnswer(decision, oracle, cost, now, { fits, releaseAt })
    if (giveBack === undefined) {
      this.#retryAt = cost > oracle.limit ? null : oracle.retryAt(cost, now)
      return undefined
    }
    const admission = { at: now, cost, releaseAt }
    const receipt = { decision, giveBack, admission, left: cost, settled: false }
    this.admissions.push(admission)
    this.#receipts.push(receipt)
    return receipt
  }

  async #refund(which: number, amount: bigint): Promise<void> {
    const receipt = this.#receipts[which % Math.max(1, this.#receipts.length)]
    if (receipt === undefined) return
    const given = await this.world.limiter.refund(receipt.decision, Number(amount))
    expect(given!['requests'] ?? 0).toBe(this.#giveBack(receipt, amount))
  }

  /** What the oracle gives back; the receipt is lowered by what was asked, whatever came of it. */
  #giveBack(receipt: Receipt, amount: bigint): number {
    const asked = least(amount, receipt.left)
    receipt.left -= asked
    const given = receipt.giveBack(asked, this.world.now)
    receipt.admission.cost -= given
    return Number(given)
  }

  async #settle(which: number, used: bigint): Promise<void> {
    const chosen = this.#reservations[which % Math.max(1, this.#reservations.length)]
    if (chosen === undefined) return
    const { reservation, receipt } = chosen
    const settlement = await reservation.settle(Number(used))
    if (receipt.settled) return
    receipt.settled = true
    const overrun = most(0n, used - receipt.left)
    const { givenBack, taken } = settlement!
    expect(givenBack['requests'] ?? 0).toBe(this.#giveBack(receipt, most(0n, receipt.left - used)))
    expect(taken['requests'] ?? 0).toBe(Number(overrun))
    if (overrun > 0n) this.oracle.charge(overrun, this.world.now)
  }
}

/** Compares an answer with the oracle's, in whose state a take has been taken already. */
export function expectAnswer(
  decision: Decision,
  oracle: Oracle,
  cost: bigint,
  now: bigint,
  { fits = oracle.fits(cost, now, ''), releaseAt = oracle.releaseAt(now) } = {},
): void {
  const never = cost > oracle.limit
  const retryAfterMs = fits || never ? null : milliseconds(oracle.retryAt(cost, now) - now)
  expect({
    allowed: decision.allowed,
    limit: decision.limit,
    used: decision.used,
    remaining: decision.remaining,
    resetAtMs: decision.resetAtMs,
    delayMs: decision.delayMs,
    retryAfterMs: decision.allowed ? null : decision.retryAfterMs,
    reason: decision.allowed ? null : decision.reason,
  }).toEqual({
    allowed: fits,
    limit: Number(oracle.limit),
    used: Number(oracle.used(now)),
    remaining: Number(oracle.remaining(now)),
    resetAtMs: milliseconds(oracle.resetAt(now)),
    delayMs: fits ? Number(releaseAt - now) / 1000 : 0,
    retryAfterMs,
    reason: fits ? null : never ? 'too_expensive' : 'limited',
  })
}
