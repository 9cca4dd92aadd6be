/** A store with leases over one in the hands of the test: what it asks, reports, spends and remembers. */
import { describe, expect, it } from 'vitest'
import { YES } from '../../src/algorithms/verdict.js'
import type { Decision } from '../../src/decision.js'
import { createLimiter, type LimitsInput, RuleSet, type RulesDocument } from '../../src/index.js'
import type { LeaseAnswer, LeaseAsk } from '../../src/leases/lease-port.js'
import { LeasedStore } from '../../src/leases/leased-store.js'
import type { Answer, Transaction, Verdicts } from '../../src/store/store.js'
import { HandStore, HandTime, verdictsOf } from './hand-store.js'

type Rules = NonNullable<RulesDocument['rules']>

const LEASED: Rules = { user: { scope: 'user', limits: '1000/s burst 100' } }
const ADA = { subject: { user: 'ada' } }
/** Asked for so often within a moment, a row is leased. */
const WARM = 4

/** A limiter over leases, and everything below it. */
function open(rules: Rules = LEASED, make = (time: HandTime) => new HandStore(time)) {
  const time = new HandTime()
  const inner = make(time)
  const store = new LeasedStore({
    inner,
    time,
    isUsual: true,
    mostDeniedMs: Number.POSITIVE_INFINITY,
    deadlineMs: 100,
  })
  const limiter = createLimiter({
    rules: RuleSet.compile({ rules }),
    store,
    clock: () => time.wall() / 1000,
  })
  const decide = (cost = 1, request: object = ADA) => limiter.decide({ ...ADA, ...request, cost })
  return { time, inner, store, limiter, decide }
}

/** The same, once the row was asked for often: a lease is on its way. */
function openWarm(rules?: Rules, request?: object) {
  const opened = open(rules)
  for (let i = 0; i < WARM; i++) {
    void opened.decide(1, request)
    opened.inner.decision.allow()
  }
  return opened
}

/** The same, once the lease is there. */
function openHolding(held: number, left = 100, rules?: Rules, request?: object) {
  const opened = openWarm(rules, request)
  opened.inner.lastLease.grant(held, { left })
  return opened
}

/** Decided from memory. */
function isLocal(answer: Answer<Decision>): answer is Decision {
  return !(answer instanceof Promise)
}

function local(answer: Answer<Decision>): Decision {
  if (!isLocal(answer)) throw new Error('the store was asked')
  return answer
}

/** So many are decided from memory. */
function spend(decide: () => Answer<Decision>, times: number): void {
  for (let i = 0; i < times; i++) expect(local(decide()).allowed).toBe(true)
}

/** Long enough for nobody to ask: what is held is given back. */
function fallIdle(time: HandTime): void {
  time.pass(20)
  time.pass(40)
}

describe('a row that is asked for often', () => {
  it('is leased from the fourth request within a moment, and decided from memory', () => {
    const { inner, decide, store } = openWarm()
    expect(inner.decisions).toHaveLength(WARM)
    expect(inner.leases).toHaveLength(1)
    expect(inner.lastLease.ask.want).toBeGreaterThanOrEqual(WARM)
    inner.lastLease.grant(10)
    spend(decide, 10)
    expect(isLocal(decide())).toBe(false)
    expect(store.tally).toMatchObject({ granted: 10, spent: 10, local: 10 })
  })

  it('is spent no longer when either clock says that the lease has ended', () => {
    for (const clock of ['steady', 'wall'] as const) {
      const { time, inner, decide } = openWarm()
      inner.lastLease.grant(10, { lastsMs: 1000 })
      const [steady, wall] = [time.steady(), time.wall()]
      // A hair is taken off for clocks that run apart.
      const [before, after] = [990, 994]
      const set = (ms: number) => {
        if (clock === 'steady') time.steady = () => steady + ms
        else time.wall = () => wall + 1000 * ms
      }
      set(before)
      expect(isLocal(decide()), clock).toBe(true)
      set(after)
      expect(isLocal(decide()), clock).toBe(false)
    }
  })

  it('is let go where it is asked for no more, and then nothing beats', () => {
    const { time, inner } = openHolding(10)
    fallIdle(time)
    inner.lastLease.grant(0)
    for (let i = 0; i < 100; i++) time.pass(20)
    expect(time.isBeating).toBe(false)
  })
})

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
    inner.lastLease.fail({ mayHaveRun: true })
    fallIdle(time)
    expect(inner.leases).toHaveLength(sent)
    expect(isLocal(decide())).toBe(false)
    expect(store.tally).toMatchObject({ returned: 0, lost: 7 })
  })

  it('is sent again where certainly nobody has heard it, and what it gave back can be spent', () => {
    const { time, inner, decide, store } = openHolding(10)
    spend(decide, 3)
    fallIdle(time)
    inner.lastLease.fail({ mayHaveRun: false })
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
    inner.lastLease.fail({ mayHaveRun: true })
    await Promise.resolve()
    expect(inner.decisions).toHaveLength(WARM + 1)
    expect(inner.decision.since).toBe(30)
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
    expect(inner.decision.since).toBe(30)
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

/** A row of which nothing is leased here, and so much by others, was denied this cost. */
async function openDenied(out: number, inMs: number, cost = 1, rules?: Rules) {
  const opened = openWarm(rules)
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

const BOTH = { subject: { user: 'ada', org: 'acme' } }
const LEASED_AND_STRICT: Rules = {
  ...LEASED,
  org: { scope: 'org', limits: '1000/s smooth 100' },
}

describe('of a request under a leased and a strict rule', () => {
  const openBoth = () => openHolding(10, 100, LEASED_AND_STRICT, BOTH)

  it('only the strict one is asked for', () => {
    const { inner, decide } = openBoth()
    void decide(1, BOTH)
    expect(inner.decision.transaction.rules.map(({ name }) => name)).toEqual(['org'])
  })

  it('a yes spends the lease', async () => {
    const { time, inner, decide } = openBoth()
    const answer = decide(1, BOTH)
    inner.decision.allow()
    expect(await answer).toMatchObject({ allowed: true })
    fallIdle(time)
    expect(inner.lastLease.reports).toEqual(['1+9'])
  })

  it('a no of the strict one leaves the lease as it was', async () => {
    const { time, inner, decide } = openBoth()
    const answer = decide(1, BOTH)
    inner.decision.deny()
    const { allowed, rule } = await answer
    expect([allowed, rule]).toEqual([false, 'org'])
    fallIdle(time)
    expect(inner.lastLease.reports).toEqual(['0+10'])
  })

  it('a no leaves it so too where the rest was given back meanwhile', async () => {
    const { time, inner, decide } = openBoth()
    const answer = decide(1, BOTH)
    const strict = inner.decision
    fallIdle(time)
    expect(inner.lastLease.reports).toEqual(['0+9'])
    strict.deny()
    await answer
    fallIdle(time)
    expect(inner.lastLease.reports).toEqual(['0+1'])
  })

  it('a denial that is remembered does not speak for the strict one: both are asked for', async () => {
    const { inner, decide } = openWarm(LEASED_AND_STRICT, BOTH)
    inner.lastLease.grant(0, { out: 0 })
    const alone = decide()
    inner.lastLease.grant(0, { out: 0 })
    inner.decision.deny()
    await alone
    void decide(1, BOTH)
    expect(inner.decision.transaction.rules.map(({ name }) => name)).toEqual(['user', 'org'])
  })
})

describe('of a request under two leased rules', () => {
  it('a denial of one that is remembered leaves the lease of the other as it was', async () => {
    const rules: Rules = { ...LEASED, org: { scope: 'org', limits: '1000/s burst 100' } }
    const { time, inner, decide } = openWarm(rules, BOTH)
    const [user, org] = inner.leases
    user!.grant(10)
    org!.grant(0, { out: 0 })
    const first = decide(1, BOTH)
    inner.lastLease.grant(0, { out: 0 })
    inner.decision.deny()
    await first
    expect(local(decide(1, BOTH))).toMatchObject({ allowed: false, rule: 'org' })
    fallIdle(time)
    expect(inner.lastLease.ask.rule.name).toBe('user')
    expect(inner.lastLease.reports).toEqual(['0+10'])
  })
})

describe('a dry run', () => {
  it('takes nothing, and adds what is held', () => {
    const { time, inner, limiter } = openHolding(10, 30)
    const answer = local(limiter.decide({ ...ADA, dryRun: true }))
    expect(answer).toMatchObject({ allowed: true, remaining: 40 })
    fallIdle(time)
    expect(inner.lastLease.reports).toEqual(['0+10'])
  })

  it('of more than is held asks the store, and adds what is held', async () => {
    const { inner, limiter } = openHolding(10, 30)
    const answer = limiter.decide({ ...ADA, cost: 20, dryRun: true })
    inner.decision.deny({ left: 15 })
    expect(await answer).toMatchObject({ allowed: true, remaining: 25 })
  })
})

describe('what is not decided from leases', () => {
  it('is a request with a key for idempotency', () => {
    const { inner, decide } = openHolding(10)
    expect(isLocal(decide(1, { idempotencyKey: 'once' }))).toBe(false)
    expect(inner.decision.transaction.idempotency?.id).toBe('once')
  })

  it.each<LimitsInput>([
    '1000/s smooth 100',
    '1000/s queue 100',
    '100 concurrent for 60s',
    '15/s',
    '1000 per 9s exact',
    ['1000/s', '1000/s smooth 100'],
  ])('is a rule of %s', (limits) => {
    const { inner, decide } = open({ user: { scope: 'user', limits } })
    for (let i = 0; i < 3 * WARM; i++) void decide(1, { holdId: `hold-${i}` })
    expect([inner.decisions.length, inner.leases.length]).toEqual([3 * WARM, 0])
  })

  it.each<LimitsInput>([
    '16/s',
    '1000 per 10s exact',
    '100/s fixed',
    '100/s sliding',
    '1000 per calendar day',
    ['1000/s', '6000/min fixed'],
  ])('is not a rule of %s', (limits) => {
    const { inner } = openWarm({ user: { scope: 'user', limits } })
    expect(inner.leases).toHaveLength(1)
  })

  it('is a rule that says so', () => {
    const { inner, decide } = open({ user: { scope: 'user', limits: '1000/s', lease: 'off' } })
    for (let i = 0; i < 3 * WARM; i++) void decide()
    expect(inner.leases).toEqual([])
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
    inner.lastLease.fail({ mayHaveRun: false })
    await closed
    expect(store.tally).toMatchObject({ returned: 0, lost: 10 })
  })

  it('nothing is leased any more', async () => {
    const { inner, time, store, decide } = open()
    await store.close()
    for (let i = 0; i < 3 * WARM; i++) void decide()
    expect(inner.leases).toEqual([])
    expect(time.isBeating).toBe(false)
  })
})

/** Answers everything at once, and grants nothing. */
class QuickStore extends HandStore {
  readonly asked = new Set<string>()

  override consume({ rules }: Transaction): Verdicts {
    const now = this.time.wall()
    return [1, now, 0, ...rules.flatMap((rule) => verdictsOf(rule, YES, {}, now))]
  }

  override lease({ rule, value }: LeaseAsk, answered: (answer: LeaseAnswer) => void): void {
    this.asked.add(value)
    const now = this.time.wall()
    const lease = { rule, value, grantedAt: now, endsAt: now, period: 1, birth: now, run: 1 }
    const verdicts = [1, now, 0, ...verdictsOf(rule, YES, {}, now)]
    answered({ granted: 0, lease, out: 0, verdicts })
  }
}

describe('a flood of 200,000 subjects', () => {
  const MOST_ROWS = 20_000
  const MOST_COUNTED = 50_000
  const quick = () => {
    const { time, inner, limiter } = open(LEASED, (made) => new QuickStore(made))
    const ask = (user: number, times: number) => {
      for (let i = 0; i < times; i++) void limiter.decide({ subject: { user: `user-${user}` } })
    }
    return { time, ask, asked: (inner as QuickStore).asked }
  }

  it('that are each asked for often has leases of a bounded number of rows, which are let go after', () => {
    const { time, ask, asked } = quick()
    for (let user = 0; user < 200_000; user++) ask(user, WARM)
    expect(asked.size).toBe(MOST_ROWS)
    for (let i = 0; i < 100; i++) time.pass(20)
    expect(time.isBeating).toBe(false)
    ask(200_001, WARM)
    expect(asked.size).toBe(MOST_ROWS + 1)
  })

  it('that are asked for once is counted in a bounded table, which is emptied ten times a second', () => {
    const { time, ask, asked } = quick()
    for (let user = 0; user < 200_000; user++) ask(user, 1)
    ask(MOST_COUNTED - 1, WARM - 1)
    expect([...asked]).toEqual([`user-${MOST_COUNTED - 1}`])
    ask(MOST_COUNTED, 10 * WARM)
    expect(asked.size).toBe(1)
    time.pass(100)
    ask(MOST_COUNTED, WARM)
    expect(asked.size).toBe(2)
  })
})
