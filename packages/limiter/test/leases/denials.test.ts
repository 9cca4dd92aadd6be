/** What was denied is remembered for a while. */
import { describe, expect, it } from 'vitest'
import { ADA, isLocal, local, open, openWarm, type Rules, WARM } from './opened.js'

/** A row of which nothing is leased here, and so much by others, was denied this cost. */
async function openDenied(
  out: number,
  inMs: number,
  cost = 1,
  rules?: Rules,
  mostDeniedMs?: number,
) {
  const opened = openWarm(rules, undefined, mostDeniedMs)
  const { inner, decide } = opened
  inner.lastLease.grant(0, { out })
  const answer = decide(cost)
  inner.lastLease.grant(0, { out })
  inner.decision.deny({ inMs })
  await answer
  return opened
}

describe('a denial', () => {
  it('is remembered for 20 ms while leases are out that may come back', async () => {
    const { time, decide } = await openDenied(5, 500)
    time.ms += 19
    expect(local(decide())).toMatchObject({ allowed: false, remaining: 0 })
    time.ms += 1
    expect(isLocal(decide())).toBe(false)
  })

  it('is remembered for a second while none is out', async () => {
    const { time, decide } = await openDenied(0, 5000)
    time.ms += 999
    expect(local(decide()).allowed).toBe(false)
    time.ms += 1
    expect(isLocal(decide())).toBe(false)
  })

  it('of a rule in shards is remembered for 20 ms, because others may have leases', async () => {
    const rules: Rules = { user: { scope: 'user', limits: '1000/s burst 100', shards: 4 } }
    const { time, decide } = await openDenied(0, 500, 1, rules)
    time.ms += 19
    expect(local(decide()).allowed).toBe(false)
    time.ms += 1
    expect(isLocal(decide())).toBe(false)
  })

  it.each([0, 5])('is remembered no longer than it may with %i leased out', async (out) => {
    const { time, decide } = await openDenied(out, 500, 1, undefined, 7)
    time.ms += 6
    expect(local(decide()).allowed).toBe(false)
    time.ms += 1
    expect(isLocal(decide())).toBe(false)
  })

  it.each([0, 5])('is never remembered past its retry with %i leased out', async (out) => {
    const { time, decide } = await openDenied(out, 12)
    time.ms += 11
    expect(local(decide()).allowed).toBe(false)
    time.ms += 1
    expect(isLocal(decide())).toBe(false)
  })

  it('holds for what costs as much or more', async () => {
    const { decide } = await openDenied(0, 500, 3)
    expect(local(decide(3)).allowed).toBe(false)
    expect(local(decide(4)).allowed).toBe(false)
    expect(isLocal(decide(2))).toBe(false)
  })

  it('says the time to retry as it was', async () => {
    const { time, decide } = await openDenied(0, 500)
    time.ms += 200
    expect(local(decide())).toMatchObject({ retryAfterMs: 300 })
  })

  it('is forgotten where somebody gives', async () => {
    const { limiter, decide } = await openDenied(0, 500)
    await limiter.refund(ADA)
    expect(isLocal(decide())).toBe(false)
  })

  it('is forgotten where somebody gives back', async () => {
    const opened = open()
    const first = opened.decide()
    opened.inner.decision.allow()
    const taken = await first
    for (let i = 1; i < WARM; i++) {
      void opened.decide()
      opened.inner.decision.allow()
    }
    opened.inner.lastLease.grant(0, { out: 0 })
    const answer = opened.decide()
    opened.inner.lastLease.grant(0, { out: 0 })
    opened.inner.decision.deny()
    await answer
    expect(isLocal(opened.decide())).toBe(true)
    await opened.limiter.refund(taken)
    expect(isLocal(opened.decide())).toBe(false)
  })

  it('is forgotten by a reset', async () => {
    const { limiter, decide } = await openDenied(0, 500)
    await limiter.reset({ user: 'ada' })
    expect(isLocal(decide())).toBe(false)
  })

  it('is forgotten when rules change', async () => {
    const { limiter, decide } = await openDenied(0, 500)
    limiter.setRules({ rules: { user: { scope: 'user', limits: '2000/s burst 100' } } })
    expect(isLocal(decide())).toBe(false)
  })

  it('lets through where its rule is a shadow', async () => {
    const rules: Rules = { user: { scope: 'user', limits: '1000/s burst 100', shadow: true } }
    const { decide } = await openDenied(0, 500, 1, rules)
    const answer = local(decide())
    expect(answer.allowed).toBe(true)
    expect(answer.limits[0]).toMatchObject({ shadow: true, allowed: false })
  })
})
