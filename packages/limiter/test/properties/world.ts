/** A limiter on a clock that the test moves, to the microsecond, and one subject that asks it. */
import {
  createLimiter,
  type Decision,
  type LimitsInput,
  type Refunded,
  type Request,
  type Reservation,
} from '../../src/index.js'

/** A fraction of a millisecond is exact in a double up to here: the year 2109. */
export const LAST_EXACT = 2n ** 42n * 1000n

export const SUBJECT = { user: 'ada' }

export class World {
  now: bigint
  readonly limiter
  #strangers = 0

  constructor(limits: LimitsInput, start: bigint, tiers: Record<string, LimitsInput> = {}) {
    this.now = start
    this.limiter = createLimiter({
      rules: { rule: { scope: 'user', limits, tiers } },
      clock: () => Number(this.now) / 1000,
    })
  }

  /** Time goes on, but not to where the clock is no longer exact. */
  wait(us: bigint): void {
    if (this.now + us < LAST_EXACT) this.now += us
  }

  check(cost = 1n, more: Request<'user'> = {}): Decision {
    return this.limiter.checkSync({ subject: SUBJECT, costs: costsOf(cost), ...more })
  }

  /** What a check would answer now, or at another time. */
  peek(cost = 1n, at = this.now, more: Request<'user'> = {}): Decision {
    const { now } = this
    this.now = at
    const decision = this.check(cost, { ...more, dryRun: true })
    this.now = now
    return decision
  }

  async grant(amount: bigint): Promise<Refunded> {
    return (await this.limiter.refund({ subject: SUBJECT, costs: costsOf(amount) }))!
  }

  reserve(estimate: bigint): Promise<Reservation> {
    return this.limiter.reserve({ subject: SUBJECT, costs: costsOf(estimate) })
  }

  reset(): Promise<number | null> {
    return this.limiter.reset(SUBJECT)
  }

  /** What was used carries over where algorithm and window stay. */
  setLimits(limits: LimitsInput): void {
    this.limiter.setRules({ rules: { rule: { scope: 'user', limits } } })
  }

  /** Other subjects come once, so that the rows of forgotten ones are used again. */
  welcomeStrangers(count: number): void {
    for (let i = 0; i < count; i++) {
      this.limiter.checkSync({ subject: { user: `stranger-${this.#strangers++}` } })
    }
  }
}

function costsOf(cost: bigint): Record<string, number> {
  return { requests: Number(cost) }
}

/** Microseconds as the milliseconds of an answer: rounded up. */
export function milliseconds(us: bigint): number {
  return Number((us + 999n) / 1000n)
}
