/** A limiter over the store under test, a clock that is moved by hand, and what is asked of both. */
import assert from 'node:assert/strict'
import type { Clock } from '../clock.js'
import { createLimiter } from '../create-limiter.js'
import type { Decision, LimitDecision } from '../decision.js'
import type { Limiter } from '../limiter.js'
import type { LimitText } from '../limits/limit-text.js'
import type { Request } from '../request.js'
import type { RulesDocument } from '../rules/document.js'
import type { LimitsInput } from '../rules/rule-fields.js'
import type { Awaitable, Store } from '../stores/store.js'

export interface StoreUnderTest {
  readonly store: Store
  /** Called when its test is over, after the limiter was closed. */
  close?(): Awaitable<void>
}

/** Makes an empty store that decides by `clock`: milliseconds since the epoch, exact to the microsecond. */
export type MakeStore = (clock: Clock) => Awaitable<StoreUnderTest>

/** Opens a trial under a document's rules, or under one limit or several for every user. */
export type Open = (rules: RulesDocument | LimitsInput) => Trial
type Test = (open: Open) => Promise<void>

/** Promises, each with its test. */
export type Chapter = Readonly<Record<string, Test>>

export const START = 1_780_000_000_000
export const ADA: Request = { subject: { user: 'ada' } }
export const BOB: Request = { subject: { user: 'bob' } }

/** A limit of 5 in 10 seconds by every algorithm; of concurrency 5 at a time. */
export const FIVES = {
  token_bucket: '5 per 10s',
  gcra: '5 per 10s smooth 5',
  leaky_bucket: '5 per 10s queue 4',
  fixed_window: '5 per 10s fixed',
  sliding_window_log: '5 per 10s exact',
  sliding_window_counter: '5 per 10s sliding',
} as const satisfies Record<string, LimitText>
export const EVERY_FIVE = Object.values(FIVES)

export class Trial {
  /** Milliseconds. */
  now = START
  readonly limiter: Limiter
  readonly store: Store
  readonly #limiters: Limiter[] = []

  constructor(store: Store, rules: RulesDocument, time: { clock: Clock }) {
    this.store = store
    time.clock = () => this.now
    this.limiter = this.another(rules)
  }

  /** One more limiter over the same store. */
  another(document: RulesDocument): Limiter {
    const { rules = {}, ...rest } = document
    const limiter: Limiter = createLimiter({
      scopes: ['user', 'org'],
      ...rest,
      rules,
      store: this.store,
      clock: () => this.now,
    })
    this.#limiters.push(limiter)
    return limiter
  }

  check(request: Request): Promise<Decision> {
    return this.limiter.check(request)
  }

  /** Takes, or fails. */
  async take(request: Request): Promise<Decision> {
    const decision = await this.check(request)
    assert.equal(decision.allowed, true, `${String(decision)}, expected to be allowed`)
    return decision
  }

  async deny(request: Request): Promise<Decision & { allowed: false }> {
    const decision = await this.check(request)
    if (decision.allowed) assert.fail(`${String(decision)}, expected to be denied`)
    return decision
  }

  /** What every limit that applies has left. */
  async left(request: Request): Promise<(number | null)[]> {
    return (await this.limits(request)).map(({ remaining }) => remaining)
  }

  async limits(request: Request): Promise<readonly LimitDecision[]> {
    return (await this.limiter.peek(request)).limits
  }

  /** What every limit says now and in a while. */
  async outlook(request: Request): Promise<(readonly LimitDecision[])[]> {
    const { now } = this
    const seen = []
    for (const ms of [0, 1, 999, 2000, 9999, 10_000, 25_000, 3_600_000]) {
      this.now = now + ms
      seen.push(await this.limits(request))
    }
    this.now = now
    return seen
  }

  /** Denied until the time it names, to the millisecond, and admitted then. The clock stays there. */
  async awaitRetry(request: Request): Promise<void> {
    const denied = await this.deny(request)
    const { retryAfterMs } = denied
    assert.ok(retryAfterMs !== null && retryAfterMs > 0, String(denied))
    this.now += retryAfterMs - 1
    await this.deny(request)
    this.now += 1
    await this.take(request)
  }

  async close(): Promise<void> {
    for (const limiter of this.#limiters) await limiter.close()
  }
}

function documentOf(rules: unknown): RulesDocument {
  if (typeof rules !== 'string' && !Array.isArray(rules)) return rules as RulesDocument
  return { rules: { rule: { scope: 'user', limits: rules as LimitsInput } } }
}

export async function tryOut(makeStore: MakeStore, test: Test): Promise<void> {
  const time: { clock: Clock } = { clock: () => START }
  const under = await makeStore(() => time.clock())
  let trial: Trial | undefined
  try {
    await test((rules) => {
      assert.equal(trial, undefined, 'a store is tried once')
      trial = new Trial(under.store, documentOf(rules), time)
      return trial
    })
  } finally {
    await trial?.close()
    await under.close?.()
  }
}
