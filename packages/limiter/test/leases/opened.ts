/** Limiters over leases over a store in the hands of the test: untouched, asked for often, holding a lease. */
import { expect } from 'vitest'
import type { Decision } from '../../src/decision.js'
import { createLimiter, RuleSet, type RulesDocument } from '../../src/index.js'
import { LeasedStore } from '../../src/stores/leased/leased-store.js'
import type { Awaitable } from '../../src/stores/store.js'
import { HandStore, HandTime } from './hand-store.js'

export type Rules = NonNullable<RulesDocument['rules']>

export const LEASED: Rules = { user: { scope: 'user', limits: '1000/s burst 100' } }
export const ADA = { subject: { user: 'ada' } }
/** Asked for so often within a moment, a row is leased. */
export const WARM = 4

/** A limiter over leases, and everything below it. */
export function open(
  rules: Rules = LEASED,
  make = (time: HandTime) => new HandStore(time),
  mostDeniedMs = Number.POSITIVE_INFINITY,
) {
  const time = new HandTime()
  const inner = make(time)
  const store = new LeasedStore({
    inner,
    time,
    leasedByDefault: true,
    mostDeniedMs,
  })
  const limiter = createLimiter({
    rules: RuleSet.compile({ rules }),
    store: Object.assign(store, { deadline: () => time.steady() + time.deadlineMs }),
    clock: () => time.wall() / 1000,
  })
  const decide = (cost = 1, request: object = ADA) => limiter.decide({ ...ADA, ...request, cost })
  return { time, inner, store, limiter, decide }
}

/** The same, once the row was asked for often: a lease is on its way. */
export function openWarm(rules?: Rules, request?: object, mostDeniedMs?: number) {
  const opened = open(rules, undefined, mostDeniedMs)
  for (let i = 0; i < WARM; i++) {
    void opened.decide(1, request)
    opened.inner.decision.allow()
  }
  return opened
}

/** The same, once the lease is there. */
export function openHolding(held: number, left = 100, rules?: Rules, request?: object) {
  const opened = openWarm(rules, request)
  opened.inner.lastLease.grant(held, { left })
  return opened
}

/** Decided from memory. */
export function isLocal(answer: Awaitable<Decision>): answer is Decision {
  return !(answer instanceof Promise)
}

export function local(answer: Awaitable<Decision>): Decision {
  if (!isLocal(answer)) throw new Error('the store was asked')
  return answer
}

/** So many are decided from memory. */
export function spend(decide: () => Awaitable<Decision>, times: number): void {
  for (let i = 0; i < times; i++) expect(local(decide()).allowed).toBe(true)
}

/** Long enough for nobody to ask: what is held is given back. */
export function fallIdle(time: HandTime): void {
  time.pass(20)
  time.pass(40)
}
