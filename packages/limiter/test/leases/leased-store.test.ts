/** What a store with leases decides from memory, and what it does not: one rule, several, dry runs, floods. */
import { describe, expect, it } from 'vitest'
import { YES } from '../../src/algorithms/status.js'
import type { DecisionRecord } from '../../src/decision-record.js'
import type { LimitsInput } from '../../src/index.js'
import type { Answer } from '../../src/stores/answer.js'
import type { LeaseAsk, LeaseReply } from '../../src/stores/leasing.js'
import type { Transaction } from '../../src/stores/transaction.js'
import { answerAlone, answerOf, HandStore } from './hand-store.js'
import {
  ADA,
  fallIdle,
  isLocal,
  LEASED,
  local,
  open,
  openHolding,
  openWarm,
  type Rules,
  spend,
  WARM,
} from './opened.js'

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

  it('is spent of the lease that ends first, though a later one is there', () => {
    const { time, inner, decide } = openHolding(10)
    time.pass(20)
    spend(decide, 3)
    expect(inner.lastLease.reports).toEqual(['1+0'])
    inner.lastLease.grant(10, { lastsMs: 1500 })
    spend(decide, 4)
    fallIdle(time)
    expect(inner.lastLease.reports).toEqual(['6+3', '0+10'])
  })

  it('is spent of leases that are reported apart where the store knows them apart, though they end together', () => {
    for (const [limits, next, reports] of [
      ['1000/s burst 100', {}, ['2+17']],
      ['1000/s burst 100', { mark: 1 }, ['2+17']],
      ['1000/s burst 100', { birth: 1 }, ['2+7', '0+10']],
      ['100/s fixed', {}, ['2+17']],
      ['100/s fixed', { mark: 1 }, ['2+7', '0+10']],
    ] as const) {
      const { time, inner, decide } = openHolding(10, 100, { user: { scope: 'user', limits } })
      time.pass(20)
      spend(decide, 3)
      inner.lastLease.grant(10, { ...next, lastsMs: 980 })
      fallIdle(time)
      expect(inner.lastLease.reports).toEqual(reports)
    }
  })

  it('has a receipt for each take, later by what was spent of the lease', () => {
    const { decide } = openHolding(10)
    const marks = [1, 2, 3].map((cost) => {
      const { answer } = local(decide(cost)) as DecisionRecord
      return answer.mark(0)
    })
    // A token's time is a millisecond.
    expect(marks).toEqual([1000, 3000, 6000])
  })

  it('is not leased while 50 ms of what is asked for are less than four', () => {
    const { time, inner, decide } = openWarm()
    inner.lastLease.grant(0)
    const ask = (everyMs: number, times: number) => {
      for (let i = 0; i < times; i++) {
        time.pass(everyMs)
        void decide()
        if (inner.leases.length === 1) inner.decision.allow()
      }
      return inner.leases.length
    }
    // The burst that made it leased is forgotten.
    for (let i = 0; i < 8; i++) time.pass(20)
    expect(ask(20, 50)).toBe(1)
    expect(ask(5, 50)).toBe(2)
  })

  it('is decided at the time at which a request has waited for the second lease', async () => {
    const { time, inner, decide } = openWarm()
    const { want } = inner.lastLease.ask
    const answer = decide(want + 3)
    for (let waited = 0; waited < 2; waited++) {
      expect(inner.leases).toHaveLength(1 + waited)
      time.pass(10)
      // Both end at the same time, so they are one.
      inner.lastLease.grant(want, { lastsMs: 1000 - 10 * waited })
      await Promise.resolve()
    }
    expect(inner.decisions).toHaveLength(WARM)
    const { answer: decided } = (await answer) as unknown as DecisionRecord
    expect(decided.decidedAt).toBe(time.wall())
  })

  it('is let go where it is asked for no more, and then nothing ticks', () => {
    const { time, inner } = openHolding(10)
    fallIdle(time)
    inner.lastLease.grant(0)
    for (let i = 0; i < 100; i++) time.pass(20)
    expect(time.isTicking).toBe(false)
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

describe('a row that owes more than its limit holds', () => {
  it('has left what is held here, and is above its limit once that is spent', () => {
    const { decide } = openHolding(2, -30)
    expect(local(decide())).toMatchObject({ limit: 100, used: 99, remaining: 1 })
    expect(local(decide())).toMatchObject({ limit: 100, used: 130, remaining: 0 })
  })

  it('would let pass what is held here, by a dry run that costs more', async () => {
    const { inner, limiter } = openHolding(10, -30)
    const dear = limiter.decide({ ...ADA, cost: 20, dryRun: true })
    inner.decision.deny({ left: -30 })
    expect(await dear).toMatchObject({ allowed: false, used: 90, remaining: 10 })
  })

  it('says so from memory as long as its denial is remembered', async () => {
    const { inner, decide } = openWarm()
    inner.lastLease.grant(0, { out: 0 })
    const first = decide()
    inner.lastLease.grant(0, { out: 0 })
    inner.decision.deny({ left: -30 })
    expect(await first).toMatchObject({ allowed: false, used: 130, remaining: 0 })
    expect(local(decide())).toMatchObject({ allowed: false, used: 130, remaining: 0 })
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

/** Answers everything at once, and grants nothing. */
class QuickStore extends HandStore {
  readonly asked = new Set<string>()

  override decide(transaction: Transaction): Answer {
    return answerOf(transaction, YES, {}, this.time.wall())
  }

  override lease({ rule, value }: LeaseAsk, answered: (reply: LeaseReply) => void): void {
    this.asked.add(value)
    const now = this.time.wall()
    const lease = { rule, value, grantedAt: now, endsAt: now, period: 1, birth: now, run: 1 }
    answered({ granted: 0, lease, out: 0, answer: answerAlone(rule, value, {}, now) })
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
    expect(time.isTicking).toBe(false)
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

describe('of a rule in shards of which one owes', () => {
  const SHARDED: Rules = { user: { ...LEASED['user']!, shards: 4 } }
  const owing = { left: 60, surplus: 15 }

  it('what is used counts it, while tokens are held and while none are', () => {
    const { inner, decide } = openWarm(SHARDED)
    inner.lastLease.grant(10, owing)
    expect(local(decide())).toMatchObject({ used: 100 - 69 + 15, remaining: 69 })
  })

  it('what is used counts it in denials that are remembered', async () => {
    const { inner, decide } = openWarm(SHARDED)
    inner.lastLease.grant(0)
    const denied = decide(50)
    inner.lastLease.grant(0)
    inner.decision.deny({ left: 40, surplus: 15 })
    const counted = { allowed: false, used: 100 - 40 + 15, remaining: 40 }
    expect(await denied).toMatchObject(counted)
    expect(local(decide(50))).toMatchObject(counted)
  })

  it('what is used counts it beside a rule that is leased', async () => {
    const rules: Rules = {
      ...LEASED,
      org: { scope: 'org', limits: '1000/s burst 100', shards: 4, lease: false },
    }
    const { inner, decide } = openHolding(10, 100, rules, BOTH)
    const decision = decide(1, BOTH)
    inner.decision.allow(owing)
    const { limits } = await decision
    expect(limits[1]).toMatchObject({ rule: 'org', used: 100 - 60 + 15, remaining: 60 })
  })
})
