/** What a store with leases asks for and reports, who waits meanwhile, and what happens when rules change or it is closed. */
import { describe, expect, it } from 'vitest'
import { fallIdle, isLocal, open, openHolding, openWarm, spend, WARM } from './opened.js'

describe('a report', () => {
  it('says what was spent and gives back what is not needed', () => {
    const { time, inner, decide, store } = openHolding(10)
    spend(decide, 3)
    fallIdle(time)
    expect(inner.lastLease.ask.want).toBe(0)
    expect(inner.lastLease.reports).toEqual(['3+7'])
    expect(store.tally).toMatchObject({ returned: 7, lost: 0 })
  })

  it('is not sent again where nobody knows whether it was heard', () => {
    const { time, inner, decide, store } = openHolding(10)
    spend(decide, 3)
    fallIdle(time)
    const sent = inner.leases.length
    inner.lastLease.fail('unknown')
    fallIdle(time)
    expect(inner.leases).toHaveLength(sent)
    expect(isLocal(decide())).toBe(false)
    expect(store.tally).toMatchObject({ returned: 0, lost: 7 })
  })

  it('is sent again where certainly nobody has heard it, and what it gave back can be spent', () => {
    const { time, inner, decide, store } = openHolding(10)
    spend(decide, 3)
    fallIdle(time)
    inner.lastLease.fail('not_done')
    expect(isLocal(decide())).toBe(true)
    fallIdle(time)
    expect(inner.lastLease.reports).toEqual(['4+6'])
    expect(store.tally).toMatchObject({ returned: 6, lost: 0 })
  })

  it('gives back what cannot be spent any more before it is sent', () => {
    const { time, inner, decide } = openHolding(10)
    fallIdle(time)
    expect(inner.lastLease.reports).toEqual(['0+10'])
    expect(isLocal(decide())).toBe(false)
  })

  it('goes with the next lease that is asked for', () => {
    const { time, inner, decide } = openHolding(10)
    time.pass(20)
    spend(decide, 3)
    expect(inner.leases).toHaveLength(2)
    expect(inner.lastLease.ask.want).toBeGreaterThan(0)
    expect(inner.lastLease.reports).toEqual(['1+0'])
  })
})

describe('of a row that is asked for 4 times in 20 ms, so that 20 are wanted ahead', () => {
  it('more are asked for once less than half is left', () => {
    const { time, inner, decide } = openHolding(20)
    time.pass(20)
    spend(decide, 10)
    expect(inner.leases).toHaveLength(1)
    spend(decide, 1)
    expect(inner.leases).toHaveLength(2)
  })

  it('what is held beyond twice that is given back', () => {
    for (const [held, reports] of [
      [40, []],
      [41, ['0+21']],
      [100, ['0+80']],
    ] as const) {
      const { time, inner } = openHolding(held)
      time.pass(20)
      expect(inner.leases.slice(1).flatMap((lease) => lease.reports)).toEqual(reports)
    }
  })

  it('nothing is asked for ahead for 20 ms where less was granted', () => {
    const { time, inner, decide } = openHolding(9)
    time.pass(19)
    spend(decide, 3)
    expect(inner.leases).toHaveLength(1)
    time.ms += 1
    spend(decide, 1)
    expect(inner.leases).toHaveLength(2)
  })
})

describe('a lease on its way', () => {
  it('is the only one of its row; who finds nothing waits for it, is served in turn, or asks for himself', async () => {
    const { inner, decide } = openWarm()
    const waiting = Array.from({ length: 4 }, async () => decide())
    expect([inner.decisions.length, inner.leases.length]).toEqual([WARM, 1])
    inner.lastLease.grant(2)
    expect(await Promise.all(waiting.slice(0, 2))).toMatchObject([
      { allowed: true },
      { allowed: true },
    ])
    // Less was granted than was asked for: for a while nothing is asked for ahead.
    expect([inner.decisions.length, inner.leases.length]).toEqual([WARM + 2, 1])
    inner.decisions.at(-2)!.deny()
    inner.decisions.at(-1)!.allow()
    expect(await Promise.all(waiting.slice(2))).toMatchObject([
      { allowed: false },
      { allowed: true },
    ])
  })

  it('keeps nobody longer than his deadline: whoever has waited is asked for as of when he began', async () => {
    const { time, inner, decide } = openWarm()
    time.ms += 30
    void decide()
    time.ms += 70
    inner.lastLease.fail('unknown')
    await Promise.resolve()
    expect(inner.decisions).toHaveLength(WARM + 1)
    expect(inner.decision.transaction.deadline).toBe(30 + 100)
  })

  it('is followed by one that is large enough for all who wait yet, while leases come in full', async () => {
    const { inner, decide } = openWarm()
    const { want } = inner.lastLease.ask
    const waiting = Array.from({ length: want + 90 }, async () => decide())
    inner.lastLease.grant(want)
    await Promise.all(waiting.slice(0, want))
    expect([inner.decisions.length, inner.leases.length]).toEqual([WARM, 2])
    expect(inner.lastLease.ask.want).toBeGreaterThanOrEqual(90)
    inner.lastLease.grant(90)
    const answers = await Promise.all(waiting)
    expect(answers.every(({ allowed }) => allowed)).toBe(true)
    expect(inner.decisions).toHaveLength(WARM)
  })

  it('is waited for until the deadline, though nobody answers', () => {
    const { time, inner, decide } = openWarm()
    time.ms += 30
    void decide()
    time.pass(90)
    expect(inner.decisions).toHaveLength(WARM)
    time.pass(20)
    expect(inner.decisions).toHaveLength(WARM + 1)
    expect(inner.decision.transaction.deadline).toBe(30 + 100)
  })

  it('lets a call of those who wait ask for themselves near the limit, whose no answers the others', async () => {
    const { inner, decide } = openWarm()
    const waiting = Array.from({ length: 200 }, async () => decide())
    inner.lastLease.grant(0)
    await Promise.resolve()
    expect([inner.decisions.length, inner.leases.length]).toEqual([WARM + 64, 2])
    for (const decision of inner.decisions.slice(WARM)) decision.deny()
    inner.lastLease.grant(0)
    const answers = await Promise.all(waiting)
    expect(answers.some(({ allowed }) => allowed)).toBe(false)
    expect(inner.decisions).toHaveLength(WARM + 64)
  })

  it('keeps nobody who finds what he needs', () => {
    const { time, inner, decide } = openHolding(10)
    time.pass(20)
    spend(decide, 1)
    expect(inner.leases).toHaveLength(2)
    expect(isLocal(decide())).toBe(true)
  })
})

describe('when rules change', () => {
  const NEXT = { rules: { user: { scope: 'user', limits: '2000/s burst 100' } } } as const

  it('what is held of the old ones is given back at once', () => {
    const { inner, decide, limiter } = openHolding(10)
    spend(decide, 3)
    limiter.setRules(NEXT)
    expect(inner.lastLease.reports).toEqual(['3+7'])
    expect(isLocal(decide())).toBe(false)
  })

  it('what is granted later is given back too', () => {
    const { inner, limiter, store } = openWarm()
    limiter.setRules(NEXT)
    inner.lastLease.grant(10)
    expect(inner.lastLease.reports).toEqual(['0+10'])
    expect(store.tally).toMatchObject({ granted: 10, returned: 10 })
  })

  it('who waits for a lease of the old ones is answered', async () => {
    const { inner, decide, limiter } = openWarm()
    const answer = decide()
    limiter.setRules(NEXT)
    inner.leases[0]!.grant(10)
    await Promise.resolve()
    inner.decision.allow()
    expect((await answer).allowed).toBe(true)
  })
})

describe('when it is closed', () => {
  it('what is held is given back, and only then is the store closed', async () => {
    const { inner, decide, store } = openHolding(10)
    spend(decide, 3)
    const closed = store.close()
    expect(inner.lastLease.reports).toEqual(['3+7'])
    await Promise.resolve()
    expect(inner.isClosed).toBe(false)
    inner.lastLease.grant(0)
    await closed
    expect(inner.isClosed).toBe(true)
  })

  it('what is granted yet is given back as well', async () => {
    const { inner, store } = openWarm()
    const closed = store.close()
    inner.lastLease.grant(10)
    expect(inner.lastLease.reports).toEqual(['0+10'])
    expect(inner.isClosed).toBe(false)
    inner.lastLease.grant(0)
    await closed
  })

  it('a store that cannot be reached does not keep it', async () => {
    const { inner, store } = openHolding(10)
    const closed = store.close()
    inner.lastLease.fail('not_done')
    await closed
    expect(store.tally).toMatchObject({ returned: 0, lost: 10 })
  })

  it('nothing is leased any more', async () => {
    const { inner, time, store, decide } = open()
    await store.close()
    for (let i = 0; i < 3 * WARM; i++) void decide()
    expect(inner.leases).toEqual([])
    expect(time.isTicking).toBe(false)
  })
})
