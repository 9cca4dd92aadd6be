import { createLimiter, memoryStore } from '@sluice/limiter'
import type { DecisionRecord } from '@sluice/limiter/transport'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Forgotten, type GivenOut, GOOD_FOR_MS, NotDone, OnceInMemory } from './once.js'
import { Seal } from './seal.js'
import { Conflict, Vouchers } from './vouchers.js'

/** Given out by another process. */
const foreign = (at: number) => ({ at, number: null, count: 0 })

const SECRET = Buffer.alloc(16, 7)
const DONE = async () => 'done'

describe('a seal', () => {
  it('opens what it closed, and nothing that differs in a character', () => {
    const seal = new Seal(SECRET)
    fc.assert(
      fc.property(
        fc.string({ unit: 'grapheme-ascii' }),
        fc.nat(),
        fc.nat(126),
        (text, at, code) => {
          const sealed = seal.close(text)
          expect(seal.open(sealed)).toBe(text)
          const place = at % sealed.length
          const other = sealed.slice(0, place) + String.fromCharCode(code) + sealed.slice(place + 1)
          if (other !== sealed) expect(seal.open(other)).toBeNull()
        },
      ),
    )
  })

  it('opens nothing of another secret, nothing short, nothing outside ASCII', () => {
    const sealed = new Seal(SECRET).close('r;1')
    expect(new Seal(Buffer.alloc(16, 8)).open(sealed)).toBeNull()
    for (const text of ['', '.', 'x'.repeat(11), 'x'.repeat(20_000), `\u0172;1${sealed.slice(3)}`])
      expect(new Seal(SECRET).open(text)).toBeNull()
  })
})

describe('once', () => {
  it('runs what it is given once for each id, also at the same time', async () => {
    const once = new OnceInMemory(() => 1000)
    let runs = 0
    const work = async () => String(++runs)
    expect(
      await Promise.all([
        once.run('a', foreign(1000), work),
        once.run('a', foreign(1000), work),
        once.run('b', foreign(1000), work),
      ]),
    ).toEqual(['1', '1', '2'])
  })

  it('runs again what was not done', async () => {
    const once = new OnceInMemory(() => 1000)
    const refused = once.run('a', foreign(1000), async () => {
      throw new NotDone('no')
    })
    await expect(refused).rejects.toThrow(NotDone)
    expect(await once.run('a', foreign(1000), async () => 'done')).toBe('done')
  })

  it('remembers for an hour at least', async () => {
    let now = 1e12
    const once = new OnceInMemory(() => now)
    await once.run('a', foreign(now), async () => 'first')
    const started = now
    for (; now < started + GOOD_FOR_MS; now += 600_000)
      expect(await once.run('a', foreign(started), async () => 'second')).toBe('first')
  })

  it('does not run again what it may have forgotten', async () => {
    let now = 1e12
    const once = new OnceInMemory(() => now)
    await once.run('a', foreign(now), async () => 'first')
    now++
    for (let i = 0; i < 200_001; i++) await once.run(`flood-${i}`, foreign(now), async () => '')
    await expect(once.run('a', foreign(now - 1), async () => 'second')).rejects.toThrow(Forgotten)
  })
})

describe('once, under a clock that jumps', () => {
  it('does not run again what it has forgotten, also after the clock has stepped back', async () => {
    const start = 1e12
    let now = start
    const once = new OnceInMemory(() => now)
    let ids = 0
    // So many that what was used before is forgotten by and by.
    const fill = async () => {
      for (let i = 0; i < 100_000; i++) await once.run(`${ids++}`, foreign(start + 20), DONE)
    }
    now = start + 20
    await once.run('a', foreign(start + 10), DONE)
    await fill()
    now = start - 1000
    for (let generations = 0; generations < 3; generations++) await fill()
    await expect(once.run('a', foreign(start + 10), DONE)).rejects.toThrow(Forgotten)
  })

  const HOUR = GOOD_FOR_MS

  it('honours what this process gives out after the clock has stepped back', async () => {
    let now = 1e12 + 24 * HOUR
    const once = new OnceInMemory(() => now)
    const run = (number: number, at: number) =>
      once.run(`own-${number}`, { at, number, count: number + 1 }, async () => 'done')
    expect(await run(0, now)).toBe('done')
    now = 1e12
    expect(await run(1, now)).toBe('done')
    now += 3 * HOUR
    expect(await run(2, now)).toBe('done')
  })

  it('never runs an id twice, and refuses none that is young', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(
          fc.oneof(
            fc.record({ jumpMs: fc.integer({ min: -30 * HOUR, max: 30 * HOUR }) }),
            fc.record({ again: fc.nat(50) }),
            fc.constant({ give: true as const }),
          ),
          { maxLength: 120 },
        ),
        async (steps) => {
          let now = 1e12
          const once = new OnceInMemory(() => now)
          const given: { at: number; runs: number }[] = []
          const use = async (number: number) => {
            const { at } = given[number]!
            const origin = { at, number, count: given.length }
            await once.run(`own-${number}`, origin, async () => String(++given[number]!.runs))
          }
          for (const step of steps) {
            if ('jumpMs' in step) now += step.jumpMs
            else if ('give' in step) {
              given.push({ at: now, runs: 0 })
              await use(given.length - 1)
            } else if (given.length > 0)
              await use(step.again % given.length).catch((error) => {
                if (!(error instanceof Forgotten)) throw error
              })
          }
          expect(given.every(({ runs }) => runs === 1)).toBe(true)
        },
      ),
    )
  })

  it('passes the numbers of its own receipts on, and none of another process', async () => {
    const seen: unknown[] = []
    const once = {
      run: (_id: string, from: GivenOut, work: () => Promise<string>) => {
        seen.push(from)
        return work()
      },
    }
    const make = () => new Vouchers({ secret: SECRET, once, now: () => 0 })
    const [own, other] = [make(), make()]
    const limiter = createLimiter({ rules: { a: { scope: 'user', limits: '9/d fixed' } } })
    const take = () => limiter.decide({ subject: { user: 'ada' } }) as unknown as DecisionRecord
    const receipts = [own.receiptOf(take())!, own.receiptOf(take())!, other.receiptOf(take())!]
    for (const receipt of receipts) await own.refund(limiter, receipt, null)
    const at = expect.any(Number)
    expect(seen).toEqual([
      { at, number: 0, count: 2 },
      { at, number: 1, count: 2 },
      { at, number: null, count: 2 },
    ])
  })
})

describe('vouchers', () => {
  const rules = {
    daily: { scope: 'user', limits: ['100/d fixed', '50/h fixed'] },
    tokens: { scope: 'user', additive: true, unit: 'tokens', limits: '1000/d fixed' },
  } as const
  const make = () => {
    const limiter = createLimiter({ rules, store: memoryStore() })
    const vouchers = new Vouchers({
      secret: SECRET,
      once: new OnceInMemory(() => 0),
      now: Date.now,
    })
    const take = (user: string, costs: Record<string, number>) =>
      limiter.decide({ subject: { user }, costs }) as unknown as DecisionRecord
    return { limiter, vouchers, take }
  }

  it('give back what was taken, by unit, and the same answer again', async () => {
    const { limiter, vouchers, take } = make()
    const receipt = vouchers.receiptOf(take('ada, the "first"; 100%', { requests: 3, tokens: 70 }))!
    expect(await vouchers.refund(limiter, receipt, null)).toEqual({ requests: 3, tokens: 70 })
    expect(await vouchers.refund(limiter, receipt, null)).toEqual({ requests: 3, tokens: 70 })
    await expect(vouchers.refund(limiter, receipt, { tokens: 1 })).rejects.toThrow(Conflict)
    const { limits } = await limiter.peek({ subject: { user: 'ada, the "first"; 100%' } })
    expect(limits.map(({ remaining }) => remaining)).toEqual([100, 50])
  })

  it('survive a change of rules, as far as those are still there', async () => {
    const { limiter, vouchers, take } = make()
    const receipt = vouchers.receiptOf(take('ada', { requests: 3, tokens: 70 }))!
    limiter.setRules({ rules: { daily: { scope: 'user', limits: ['200/d fixed'] } } })
    expect(await vouchers.refund(limiter, receipt, null)).toEqual({ requests: 3, tokens: 0 })
    const other = vouchers.receiptOf(take('bob', { requests: 3 }))!
    limiter.setRules({ rules: { daily: { scope: 'org', limits: ['200/d fixed'] } } })
    expect(await vouchers.refund(limiter, other, null)).toEqual({ requests: 0 })
  })

  it('are honoured once for one take, whichever of them comes first', async () => {
    const { limiter, vouchers } = make()
    const take = () =>
      limiter.decide({
        subject: { user: 'ada' },
        cost: 5,
        idempotencyKey: 'k',
      }) as unknown as DecisionRecord
    const [receipt, reservation] = [vouchers.receiptOf(take())!, vouchers.reservationOf(take())!]
    expect(await vouchers.refund(limiter, receipt, null)).toEqual({ requests: 5 })
    await expect(vouchers.settle(limiter, reservation, { requests: 0 })).rejects.toThrow(Conflict)
  })

  it('are good in their own namespace alone', async () => {
    const { limiter, vouchers, take } = make()
    const other = createLimiter({ namespace: 'other', rules, store: memoryStore() })
    const receipt = vouchers.receiptOf(take('ada', { requests: 3 }))!
    expect(await vouchers.refund(other, receipt, null)).toBeNull()
    expect(await vouchers.refund(limiter, receipt, null)).toEqual({ requests: 3 })
  })

  it('are good for an hour, and of one kind', async () => {
    let now = Date.now()
    const limiter = createLimiter({ rules, clock: () => now })
    const vouchers = new Vouchers({
      secret: SECRET,
      once: new OnceInMemory(() => 0),
      now: Date.now,
    })
    const take = () => limiter.decide({ subject: { user: 'ada' } }) as unknown as DecisionRecord
    const reservation = vouchers.reservationOf(take())!
    expect(await vouchers.refund(limiter, reservation, null)).toBeNull()
    expect(vouchers.openHold(limiter, reservation)).toBeNull()
    now -= GOOD_FOR_MS + 1000
    expect(
      await vouchers.settle(limiter, vouchers.reservationOf(take())!, { requests: 0 }),
    ).toBeNull()
  })

  it('are known after another secret was shared, and never the same twice', () => {
    const { limiter, vouchers, take } = make()
    const before = vouchers.receiptOf(take('ada', { requests: 1 }))!
    vouchers.adopt(Buffer.alloc(16, 9))
    const after = vouchers.receiptOf(take('ada', { requests: 1 }))!
    expect(before.split(';')[2]).not.toBe(after.split(';')[2])
    return Promise.all(
      [before, after].map(async (receipt) =>
        expect(await vouchers.refund(limiter, receipt, null)).toEqual({ requests: 1 }),
      ),
    )
  })
})
