import { memoryStore, RuleSet } from '@sluice/limiter'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { DatabaseAway } from '../../src/control/database.js'
import { bindRoutes } from '../../src/http/route.js'
import { usageHandlers } from '../../src/routes/usage.js'
import { Tenants } from '../../src/tenants.js'
import type { UsageBatch } from '../../src/usage/batch.js'
import { UsageReader } from '../../src/usage/usage-reader.js'
import { DATABASES } from '../control/databases.js'
import { READER, ServedRoutes } from '../rest/served-routes.js'
import { START } from './deciding.js'
import { Stored } from './stored.js'

const NAMESPACES = ['default', 'other']
const tenants = new Tenants(memoryStore())
for (const namespace of NAMESPACES) await tenants.use(RuleSet.compile({ namespace }))

/** The routes of usage alone. */
class Served extends ServedRoutes {
  now = START

  constructor(reader: UsageReader) {
    super(bindRoutes(usageHandlers({ reader, tenants, now: () => this.now })))
  }
}

function batchOf(sequence: number, at: number, namespace: string): UsageBatch {
  const violation = (second: number, value: string, resource: string, count: number) => ({
    at: at + second * 1000,
    namespace,
    rule: 'per-user',
    scope: 'user',
    value,
    resource,
    limit: '100/min',
    reason: 'limited' as const,
    count,
  })
  return {
    instance: namespace,
    sequence,
    total: sequence * 10,
    dropped: 0,
    from: at,
    to: at + 2000,
    decisions: 10,
    error: 0,
    rules: [
      {
        namespace,
        rule: 'per-user',
        scope: 'user',
        subjects: [
          { value: '42', allowed: 100, denied: 7, cost: 200 },
          { value: "x'; DROP TABLE sluice.rules; --", allowed: 1, denied: 1, cost: 1 },
          { value: null, allowed: 3, denied: 0, cost: 3 },
        ],
      },
      {
        namespace,
        rule: 'everybody',
        scope: 'global',
        subjects: [{ value: '', allowed: 104, denied: 0, cost: 204 }],
      },
      {
        namespace,
        rule: null,
        scope: 'ip',
        subjects: [
          { value: '203.0.113.9', allowed: 0, denied: 5, cost: 0 },
          { value: '2001:db8::7', allowed: 0, denied: 1, cost: 0 },
        ],
      },
      {
        namespace,
        rule: 'per-ip',
        scope: 'ip',
        subjects: [{ value: '2001:db8::', allowed: 4, denied: 0, cost: 4 }],
      },
    ],
    violations: [
      violation(0, '42', '/v1/search', 4),
      violation(1, '42', '/v1/list', 3),
      violation(1, "x'; DROP TABLE sluice.rules; --", '/v1/list', 1),
    ],
  }
}

describe.each(DATABASES)('asking about usage in $kind', (kind) => {
  let stored: Stored
  let served: Served
  beforeAll(async () => {
    stored = await Stored.start(kind)
    await stored.recorder.record([
      batchOf(1, START - 120_000, 'default'),
      batchOf(2, START - 60_000, 'default'),
      batchOf(1, START - 60_000, 'other'),
    ])
    served = await new Served(stored.reader).start()
  }, 120_000)
  afterAll(async () => {
    served.stop()
    await stored.stop()
  })

  it('sums the last hour by rule and subject, the heaviest first', async () => {
    const { status, body } = await served.get('/v1/usage')
    expect(status).toBe(200)
    expect(body.items[0]).toEqual({
      scope: 'user',
      value: '42',
      rule: 'per-user',
      from: '2026-01-16T09:02:00.000Z',
      to: '2026-01-16T10:02:00.000Z',
      allowed: 200,
      denied: 14,
      cost: 400,
    })
    expect(
      body.items.map((item: { scope: string; value: string }) => [item.scope, item.value]),
    ).toEqual([
      ['user', '42'],
      ['global', null],
      ['ip', '203.0.113.9'],
      ['ip', '2001:db8::'],
      ['user', null],
      ['user', "x'; DROP TABLE sluice.rules; --"],
      ['ip', '2001:db8::7'],
    ])
    expect(body.totals).toEqual({ allowed: 424, denied: 28, cost: 824 })
    expect(body.next).toBeNull()
  })

  it('answers about one subject, one rule, one span', async () => {
    const ask = async (query: Record<string, string>) => (await served.get('/v1/usage', query)).body
    expect((await ask({ scope: 'user', value: '42' })).totals.denied).toBe(14)
    expect((await ask({ rule: 'everybody' })).totals.allowed).toBe(208)
    const span = { from: '2026-01-16T10:01:00Z', to: '2026-01-16T12:01:30+02:00' }
    expect((await ask({ scope: 'user', value: '42', ...span })).totals.denied).toBe(7)
    expect((await ask({ value: "x'; DROP TABLE sluice.rules; --" })).items.length).toBe(1)
    expect((await ask({ value: '%' })).items).toEqual([])
    expect((await ask({ to: '2026-01-16' })).totals).toEqual({ allowed: 0, denied: 0, cost: 0 })
  })

  it('finds an address however it is written: by itself, and by the network it is counted under', async () => {
    for (const value of ['2001:db8::7', '2001:0DB8:0:0:0::7']) {
      const { body } = await served.get('/v1/usage', { scope: 'ip', value })
      expect(body.totals).toEqual({ allowed: 8, denied: 2, cost: 8 })
    }
    const { body } = await served.get('/v1/usage', { scope: 'ip', value: '::ffff:203.0.113.9' })
    expect(body.totals.denied).toBe(10)
  })

  it('says why user 42 was denied at 10:01', async () => {
    const { body } = await served.get('/v1/violations', {
      scope: 'user',
      value: '42',
      from: '2026-01-16T10:00:30Z',
      to: '2026-01-16T10:02:00Z',
    })
    expect(body).toEqual({
      items: [
        {
          at: '2026-01-16T10:01:01.000Z',
          count: 3,
          scope: 'user',
          value: '42',
          rule: 'per-user',
          resource: '/v1/list',
          limit: '100/min',
          reason: 'limited',
        },
        expect.objectContaining({
          at: '2026-01-16T10:01:00.000Z',
          count: 4,
          resource: '/v1/search',
        }),
      ],
      totals: { count: 7 },
      next: null,
    })
    const { body: one } = await served.get('/v1/violations', { resource: '/v1/search' })
    expect(one.totals).toEqual({ count: 8 })
  })

  it.each(['/v1/usage', '/v1/violations'])(
    'gives %s page by page, of the same span',
    async (path) => {
      const whole = (await served.get(path)).body
      const seen: unknown[] = []
      let cursor: string | null = ''
      while (cursor !== null) {
        const { body } = await served.get(path, {
          limit: '2',
          ...(cursor === '' ? {} : { cursor }),
        })
        expect(body.totals).toEqual(whole.totals)
        seen.push(...body.items)
        cursor = body.next
        served.now += 100_000_000
      }
      served.now = START
      expect(seen).toEqual(whole.items)
    },
  )

  it('answers of the namespace that may be asked about', async () => {
    const forbidden = await served.get('/v1/usage', { namespace: 'other' })
    expect([forbidden.status, forbidden.body.error.code]).toEqual([403, 'forbidden'])
    served.caller = { ...READER, namespaces: new Set(['other']) }
    expect((await served.get('/v1/usage')).body.totals.allowed).toBe(212)
    served.caller = { ...READER, namespaces: null }
    expect((await served.get('/v1/violations', { namespace: 'none' })).status).toBe(400)
    served.caller = { ...READER, role: 'client' }
    expect((await served.get('/v1/violations')).status).toBe(403)
    served.caller = READER
  })

  it.each([
    ['from', { from: 'yesterday' }],
    ['from', { from: '2026-01-16T10:02:00' }],
    ['to', { to: '2026-13-16' }],
    ['from', { from: '2026-02-30' }],
    ['from', { from: '2026-01-16T10:02:00Z', to: '2026-01-16T10:01:00Z' }],
    ['limit', { limit: '0' }],
    ['limit', { limit: '1001' }],
    ['cursor', { cursor: 'x' }],
    ['cursor', { cursor: Buffer.from('[1,"2",3,4]').toString('base64url') }],
    ['vlaue', { vlaue: '42' }],
    ['value', { value: 'a\u0000b' }],
  ])('refuses a bad %s', async (field, query) => {
    for (const path of ['/v1/usage', '/v1/violations']) {
      const { status, body } = await served.get(path, query)
      expect([status, body.error.code, body.error.field]).toEqual([400, 'bad_request', field])
    }
  })

  it('refuses a resource of usage, which is not summed by it', async () => {
    expect((await served.get('/v1/usage', { resource: '/a' })).status).toBe(400)
  })
})

describe('asking about usage without the database', () => {
  it('says that it is away', async () => {
    const away = { query: () => Promise.reject(new DatabaseAway('gone', false)) }
    const served = await new Served(new UsageReader(away, () => START)).start()
    for (const path of ['/v1/usage', '/v1/violations']) {
      const { status, body } = await served.get(path)
      expect([status, body.error.code]).toEqual([503, 'database_unavailable'])
    }
    served.stop()
  })
})
