/** Tiers and overrides are the same row with other numbers: who has them, until when, and what carries over. */
import { describe, expect, it } from 'vitest'
import { createLimiter, RuleSet, type RulesDocument } from '../../src/index.js'

const START = Date.parse('2026-06-15T00:00:00Z')

function world(document: RulesDocument) {
  const time = { now: START }
  const limiter = createLimiter({ rules: RuleSet.compile(document), clock: () => time.now })
  return { limiter, time }
}

describe('a tier', () => {
  const document: RulesDocument = {
    tiers: {
      free: ['user:bob'],
      pro: ['user:ada', 'org:acme'],
      max: ['team:red', 'ip:2001:db8::1'],
    },
    scopes: ['team'],
    rules: {
      users: {
        scope: 'user',
        limits: '100/h',
        tiers: { pro: '200/h', max: '300/h', free: '50/h' },
      },
      orgs: { scope: 'org', limits: '101/h', tiers: { pro: '201/h', max: '301/h' } },
      all: { scope: 'global', limits: '1000/h', tiers: { pro: '2000/h', max: '3000/h' } },
    },
  }
  const rulesOf = async (subject: object, tier?: string) => {
    const { limiter } = world(document)
    const { limits } = await limiter.check({ subject, ...(tier === undefined ? {} : { tier }) })
    return limits.map(({ rule }) => rule)
  }

  it('is that of the rule’s own scope, else of the others by name', async () => {
    expect(await rulesOf({ user: 'ada' })).toEqual(['users@pro', 'all@pro'])
    expect(await rulesOf({ user: 'zoe' })).toEqual(['users', 'all'])
    expect(await rulesOf({ user: 'zoe', org: 'acme' })).toEqual([
      'users@pro',
      'orgs@pro',
      'all@pro',
    ])
    expect(await rulesOf({ user: 'bob', org: 'acme' })).toEqual([
      'users@free',
      'orgs@pro',
      'all@pro',
    ])
    expect(await rulesOf({ user: 'zoe', org: 'acme', team: 'red' })).toEqual([
      'users@pro',
      'orgs@pro',
      'all@pro',
    ])
    expect(await rulesOf({ user: 'zoe', team: 'red' })).toEqual(['users@max', 'all@max'])
    expect(await rulesOf({ user: 'zoe', ip: '2001:DB8:0::1' })).toEqual(['users@max', 'all@max'])
    expect(await rulesOf({ user: 'zoe', ip: '2001:db8::2' })).toEqual(['users', 'all'])
  })

  it('that the request carries wins, also where no rule knows it', async () => {
    expect(await rulesOf({ user: 'ada', org: 'acme' }, 'max')).toEqual([
      'users@max',
      'orgs@max',
      'all@max',
    ])
    expect(await rulesOf({ user: 'ada', org: 'acme' }, 'gold')).toEqual(['users', 'orgs', 'all'])
    expect(await rulesOf({ user: 'ada' }, 'free')).toEqual(['users@free', 'all'])
  })

  it('neither refills nor empties anyone', async () => {
    const { limiter } = world(document)
    const subject = { user: 'zoe' }
    const left = async (tier?: string) =>
      (await limiter.peek({ subject, ...(tier === undefined ? {} : { tier }) })).limits[0]!
        .remaining
    await limiter.check({ subject, cost: 40 })
    expect(await left()).toBe(60)
    expect(await left('pro')).toBe(160)
    await limiter.check({ subject, tier: 'pro', cost: 50 })
    expect(await left('pro')).toBe(110)
    expect(await left()).toBe(10)
    expect(await left('free')).toBe(0)
  })
})

describe('an override', () => {
  const document = (until?: string): RulesDocument => ({
    rules: { users: { scope: 'user', limits: '100/h fixed', tiers: { pro: '200/h fixed' } } },
    overrides: [
      {
        scope: 'user',
        value: 'ada',
        rule: 'users',
        limits: '500/h fixed',
        reason: 'launch day',
        ...(until === undefined ? {} : { until }),
      },
    ],
  })

  it('changes one subject’s limits of one rule, of all its tiers', async () => {
    const { limiter } = world(document())
    const limitOf = async (user: string, tier?: string) => {
      const { limit, rule } = await limiter.peek({
        subject: { user },
        ...(tier === undefined ? {} : { tier }),
      })
      return [rule, limit]
    }
    expect(await limitOf('ada')).toEqual(['users', 500])
    expect(await limitOf('ada', 'pro')).toEqual(['users@pro', 500])
    expect(await limitOf('bob')).toEqual(['users', 100])
    expect(await limitOf('bob', 'pro')).toEqual(['users@pro', 200])
  })

  it('of one tier leaves the others', async () => {
    const { overrides, ...rest } = document()
    const { limiter } = world({ ...rest, overrides: [{ ...overrides![0]!, rule: 'users@pro' }] })
    const subject = { user: 'ada' }
    expect((await limiter.peek({ subject })).limit).toBe(100)
    expect((await limiter.peek({ subject, tier: 'pro' })).limit).toBe(500)
  })

  it('ends at its time, and what was used stays used', async () => {
    const { limiter, time } = world(document('2026-06-15T00:30:00Z'))
    const subject = { user: 'ada' }
    expect(await limiter.check({ subject, cost: 90 })).toMatchObject({ limit: 500, remaining: 410 })
    time.now += 30 * 60_000 - 1
    expect(await limiter.peek({ subject })).toMatchObject({ limit: 500, remaining: 410 })
    time.now += 1
    expect(await limiter.peek({ subject })).toMatchObject({ limit: 100, remaining: 10 })
  })

  it('that is the last of those in force is the one', async () => {
    const { overrides, ...rest } = document()
    const [entry] = overrides!
    const { limiter } = world({
      ...rest,
      overrides: [
        { ...entry!, limits: '300/h fixed' },
        { ...entry!, limits: '400/h fixed' },
        { ...entry!, limits: '600/h fixed', until: '2020-01-01' },
      ],
    })
    expect((await limiter.peek({ subject: { user: 'ada' } })).limit).toBe(400)
  })

  it('may have other windows, which are counted besides', async () => {
    const { overrides, ...rest } = document()
    const limits = ['500/h fixed', '50/min fixed'] as const
    const { limiter } = world({ ...rest, overrides: [{ ...overrides![0]!, limits }] })
    const { limits: decided } = await limiter.check({ subject: { user: 'ada' }, cost: 20 })
    expect(decided.map(({ limit, remaining }) => [limit, remaining])).toEqual([
      [500, 480],
      [50, 30],
    ])
  })

  it('is told by explain, with its end and its reason', async () => {
    const { limiter } = world(document('2026-06-15T00:30:00Z'))
    const { applied } = await limiter.explain({ subject: { user: 'ada' } })
    expect(applied).toEqual([
      {
        rule: 'users',
        scope: 'user',
        limits: ['500/h fixed'],
        why: 'an override is in force until 2026-06-15T00:30:00.000Z: launch day',
      },
    ])
  })
})
