/** The admin routes where rules come from a file or a feed: what still answers, and what each of the others says. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { memoryStore, RuleSet } from '@sluice/limiter'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ControlPlane } from '../../src/control/control-plane.js'
import type { Database } from '../../src/control/database.js'
import { openEmbedded } from '../../src/control/embedded.js'
import { Tenants } from '../../src/tenants.js'
import { type AdminServer, startAdmin } from './admin-server.js'

const RULES = RuleSet.compile({
  rules: {
    'per-user': { scope: 'user', limits: ['10/s', '100/min'], tiers: { pro: '50/s' } },
    tokens: {
      scope: 'user',
      unit: 'tokens',
      additive: true,
      limits: '1000/h',
      shards: 4,
      lease: { ahead: '50ms' },
    },
    office: { scope: 'ip', value: '10.0.0.0/8', resource: '/a', methods: 'GET', limits: '5/s' },
  },
  tiers: { pro: ['user:1'] },
  costs: { 'GET /a': { requests: 2, tokens: 3 } },
  overrides: [
    {
      scope: 'user',
      value: '7',
      rule: 'per-user',
      limits: '20/s',
      until: '2999-01-01',
      reason: 'x',
    },
  ],
  blocks: ['user:mallory'],
  exemptions: ['user:boss'],
})

async function tenantsWith(rules: RuleSet): Promise<Tenants> {
  const tenants = new Tenants(memoryStore())
  await tenants.use(rules)
  return tenants
}

/** Each route, as it would be asked. */
function asked(admin: AdminServer) {
  return admin.routes.map(({ contract: { method, path } }) => ({
    name: `${method} ${path}`,
    method,
    path: path.replace('{id}', 'per-user').replace('{scope}', 'user').replace('{value}', '1'),
    body: BODIES[`${method} ${path}`],
  }))
}

const BODIES: Record<string, unknown> = {
  'POST /v1/rules': { name: 'x', scope: 'user', limits: '1/s' },
  'PUT /v1/rules/{id}': { name: 'x', scope: 'user', limits: '1/s' },
  'PATCH /v1/rules/{id}': {},
  'POST /v1/rules/{id}/rollback': { version: 1 },
  'PUT /v1/costs': { resource: '/a', cost: 1 },
  'PUT /v1/document': {},
  'PUT /v1/subjects/{scope}/{value}/tier': { tier: 'pro' },
  'POST /v1/subjects/{scope}/{value}/override': { rule: 'per-user', limits: '5/s' },
  'POST /v1/blocks': { scope: 'user', value: 'x' },
  'POST /v1/exemptions': { scope: 'user', value: 'x' },
  'POST /v1/tokens': { name: 'x', role: 'client', namespaces: null },
}

const OF_THE_FILE = new Set([
  'POST /v1/rules',
  'PUT /v1/rules/{id}',
  'PATCH /v1/rules/{id}',
  'DELETE /v1/rules/{id}',
  'GET /v1/rules/{id}/history',
  'POST /v1/rules/{id}/rollback',
  'PUT /v1/costs',
  'DELETE /v1/costs/{id}',
  'GET /v1/document',
  'PUT /v1/document',
])
const FROM_THE_FILE = new Set([
  'GET /v1/rules',
  'GET /v1/rules/{id}',
  'GET /v1/subjects/{scope}/{value}/limits',
  'GET /v1/costs',
])

describe('a rules file and no database', () => {
  let admin: AdminServer
  beforeAll(async () => {
    admin = await startAdmin({ control: null, mode: 'file', tenants: await tenantsWith(RULES) })
  })
  afterAll(() => admin.stop())

  it('answers what the rules in force say, 409 for writes of them, and 404 for the rest', async () => {
    for (const { name, method, path, body } of asked(admin)) {
      const answer = await admin.call(method, path, body, { 'If-Match': '*' })
      const wanted = FROM_THE_FILE.has(name)
        ? [200, undefined]
        : OF_THE_FILE.has(name)
          ? [409, 'rules_from_file']
          : [404, 'not_a_control_plane']
      const code = answer.status === 200 ? undefined : answer.body.error.code
      // What is missing in the query is said first.
      if (name === 'DELETE /v1/subjects/{scope}/{value}/override') expect(answer.status).toBe(400)
      else expect([name, answer.status, code]).toEqual([name, ...wanted])
    }
  })

  it('lists the rules in force in pages, each known by its name', async () => {
    const first = await admin.call('GET', '/v1/rules?limit=3')
    const rest = await admin.call('GET', `/v1/rules?limit=3&cursor=${first.body.next}`)
    const names = [...first.body.items, ...rest.body.items].map(({ id }: { id: string }) => id)
    expect(names).toEqual(['office', 'per-user', 'per-user@pro', 'tokens'])
    const { body } = await admin.call('GET', '/v1/rules?scope=ip&resource=/a')
    expect(body.items).toEqual([(await admin.call('GET', '/v1/rules/office')).body])
    expect(body.items[0]).toMatchObject({ value: '10.0.0.0/8', methods: ['GET'], version: 1 })
    expect(body.items[0]).toMatchObject({ shards: 1, lease: null })
    expect((await admin.call('GET', '/v1/rules/tokens')).body).toMatchObject({
      shards: 4,
      lease: { ahead: '50ms' },
    })
    expect((await admin.call('GET', '/v1/rules/nobody')).status).toBe(404)
    const costs = await admin.call('GET', '/v1/costs?limit=1')
    const more = await admin.call('GET', `/v1/costs?limit=1&cursor=${costs.body.next}`)
    const units = [...costs.body.items, ...more.body.items].map(
      ({ unit }: { unit: string }) => unit,
    )
    expect(units).toEqual(['requests', 'tokens'])
  })

  it('says what holds for a subject, why, and what is left', async () => {
    const limitsOf = async (path: string) => (await admin.call('GET', path)).body
    const plain = await limitsOf('/v1/subjects/user/2/limits?resource=/b')
    expect(plain).toMatchObject({
      scope: 'user',
      value: '2',
      tier: null,
      exempt: false,
      blocked: false,
    })
    expect(
      plain.limits.map((one: Record<string, unknown>) => [
        one['rule'],
        one['limit'],
        one['remaining'],
      ]),
    ).toEqual([
      ['per-user', '10/s', 10],
      ['per-user', '100/min', 100],
      ['tokens', '1000/h', 1000],
    ])
    expect(plain.limits[0]).toMatchObject({ override: null, limit_total: 10, window_seconds: 1 })
    expect(plain.set_aside).toContainEqual({
      rule: 'per-user@pro',
      by: null,
      why: expect.stringContaining('is for tier pro'),
    })
    await admin.tenants
      .require('default')
      .limiter.check({ subject: { user: '2' }, resource: '/b', cost: 4 })
    const used = await limitsOf('/v1/subjects/user/2/limits?resource=/b')
    expect(used.limits[1].remaining).toBe(96)
    const pro = await limitsOf('/v1/subjects/user/1/limits')
    expect([pro.tier, pro.limits[0].limit]).toEqual(['pro', '50/s'])
    const overridden = await limitsOf('/v1/subjects/user/7/limits')
    expect(overridden.limits[0]).toMatchObject({
      limit: '20/s',
      override: { until: '2999-01-01T00:00:00.000Z', reason: 'x' },
    })
    expect(await limitsOf('/v1/subjects/user/mallory/limits')).toMatchObject({
      blocked: true,
      limits: [],
    })
    expect(await limitsOf('/v1/subjects/user/boss/limits')).toMatchObject({
      exempt: true,
      limits: [],
    })
    const office = await limitsOf('/v1/subjects/ip/10.1.2.3/limits?resource=/a&method=GET')
    expect(office.limits.map(({ rule }: { rule: string }) => rule)).toEqual(['office'])
    for (const bad of ['colour/1', 'user/%00', 'ip/nowhere', 'global/x'])
      expect((await admin.call('GET', `/v1/subjects/${bad}/limits`)).status).toBe(400)
    expect((await admin.call('GET', '/v1/subjects/user/1/limits?namespace=x')).status).toBe(400)
  })
})

describe('a feed', () => {
  it('is no control plane: every route is 404', async () => {
    const admin = await startAdmin({ control: null, mode: 'feed' })
    for (const { name, method, path, body } of asked(admin)) {
      const answer = await admin.call(method, path, body, { 'If-Match': '*' })
      expect([name, answer.status, answer.body.error.code]).toEqual([
        name,
        404,
        'not_a_control_plane',
      ])
    }
    await admin.stop()
  })
})

describe('a rules file beside a database', () => {
  let admin: AdminServer
  let database: Database
  const folder = mkdtempSync(join(tmpdir(), 'sluice-beside-'))
  beforeAll(async () => {
    const tenants = await tenantsWith(RULES)
    database = openEmbedded(folder)
    const file = {
      serves: (namespace: string) => tenants.get(namespace) !== undefined,
      counting: (namespace: string, name: string) =>
        tenants.get(namespace)?.limiter.rules.named(name)?.rule,
    }
    const control = new ControlPlane({ database, file })
    admin = await startAdmin({ control, mode: 'file', tenants })
  })
  afterAll(async () => {
    await admin.stop()
    await database.close()
    rmSync(folder, { recursive: true })
  })

  it('writes tiers, overrides, lists and tokens, but no rules', async () => {
    for (const { name, method, path, body } of asked(admin)) {
      const answer = await admin.call(method, path, body, { 'If-Match': '*' })
      if (OF_THE_FILE.has(name))
        expect([name, answer.status, answer.body.error.code]).toEqual([
          name,
          409,
          'rules_from_file',
        ])
      else if (method === 'DELETE') expect([name, answer.status >= 400]).toEqual([name, true])
      else expect([name, answer.status < 300]).toEqual([name, true])
    }
    const override = (rule: string, scope = 'user') =>
      admin.call('POST', `/v1/subjects/${scope}/10.0.0.1/override`, { rule, limits: '5/s' })
    expect((await override('nobody')).status).toBe(422)
    expect((await override('office')).status).toBe(422)
    expect((await override('office', 'ip')).status).toBe(201)
  })

  it('begins the namespace that the file has', async () => {
    await admin.tenants.use(RuleSet.compile({ namespace: 'acme', rules: {} }))
    const block = { namespace: 'acme', scope: 'user', value: 'x' }
    expect((await admin.call('POST', '/v1/blocks', block)).status).toBe(201)
    expect((await admin.call('GET', '/v1/blocks?namespace=acme')).body.items).toHaveLength(1)
    expect((await admin.call('GET', '/v1/blocks?namespace=other')).status).toBe(400)
  })
})
