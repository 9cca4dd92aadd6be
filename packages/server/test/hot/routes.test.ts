import { memoryStore, RuleSet, type RulesDocument } from '@sluice/limiter'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { HotRows } from '../../src/hot/hot-rows.js'
import { bindRoutes } from '../../src/http/route.js'
import { hotHandlers } from '../../src/routes/hot.js'
import { Tenants } from '../../src/tenants.js'
import { READER, ServedRoutes } from '../rest/served-routes.js'
import { Deciding } from '../usage/deciding.js'

const rulesOf = (namespace: string): RulesDocument => ({
  namespace,
  rules: {
    'per-user': { scope: 'user', limits: '1000/d fixed', tiers: { pro: '2000/d fixed' } },
    'per-key': { scope: 'api_key', limits: '1M/s' },
    spaced: { scope: 'org', limits: '1/s smooth' },
    all: { scope: 'global', limits: '100M/s' },
  },
})

let now = 0
const hot = new HotRows({ now: () => now, seed: 1 })
const tenants = new Tenants(memoryStore())
const deciding = {
  default: new Deciding(rulesOf('default')),
  other: new Deciding(rulesOf('other')),
}

function ask(times: number, subject: Record<string, string>, more: object = {}): void {
  for (let i = 0; i < times; i++)
    hot.decided(deciding.default.ask({ subject, ...more }), 'default', true)
}

let served: ServedRoutes
beforeAll(async () => {
  for (const namespace of ['default', 'other'])
    await tenants.use(RuleSet.compile(rulesOf(namespace)))
  served = await new ServedRoutes(bindRoutes(hotHandlers({ hot, tenants, leasing: 'off' }))).start()
  ask(16_000, { user: '42' }, { tier: 'pro' })
  ask(8000, { api_key: 'sk_live_0123456789ab9f3c' })
  ask(4000, { org: 'acme' })
  ask(2000, { user: 'x'.repeat(1000) })
  for (let i = 0; i < 900; i++)
    hot.decided(deciding.other.ask({ subject: { user: 'theirs' } }), 'other', false)
  now = 10_000
})
afterAll(() => served.stop())

describe('GET /v1/hot', () => {
  it('has the rows that are asked most, the hottest first, and what would help', async () => {
    const { status, body } = await served.get('/v1/hot')
    expect([status, body.sampled, body.window_seconds]).toEqual([200, 16, 10])
    const [all, user, key, org, long] = body.items
    expect(body.items).toHaveLength(5)
    expect(all).toMatchObject({ rule: 'all', scope: 'global', value: null, share: 1 })
    expect(user).toMatchObject({
      namespace: 'default',
      rule: 'per-user',
      scope: 'user',
      value: '42',
      leased: false,
      shards: 1,
      advice: { code: 'lease' },
    })
    expect(user.per_second).toBeGreaterThan(1400)
    expect(user.per_second).toBeLessThan(1800)
    expect(user.share).toBeCloseTo(16 / 30, 1)
    expect(user.denied_share).toBeCloseTo(14 / 16, 1)
    expect(user.advice.message).toMatch(
      /^it is asked of Redis 1,\d\d\d times a second by this instance; leases answer/,
    )
    expect(key).toMatchObject({ rule: 'per-key', advice: null })
    expect(org).toMatchObject({ rule: 'spaced', value: 'acme', advice: null })
    expect(long.value).toBe(`${'x'.repeat(127)}…`)
  })

  it('shows a secret by its ends', async () => {
    const { text, body } = await served.get('/v1/hot')
    expect(body.items[2].value).toBe('sk_l…9f3c')
    expect(text).not.toContain('sk_live')
  })

  it('has as many as are asked for', async () => {
    expect((await served.get('/v1/hot', { limit: '2' })).body.items).toHaveLength(2)
    for (const limit of ['0', '257', 'x', '1.5', '']) {
      const { status, body } = await served.get('/v1/hot', { limit })
      expect([status, body.error.code, body.error.field]).toEqual([400, 'bad_request', 'limit'])
    }
    expect((await served.get('/v1/hot', { rule: 'all' })).status).toBe(400)
  })

  it('answers of the namespace that may be asked about, to who may look', async () => {
    const forbidden = await served.get('/v1/hot', { namespace: 'other' })
    expect([forbidden.status, forbidden.body.error.code]).toEqual([403, 'forbidden'])
    served.caller = { ...READER, namespaces: new Set(['other']) }
    const { items } = (await served.get('/v1/hot')).body
    expect(items).toMatchObject([
      { namespace: 'other', rule: 'per-user', value: 'theirs', share: 1, advice: null },
      { namespace: 'other', rule: 'all', value: null, share: 1 },
    ])
    served.caller = { ...READER, namespaces: null }
    const unknown = await served.get('/v1/hot', { namespace: 'none' })
    expect([unknown.status, unknown.body.error.code]).toEqual([400, 'unknown_namespace'])
    served.caller = { ...READER, role: 'client' }
    expect((await served.get('/v1/hot')).status).toBe(403)
    served.caller = READER
  })

  it('has no rows of a rule that is gone', async () => {
    const { rules, ...rest } = rulesOf('default')
    const { 'per-user': _, ...others } = rules!
    await tenants.use(RuleSet.compile({ ...rest, rules: others }))
    const { items } = (await served.get('/v1/hot')).body
    expect(items.map(({ rule }: { rule: string }) => rule)).toEqual(['all', 'per-key', 'spaced'])
  })
})
