/** Tokens, the audit, and what a token of one namespace may do to another, on both databases. */
import { randomUUID } from 'node:crypto'
import { ROUTE_IDS, type RouteId, routeOf } from '@sluice/contract'
import { RuleSet } from '@sluice/limiter'
import { expect, it } from 'vitest'
import type { Route } from '../../src/http/route.js'
import type { Role } from '../../src/security/caller.js'
import { tokenHash } from '../../src/security/token.js'
import { onEachDatabase, type World } from './world.js'

/** Lets this token in with this role. */
function tokenFor(world: World, role: Role, namespaces: readonly string[] | null) {
  const token = `sluice_${randomUUID()}`
  const known = { id: 'x', name: 'one', role, namespaces, hash: tokenHash(token), expiresAt: null }
  world.admin.tokens.use([known])
  return { Authorization: `Bearer ${token}` }
}

onEachDatabase('tokens', (world) => {
  const create = (fields: object, headers = {}) =>
    world.admin.call(
      'POST',
      '/v1/tokens',
      { name: 'ci', role: 'admin', namespaces: [world.namespace], ...fields },
      headers,
    )

  it('are shown once, kept as hashes, and begin their namespaces', async () => {
    const { status, headers, body } = await create({ expires_at: '2999-01-01' })
    expect(status).toBe(201)
    expect(headers['location']).toBe(`/v1/tokens/${body.id}`)
    expect(body.token).toMatch(/^sluice_/)
    expect(body.expires_at).toBe('2999-01-01T00:00:00.000Z')
    const { token, ...shown } = body
    const list = await world.admin.call('GET', '/v1/tokens?limit=1000')
    expect(list.body.items).toContainEqual(shown)
    for (const table of ['tokens', 'audit', 'changes']) {
      const rows = await world.database.query(`SELECT * FROM sluice.${table}`)
      expect(JSON.stringify(rows)).not.toContain(token)
    }
    const snapshot = await world.control.feed.snapshot()
    const item = { name: 'ci', role: 'admin', namespaces: [world.namespace] }
    expect(snapshot!.edits).toContainEqual({
      kind: 'token',
      namespace: '',
      key: body.id,
      item: { ...item, hash: tokenHash(token), expires_at: body.expires_at },
    })
    expect((await world.admin.call('GET', `/v1/rules?namespace=${world.namespace}`)).status).toBe(
      200,
    )
    expect((await world.admin.call('DELETE', `/v1/tokens/${body.id}`)).status).toBe(204)
    expect((await world.admin.call('DELETE', `/v1/tokens/${body.id}`)).status).toBe(404)
    const after = await world.admin.call('GET', '/v1/tokens?limit=1000')
    expect(after.body.items).not.toContainEqual(shown)
    const later = await world.control.feed.snapshot()
    expect(later!.edits.map(({ key }) => key)).not.toContain(body.id)
  })

  it('are refused where something is wrong with them', async () => {
    const bad: [object, string][] = [
      [{ name: undefined }, 'name'],
      [{ name: '' }, 'name'],
      [{ name: 'a\nb' }, 'name'],
      [{ name: 'x'.repeat(101) }, 'name'],
      [{ name: '\ud800' }, 'name'],
      [{ role: 'king' }, 'role'],
      [{ namespaces: undefined }, 'namespaces'],
      [{ namespaces: [] }, 'namespaces'],
      [{ namespaces: 'default' }, 'namespaces'],
      [{ namespaces: ['../x'] }, 'namespaces[0]'],
      [{ expires_at: '2001-01-01' }, 'expires_at'],
      [{ expires_at: '2999-99-01' }, 'expires_at'],
      [{ expires_at: '2999-02-30' }, 'expires_at'],
      [{ expires_at: 'soon' }, 'expires_at'],
      [{ owner: 'me' }, 'owner'],
    ]
    for (const [fields, field] of bad) {
      const { status, body } = await create(fields)
      expect([fields, status, body.error.field]).toEqual([fields, 400, field])
    }
    expect((await world.admin.call('DELETE', '/v1/tokens/x')).status).toBe(404)
  })

  it('give out no more than they have', async () => {
    const other = `o-${randomUUID()}`
    const { body: foreign } = await create({ namespaces: [other] })
    const { body: everybody } = await create({ namespaces: null })
    const headers = tokenFor(world, 'admin', [world.namespace])
    expect((await create({ namespaces: null }, headers)).status).toBe(403)
    expect((await create({ namespaces: [world.namespace, other] }, headers)).status).toBe(403)
    const { status, body: own } = await create({ role: 'operator' }, headers)
    expect(status).toBe(201)
    const list = await world.admin.call('GET', '/v1/tokens', undefined, headers)
    expect(list.body.items.map(({ id }: { id: string }) => id)).toEqual([own.id])
    for (const { id } of [foreign, everybody])
      expect(
        (await world.admin.call('DELETE', `/v1/tokens/${id}`, undefined, headers)).status,
      ).toBe(403)
    expect(
      (await world.admin.call('DELETE', `/v1/tokens/${own.id}`, undefined, headers)).status,
    ).toBe(204)
  })

  it('leave an audit of who did what, newest first, in pages', async () => {
    const rule = { namespace: world.namespace, name: 'a', scope: 'user', limits: '1/s' }
    const { body } = await world.admin.call('POST', '/v1/rules', rule)
    const etag = { 'If-Match': '"1"' }
    await world.admin.call('PATCH', `/v1/rules/${body.id}`, { limits: '2/s' }, etag)
    const path = `/v1/audit?namespace=${world.namespace}`
    const all = await world.admin.call('GET', path)
    expect(all.body.items.map(({ action }: { action: string }) => action)).toEqual([
      'rule.change',
      'rule.create',
      'namespace.create',
    ])
    expect(all.body.items[0]).toMatchObject({
      namespace: world.namespace,
      actor: 'this machine',
      target: 'rule a',
      before: { limits: ['1/s'], version: 1 },
      after: { limits: ['2/s'], version: 2 },
    })
    expect(all.body.items[2].before).toBe(null)
    const seen = []
    let cursor = ''
    for (;;) {
      const page = await world.admin.call('GET', `${path}&limit=1${cursor}`)
      seen.push(...page.body.items)
      if (page.body.next === null) break
      cursor = `&cursor=${page.body.next}`
    }
    expect(seen).toEqual(all.body.items)
    const count = async (query: string) =>
      (await world.admin.call('GET', `${path}&${query}`)).body.items.length
    expect(await count('action=rule.create')).toBe(1)
    expect(await count('target=rule%20a')).toBe(2)
    expect(await count('actor=nobody')).toBe(0)
    expect(await count(`from=${all.body.items[0].at}`)).toBeGreaterThanOrEqual(1)
    expect(await count('to=2001-01-01')).toBe(0)
    const forged = ['audit', '2026-99-99T00:00:00.000Z', '1', '1']
    for (const bad of [
      'from=x',
      'from=2026-02-30',
      'to=2026-01-01T1:2:3Z',
      'colour=red',
      `cursor=${Buffer.from(JSON.stringify(forged)).toString('base64url')}`,
    ])
      expect((await world.admin.call('GET', `${path}&${bad}`)).status).toBe(400)
  })

  it('of one namespace see only its audit, and only its namespaces', async () => {
    const other = `o-${randomUUID()}`
    for (const namespace of [world.namespace, other])
      await world.admin.call('POST', '/v1/rules', {
        namespace,
        name: 'a',
        scope: 'user',
        limits: '1/s',
      })
    await create({ namespaces: null })
    const headers = tokenFor(world, 'reader', [world.namespace])
    const { body } = await world.admin.call('GET', '/v1/audit?limit=1000', undefined, headers)
    const seen = body.items.map(({ namespace }: { namespace: string }) => namespace)
    expect([...new Set(seen)]).toEqual([world.namespace])
    const spaces = await world.admin.call('GET', '/v1/namespaces', undefined, headers)
    expect(spaces.body.items.map(({ name }: { name: string }) => name)).toEqual([world.namespace])
  })

  /** What a caller would send to each route to reach another namespace; a route without an entry fails the test. */
  const reach = async (namespace: string): Promise<Record<string, [string, unknown?]>> => {
    const post = async (path: string, body: object) =>
      (await world.admin.call('POST', path, { namespace, ...body })).body.id as string
    const rule = await post('/v1/rules', { name: 'a', scope: 'user', limits: '100/s' })
    const exemption = await post('/v1/exemptions', { scope: 'user', value: 'x' })
    const block = await post('/v1/blocks', { scope: 'user', value: 'x' })
    const { body: cost } = await world.admin.call('PUT', '/v1/costs', {
      namespace,
      resource: '/a',
      cost: 2,
    })
    const { body: token } = await create({ namespaces: [namespace] })
    const subject = '/v1/subjects/user/1'
    const override = { rule: 'a', limits: '200/s' }
    await world.admin.call('POST', `${subject}/override?namespace=${namespace}`, override)
    const at = `?namespace=${namespace}`
    const listed = { namespace, scope: 'user', value: 'y' }
    const input = { name: 'b', scope: 'user', resource: '/b', limits: '1/s' }
    return {
      'GET /v1/rules': [`/v1/rules${at}`],
      'POST /v1/rules': ['/v1/rules', { namespace, ...input }],
      'GET /v1/rules/{id}': [`/v1/rules/${rule}`],
      'PUT /v1/rules/{id}': [`/v1/rules/${rule}`, { ...input, name: 'a', resource: '/c' }],
      'PATCH /v1/rules/{id}': [`/v1/rules/${rule}`, { limits: '1/s' }],
      'DELETE /v1/rules/{id}': [`/v1/rules/${rule}`],
      'GET /v1/rules/{id}/history': [`/v1/rules/${rule}/history`],
      'POST /v1/rules/{id}/rollback': [`/v1/rules/${rule}/rollback`, { version: 1 }],
      'GET /v1/subjects/{scope}/{value}/limits': [`${subject}/limits${at}`],
      'PUT /v1/subjects/{scope}/{value}/tier': [`${subject}/tier${at}`, { tier: 'pro' }],
      'POST /v1/subjects/{scope}/{value}/override': [`${subject}/override${at}`, override],
      'DELETE /v1/subjects/{scope}/{value}/override': [`${subject}/override${at}&rule=a`],
      'GET /v1/exemptions': [`/v1/exemptions${at}`],
      'POST /v1/exemptions': ['/v1/exemptions', listed],
      'DELETE /v1/exemptions/{id}': [`/v1/exemptions/${exemption}`],
      'GET /v1/blocks': [`/v1/blocks${at}`],
      'POST /v1/blocks': [`/v1/blocks${at}`, { scope: 'user', value: 'y' }],
      'DELETE /v1/blocks/{id}': [`/v1/blocks/${block}`],
      'GET /v1/costs': [`/v1/costs${at}`],
      'PUT /v1/costs': ['/v1/costs', { namespace, resource: '/b', cost: 1 }],
      'DELETE /v1/costs/{id}': [`/v1/costs/${cost.id}`],
      'GET /v1/document': [`/v1/document${at}`],
      'PUT /v1/document': [`/v1/document${at}`, {}],
      'POST /v1/tokens': ['/v1/tokens', { name: 'x', role: 'client', namespaces: [namespace] }],
      'DELETE /v1/tokens/{id}': [`/v1/tokens/${token.id}`],
      'GET /v1/audit': [`/v1/audit${at}`],
    }
  }
  /** These answer with what is the caller's own, as other tests show. */
  const OWN = new Set(['GET /v1/tokens', 'GET /v1/namespaces'])

  it('of one namespace get 403 on every route of another, and change nothing', async () => {
    const other = `o-${randomUUID()}`
    await world.admin.tenants.use(RuleSet.compile({ namespace: other }))
    const asked = await reach(other)
    await create({})
    const headers = tokenFor(world, 'admin', [world.namespace])
    const before = (await world.control.feed.head())!.revision
    for (const { contract } of world.admin.routes) {
      const { method, path } = contract
      const name = `${method} ${path}`
      if (OWN.has(name)) continue
      const [place, body] = asked[name] ?? [`no entry for ${name}`]
      const answer = await world.admin.call(method, place, body, { ...headers, 'If-Match': '*' })
      expect([name, answer.status, answer.body?.error.code]).toEqual([name, 403, 'forbidden'])
    }
    expect((await world.control.feed.head())!.revision).toBe(before)
    // The same of their own namespace is done.
    world.admin.tokens.use([])
    for (const { contract } of sorted(world.admin.routes)) {
      const { method, path } = contract
      const name = `${method} ${path}`
      if (OWN.has(name)) continue
      const [place, body] = asked[name]!
      const mine = tokenFor(world, 'admin', [other])
      const answer = await world.admin.call(method, place, body, { ...mine, 'If-Match': '*' })
      expect([name, answer.status < 300]).toEqual([name, true])
    }
  })

  it('are asked for by routes that are all described, and no others', () => {
    const others = new Set<RouteId>(['usage', 'violations', 'hot'])
    const described = ROUTE_IDS.filter((id) => routeOf(id).kind === 'control' && !others.has(id))
    const served = world.admin.routes.map(({ id }) => id)
    expect(served.toSorted()).toEqual(described.toSorted())
    expect(world.admin.routes.every(({ contract }) => contract.kind === 'control')).toBe(true)
  })
})

/** What takes away comes last, and tokens and rules after what is theirs. */
function sorted(routes: readonly Route[]): Route[] {
  const order = ({ contract: { method, path } }: Route) =>
    (method === 'DELETE' ? 10 : 0) +
    (path === '/v1/document' && method === 'PUT' ? 30 : 0) +
    (path === '/v1/rules/{id}' ? 5 : 0)
  return routes.toSorted((a, b) => order(a) - order(b))
}
