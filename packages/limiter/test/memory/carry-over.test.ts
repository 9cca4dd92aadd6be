/** Rules change while subjects are in the middle of something: what they have used stays used. */
import { describe, expect, it } from 'vitest'
import { createLimiter, type LimitText, memoryStore, type RulesDocument } from '../../src/index.js'

const START = 1_780_000_000_000

function changing(first: RulesDocument) {
  const time = { now: START }
  const limiter = createLimiter({ ...first, rules: first.rules ?? {}, clock: () => time.now })
  const left = (request = {}) =>
    limiter
      .checkSync({ subject: { user: 'ada' }, dryRun: true, ...request })
      .limits.map((l) => l.remaining)
  const take = (cost: number, request = {}) =>
    limiter.checkSync({ subject: { user: 'ada' }, cost, ...request })
  return { limiter, time, left, take }
}

const one = (...limits: LimitText[]): RulesDocument => ({ rules: { r: { scope: 'user', limits } } })

describe('a change of rules', () => {
  it('keeps what was used of a bucket when its numbers change', () => {
    const { limiter, left, take } = changing(one('100/h'))
    take(40)
    limiter.setRules(one('50/h'))
    expect(left()).toEqual([10])
    limiter.setRules(one('1000/h'))
    expect(left()).toEqual([960])
    limiter.setRules(one('1000/h burst 500'))
    expect(left()).toEqual([460])
  })

  it.each(['fixed', 'sliding', 'exact'] as const)('keeps the count of a %s window', (word) => {
    const { limiter, left, take } = changing(one(`100/h ${word}`))
    take(40)
    limiter.setRules(one(`50/h ${word}`))
    expect(left()).toEqual([10])
    limiter.setRules(one(`200/h ${word}`))
    expect(left()).toEqual([160])
  })

  it('starts a limit anew whose window or algorithm changed, and leaves the others as they were', () => {
    const { limiter, left, take } = changing(one('10/min', '100/h', '50/d fixed'))
    take(5)
    limiter.setRules(one('10 per 2m', '100/h', '50/d exact'))
    expect(left()).toEqual([10, 95, 50])
  })

  it('leaves the other limits as they were when one is added, taken away or moved', () => {
    const { limiter, left, take } = changing(one('10/min', '100/h'))
    take(3)
    limiter.setRules(one('1000/d', '100/h', '10/min', '20/h sliding'))
    expect(left()).toEqual([1000, 97, 7, 20])
    take(2)
    limiter.setRules(one('10/min'))
    expect(left()).toEqual([5])
    limiter.setRules(one('10/min', '100/h'))
    expect(left()).toEqual([5, 100])
  })

  it('tells equal limits apart by their order', () => {
    const { limiter, left, take } = changing(one('10/h', '20/h burst 5'))
    take(2)
    limiter.setRules(one('10/h', '20/h burst 5', '30/h'))
    expect(left()).toEqual([8, 3, 30])
  })

  it('survives many changes of layout in a row', () => {
    const { limiter, left, take, time } = changing(one('100/h'))
    for (let i = 0; i < 12; i++) {
      take(1)
      limiter.setRules(i % 2 === 0 ? one('100/h', '1000/d fixed') : one('100/h'))
    }
    expect(left()).toEqual([88])
    time.now += 36_000
    expect(left()).toEqual([89])
  })

  it('keeps what was used in a layout long gone, whatever the numbers were in between', () => {
    const { limiter, take, time } = changing(one('7/d burst 7'))
    limiter.checkSync({ subject: { user: 'stranger' } })
    limiter.setRules(one('1000000/h fixed', '7/d burst 7'))
    take(2)
    for (const rules of [one('1000000/h fixed', '1/d burst 1'), one('1/d burst 1')]) {
      limiter.setRules(rules)
      expect(take(1).allowed).toBe(false)
    }
    limiter.setRules(one('1000000/h fixed', '1/d burst 1'))
    expect(take(1).allowed).toBe(false)
    time.now += 86_400_000
    limiter.setRules(one('1/d burst 1'))
    expect(take(1).allowed).toBe(false)
    time.now += 86_400_000
    expect(take(1).allowed).toBe(true)
  })

  it('keeps what was used by keys of which none was asked for between two changes', () => {
    // So many that the table is in parts, which are brought to a new layout one by one.
    const users = Array.from({ length: 9000 }, (_, i) => ({ subject: { user: `u${i}` } }))
    const { limiter, left, take } = changing(one('100/h'))
    for (const user of users) take(3, user)
    limiter.setRules(one('100/h', '50/d fixed'))
    left(users[0])
    limiter.setRules(one('100/h', '50/d fixed', '70/min'))
    for (const user of users) expect(left(user)[0]).toBe(97)
  })

  it('moves a subject between tiers without refilling or emptying it', () => {
    const { left, take } = changing({
      rules: { r: { scope: 'user', limits: '10/h', tiers: { pro: ['100/h', '500/d'] } } },
    })
    take(6)
    expect(left({ tier: 'pro' })).toEqual([94, 500])
    take(10, { tier: 'pro' })
    expect(left()).toEqual([0])
    expect(left({ tier: 'pro' })).toEqual([84, 490])
  })

  it('refuses faulty rules whole and keeps the ones before', () => {
    const { limiter, left } = changing(one('10/h'))
    expect(() =>
      limiter.setRules({ rules: { r: { scope: 'user', limits: '5/hour' as '5/h' } } }),
    ).toThrow(/unknown unit "hour"/)
    expect(left()).toEqual([10])
    expect(limiter.revision).toBe(1)
  })

  it('keeps a scope known that the rules no longer name', () => {
    const limiter = createLimiter({ rules: { r: { scope: 'team', limits: '1/h' } } })
    limiter.setRules({ rules: {} })
    expect(limiter.checkSync({ subject: { team: 'red' } }).allowed).toBe(true)
  })

  it('lets a hold be released that was taken under rules before', async () => {
    const { limiter } = changing(one('1 concurrent for 60s'))
    const held = await limiter.check({ subject: { user: 'ada' } })
    limiter.setRules(one('1 concurrent for 60s', '10/s'))
    expect((await limiter.peek({ subject: { user: 'ada' } })).allowed).toBe(false)
    expect(await limiter.release(held.hold!)).toBe(true)
    expect((await limiter.peek({ subject: { user: 'ada' } })).allowed).toBe(true)
  })

  it('keeps a bucket where the clock was ahead before the change, and steps back once more', () => {
    const { limiter, time, left, take } = changing(one('7/min'))
    take(7)
    time.now = START - 60_000
    limiter.setRules(one('7/min', '100/s fixed'))
    limiter.checkSync({ subject: { user: 'someone else' } })
    time.now = START + 60_001
    limiter.checkSync({ subject: { user: 'another' } })
    time.now = START + 1
    expect(left()[0]).toBe(0)
  })

  it('keeps what was used where slower numbers come, and memory is given back before anyone asks', () => {
    let now = START
    const store = memoryStore()
    const rules = one('50/min')
    const limiter = createLimiter({ ...rules, rules: rules.rules!, store, clock: () => now })
    limiter.checkSync({ subject: { user: 'ada' }, cost: 50 })
    limiter.setRules(one('7/min'))
    now += 130_000
    store.compact(now)
    expect(limiter.checkSync({ subject: { user: 'ada' } }).allowed).toBe(false)
  })

  it('keeps a hold for as long as it is renewed', async () => {
    const { limiter, time } = changing(one('1 concurrent for 60s'))
    const subject = { user: 'ada' }
    const { hold } = limiter.checkSync({ subject })
    limiter.setRules(one('1 concurrent for 60s', '100/s fixed'))
    for (let i = 0; i < 10; i++) {
      time.now += 50_000
      expect(await limiter.renew(hold!)).not.toBeNull()
      limiter.checkSync({ subject: { user: `someone ${i}` } })
    }
    expect(limiter.checkSync({ subject }).allowed).toBe(false)
  })

  it('is seen by two limiters over one store, each with limits of its own', () => {
    const store = memoryStore()
    const over = (...limits: LimitText[]) =>
      createLimiter({ rules: { r: { scope: 'user', limits } }, store, clock: () => START })
    const first = over('100/h')
    const second = over('50/d fixed', '100/h')
    const take = (limiter: typeof first) =>
      limiter.checkSync({ subject: { user: 'ada' } }).limits.map(({ remaining }) => remaining)
    expect(take(first)).toEqual([99])
    expect(take(second)).toEqual([49, 98])
    expect(take(first)).toEqual([97])
    expect(take(first)).toEqual([96])
  })
})
