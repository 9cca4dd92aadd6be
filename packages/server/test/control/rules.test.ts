/** Rules over HTTP, on both databases: every route, every error. */
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { ControlPlane } from '../../src/control/control-plane.js'
import type { Database } from '../../src/control/database.js'
import { type AdminServer, startAdmin } from './admin-server.js'
import { DATABASES, type TestDatabase } from './databases.js'

const statuses = (answers: readonly { status: number }[]) =>
  answers.map(({ status }) => String(status)).toSorted()

describe.each(DATABASES)('rules in $kind', ({ start }) => {
  let place: TestDatabase
  let database: Database
  let control: ControlPlane
  let admin: AdminServer
  let namespace: string
  beforeAll(async () => {
    place = await start()
    database = place.open()
    control = new ControlPlane({ database })
    admin = await startAdmin({ control, mode: 'database' })
  })
  afterAll(async () => {
    expect(admin.failures).toEqual([])
    await admin.stop()
    await database.close()
    await place.stop()
  })
  beforeEach(() => {
    namespace = `n-${randomUUID()}`
  })

  const create = (fields: object) =>
    admin.call('POST', '/v1/rules', {
      namespace,
      name: 'per-user',
      scope: 'user',
      limits: '10/s',
      ...fields,
    })
  const change = (method: string, id: string, body: unknown, match?: string) =>
    admin.call(method, `/v1/rules/${id}`, body, match === undefined ? {} : { 'If-Match': match })

  it('creates a rule in either form of limits and gives it back in one line', async () => {
    const created = await create({
      resource: 'POST|GET /v1/search',
      limits: ['10/s', { algorithm: 'fixed_window', amount: 100, window: '1h' }],
      description: 'searches',
    })
    expect(created.status).toBe(201)
    expect(created.headers['etag']).toBe('"1"')
    expect(created.headers['location']).toBe(`/v1/rules/${created.body.id}`)
    expect(created.body).toMatchObject({
      name: 'per-user',
      namespace,
      scope: 'user',
      value: null,
      tier: null,
      resource: '/v1/search',
      methods: ['GET', 'POST'],
      limits: ['10/s', '100/h fixed'],
      additive: false,
      unit: 'requests',
      enabled: true,
      shadow: false,
      rollout: 100,
      failure_mode: 'local',
      reach: 'regional',
      shards: 1,
      lease: null,
      description: 'searches',
      version: 1,
    })
    const got = await admin.call('GET', `/v1/rules/${created.body.id}`)
    expect(got.body).toEqual(created.body)
    expect(got.headers['etag']).toBe('"1"')
  })

  it('takes an answer back as it came', async () => {
    const { body } = await create({
      rollout: 25,
      lease: { ahead: '10ms' },
      shards: 4,
      reach: 'global',
    })
    expect(body).toMatchObject({
      rollout: 25,
      lease: { ahead: '10ms' },
      shards: 4,
      reach: 'global',
    })
    const put = await change('PUT', body.id, body, '"1"')
    expect(put.status).toBe(200)
    expect(put.body).toEqual({ ...body, version: 2, updated_at: put.body.updated_at })
  })

  it('refuses with every fault, named by the fields of the body', async () => {
    const refused = await create({
      name: 'a b',
      scope: 'User',
      limits: ['10/s', '10/fortnight'],
      methods: 7,
      rollout: 101,
      reach: 'far',
      shards: 0,
      lease: 'yes',
      descriptoin: 'x',
      description: 'line\nbreak',
      version: 9,
    })
    expect(refused.status).toBe(422)
    expect(refused.body.error.code).toBe('invalid_rules')
    const fields = refused.body.error.faults.map(({ field }: { field: string }) => field).toSorted()
    expect([...new Set(fields)]).toEqual([
      'description',
      'descriptoin',
      'lease',
      'limits[1]',
      'methods',
      'name',
      'reach',
      'rollout',
      'scope',
      'shards',
      'version',
    ])
    const missing = await admin.call('POST', '/v1/rules', { namespace })
    expect(missing.body.error.faults.map(({ field }: { field: string }) => field)).toEqual([
      'name',
      'scope',
      'limits',
    ])
    expect((await admin.call('GET', `/v1/rules?namespace=${namespace}`)).status).toBe(400)
  })

  it('refuses a variant that shares counters of another kind', async () => {
    await create({})
    const other = await create({ name: 'per-user@pro', tier: 'pro', scope: 'org' })
    expect(other.status).toBe(422)
    expect(other.body.error.faults[0]).toMatchObject({ field: 'name' })
    expect((await create({ name: 'per-user@pro', tier: 'pro', limits: '100/s' })).status).toBe(201)
    expect((await create({ name: 'per-user@free', tier: 'pro' })).body.error.faults[0].field).toBe(
      'tier',
    )
  })

  it('refuses a name that is taken, and a place that is', async () => {
    const { body: first } = await create({
      scope: 'ip',
      value: '2001:db8::/32',
      resource: '/a/:id',
    })
    const name = await create({ scope: 'ip', resource: '/elsewhere' })
    expect([name.status, name.body.error.code]).toEqual([409, 'conflict'])
    const twin = { scope: 'ip', value: '2001:0DB8:0::/32', resource: '/a/:other' }
    const where = await create({ name: 'other', ...twin })
    expect([where.status, where.body.error.code]).toEqual([409, 'conflict'])
    expect(where.body.error.message).toContain('per-user')
    expect(where.body.error.message).toContain(first.id)
    // Shadow rules contest only among themselves, disabled and additive ones with nobody.
    const others = [{ additive: true }, { enabled: false }, { shadow: true }]
    for (const [i, one] of others.entries())
      expect((await create({ name: `free-${i}`, ...twin, ...one })).status).toBe(201)
    expect((await create({ name: 'shadow-2', ...twin, shadow: true })).status).toBe(409)
    const { body } = await admin.call('GET', `/v1/rules?namespace=${namespace}`)
    const disabled = body.items.find(({ name }: { name: string }) => name === 'free-1')
    expect((await change('PATCH', disabled.id, { enabled: true }, '*')).status).toBe(409)
  })

  it('takes a rule whose place only a disabled one has', async () => {
    expect((await create({ name: 'old', enabled: false })).status).toBe(201)
    expect((await create({ name: 'new' })).status).toBe(201)
  })

  it('has a place once in its tables, whoever writes them', async () => {
    const { body } = await create({})
    const copy = (enabled: boolean) =>
      database.query(
        `INSERT INTO sluice.rules (id, namespace, name, family, scope, value, tier, resource, methods, additive,
            enabled, shadow, unit, least_burst, place, body, version, created_at, updated_at)
          SELECT gen_random_uuid(), namespace, name || '-' || $2, family, scope, value, tier, resource, methods,
            additive, $2::boolean, shadow, unit, least_burst, place, body, version, created_at, updated_at
          FROM sluice.rules WHERE id = $1`,
        [body.id, String(enabled)],
      )
    await expect(copy(true)).rejects.toThrow(/rules_place/)
    await copy(false)
  })

  it('refuses a rule that becomes another one by normalising', async () => {
    const conflictOf = async (answer: Promise<{ status: number; body: any }>) => {
      const { status, body } = await answer
      return status === 201 || status === 200 ? null : [status, body.error.message.split(' (')[0]]
    }
    const refused = (name: string, resource: string, other: string) => [
      409,
      `the rule "${name}" governs the same requests once resources are normalised: ${JSON.stringify(resource)} and ${JSON.stringify(other)} are one; put the limits into one rule, or make one additive`,
    ]
    const at = (name: string, resource: string) => conflictOf(create({ name, resource }))
    expect(await at('plain', '/a/:id')).toBeNull()
    expect(await at('slash', '/a/:other/')).toEqual(refused('plain', '/a/:other/', '/a/:id'))
    expect(await at('encoded', '/%62')).toBeNull()
    expect(await at('decoded', '/b')).toEqual(refused('encoded', '/b', '/%62'))
    expect(await at('both', '/b/.')).toEqual(refused('encoded', '/b/.', '/%62'))
    expect(await at('upper', '/B')).toBeNull()
    expect(await at('name', 'b/')).toBeNull()
    expect(await conflictOf(create({ name: 'org', scope: 'org', resource: '/b' }))).toBeNull()
    expect(await conflictOf(create({ name: 'get', methods: 'GET', resource: '/b' }))).toBeNull()
    expect(await conflictOf(create({ name: 'free', additive: true, resource: '/b' }))).toBeNull()
    const path = `/v1/document?namespace=${namespace}`
    const { body: document } = await admin.call('GET', path)
    const fold = { ...document, normalize: { fold_case: 'on' } }
    const folded = await admin.call('PUT', path, fold, { 'If-Match': '*' })
    expect([folded.status, folded.body.error.faults[0].message]).toEqual([
      422,
      expect.stringContaining('once resources are normalised'),
    ])
    delete fold.rules.upper
    expect((await admin.call('PUT', path, fold, { 'If-Match': '*' })).status).toBe(200)
    expect(await at('upper', '/B')).toEqual(refused('encoded', '/B', '/%62'))
    expect(await at('long', '/A/:long/C')).toBeNull()
    expect(await at('lower', '/a/:long/c')).toEqual(refused('long', '/a/:long/c', '/A/:long/C'))
  })

  it('keeps values and resources that are too long for an index, and finds their twins', async () => {
    const value = Array.from({ length: 1024 }, (_, i) =>
      String.fromCodePoint(0x4e00 + ((i * 7919) % 9000)),
    ).join('')
    const long = { value, resource: `/${'x'.repeat(2000)}` }
    expect((await create(long)).status).toBe(201)
    expect((await create({ ...long, name: 'twin' })).status).toBe(409)
    const tier = await admin.call(
      'PUT',
      `/v1/subjects/user/${encodeURIComponent(value)}/tier?namespace=${namespace}`,
      { tier: 'pro' },
    )
    expect(tier.body).toEqual({ scope: 'user', value, tier: 'pro' })
  })

  it('wants the version that was read, and of two writers lets one win', async () => {
    const { body } = await create({})
    for (const [method, sent] of [
      ['PUT', body],
      ['PATCH', { limits: '5/s' }],
      ['DELETE', undefined],
    ] as const) {
      const missing = await change(method, body.id, sent)
      expect([missing.status, missing.body.error.code]).toEqual([428, 'version_missing'])
      for (const stale of ['"2"', 'W/"1"', '"x"']) {
        const refused = await change(method, body.id, sent, stale)
        expect([refused.status, refused.body.error.code]).toEqual([412, 'stale_version'])
        expect(refused.headers['etag']).toBe('"1"')
      }
      expect((await change(method, body.id, sent, '1')).status).toBe(400)
    }
    const racing = await Promise.all(
      Array.from({ length: 8 }, (_, i) =>
        change('PATCH', body.id, { limits: `${i + 1}/s` }, '"1", "99"'),
      ),
    )
    expect(statuses(racing)).toEqual(['200', ...Array<string>(7).fill('412')])
    const winner = racing.find(({ status }) => status === 200)!
    expect((await admin.call('GET', `/v1/rules/${body.id}`)).body).toEqual(winner.body)
  })

  it('lets one of two create the same', async () => {
    const racing = await Promise.all([create({}), create({ name: 'other' }), create({})])
    expect(statuses(racing)).toEqual(['201', '409', '409'])
  })

  it('patches by merging: null takes a field away', async () => {
    const { body } = await create({
      resource: 'GET /a',
      description: 'old',
      failure_mode: 'closed',
      lease: { ahead: '50ms', most: 100 },
    })
    const patched = await change(
      'PATCH',
      body.id,
      { description: null, failure_mode: null, lease: { ahead: null, most: 200 } },
      '"1"',
    )
    expect(patched.body).toMatchObject({
      description: null,
      failure_mode: 'local',
      lease: { most: 200 },
      resource: '/a',
      methods: ['GET'],
      version: 2,
    })
    const moved = await change('PATCH', body.id, { resource: 'POST /b' }, '"2"')
    expect(moved.body).toMatchObject({ resource: '/b', methods: ['POST'] })
    const gone = await change('PATCH', body.id, { scope: null }, '"3"')
    expect(gone.body.error.faults).toEqual([
      { field: 'scope', message: expect.stringContaining('is missing') },
    ])
    const bad = await change('PATCH', body.id, { limits: ['1/s', 'x'], id: 'y' }, '"3"')
    expect(bad.body.error.faults.map(({ field }: { field: string }) => field).toSorted()).toEqual([
      'id',
      'limits[1]',
    ])
  })

  it('deletes, keeps the history readable, and brings a rule back', async () => {
    const { body } = await create({})
    await change('PATCH', body.id, { limits: '5/s', name: 'renamed' }, '"1"')
    expect((await change('DELETE', body.id, undefined, '"2"')).status).toBe(204)
    expect((await admin.call('GET', `/v1/rules/${body.id}`)).status).toBe(404)
    expect((await change('DELETE', body.id, undefined, '*')).status).toBe(404)
    const history = await admin.call('GET', `/v1/rules/${body.id}/history`)
    expect(
      history.body.items.map(
        (one: { version: number; deleted: boolean; rule: { name: string } }) => [
          one.version,
          one.deleted,
          one.rule.name,
        ],
      ),
    ).toEqual([
      [3, true, 'renamed'],
      [2, false, 'renamed'],
      [1, false, 'per-user'],
    ])
    const page = await admin.call('GET', `/v1/rules/${body.id}/history?limit=2`)
    const rest = await admin.call('GET', `/v1/rules/${body.id}/history?cursor=${page.body.next}`)
    expect([...page.body.items, ...rest.body.items]).toEqual(history.body.items)
    const path = `/v1/rules/${body.id}/rollback`
    const stale = await admin.call('POST', path, { version: 1 }, { 'If-Match': '"1"' })
    expect(stale.status).toBe(412)
    for (const version of [3, 9])
      expect((await admin.call('POST', path, { version })).status).toBe(404)
    for (const version of [0, 1.5, '1', null])
      expect((await admin.call('POST', path, { version })).status).toBe(400)
    const back = await admin.call('POST', path, { version: 1 }, { 'If-Match': '"3"' })
    expect(back.body).toEqual({ ...body, version: 4, updated_at: back.body.updated_at })
    expect((await admin.call('GET', `/v1/rules/${body.id}`)).body).toEqual(back.body)
    await create({ name: 'renamed', resource: '/elsewhere' })
    expect((await admin.call('POST', path, { version: 2 })).status).toBe(409)
    const strangers = await admin.call('POST', `/v1/rules/${randomUUID()}/rollback`, { version: 1 })
    expect(strangers.status).toBe(404)
    expect((await admin.call('GET', `/v1/rules/${randomUUID()}/history`)).status).toBe(404)
    expect((await admin.call('GET', '/v1/rules/not-an-id/history')).status).toBe(404)
  })

  it('takes the overrides of a rule away with it, and those of a scope it no longer counts', async () => {
    const { body } = await create({})
    await create({ name: 'per-user@pro', tier: 'pro', limits: '20/s' })
    const subject = `/v1/subjects/user/42/override?namespace=${namespace}`
    for (const rule of ['per-user', 'per-user@pro'])
      expect((await admin.call('POST', subject, { rule, limits: '1/s' })).status).toBe(201)
    const overrides = () =>
      database.query('SELECT rule FROM sluice.overrides WHERE namespace = $1 ORDER BY rule', [
        namespace,
      ])
    await change('DELETE', body.id, undefined, '*')
    // The family is still there: what is of all its tiers holds for those that are left.
    expect(await overrides()).toEqual([{ rule: 'per-user' }, { rule: 'per-user@pro' }])
    const { body: rules } = await admin.call('GET', `/v1/rules?namespace=${namespace}`)
    await change('DELETE', rules.items[0].id, undefined, '*')
    expect(await overrides()).toEqual([])
    const changes = await control.feed.changesAfter((await control.feed.head())!.revision - 1)
    const edits = JSON.parse(changes![0]!.edits) as { kind: string; item: unknown }[]
    expect(edits.map(({ kind, item }) => [kind, item])).toEqual([
      ['rule', null],
      ['override', null],
      ['override', null],
    ])
  })

  it('lists by name in pages, by scope and resource', async () => {
    const names = ['a', 'b', 'c', 'd', 'e', 'f', 'g']
    for (const [i, name] of names.entries())
      await create({ name, scope: i % 2 === 0 ? 'user' : 'org', resource: `/${name}` })
    const seen: string[] = []
    let cursor: string | null = ''
    while (cursor !== null) {
      const at: string = cursor === '' ? '' : `&cursor=${cursor}`
      const { body } = await admin.call('GET', `/v1/rules?namespace=${namespace}&limit=3${at}`)
      expect(body.items.length).toBeLessThanOrEqual(3)
      seen.push(...body.items.map(({ name }: { name: string }) => name))
      cursor = body.next
    }
    expect(seen).toEqual(names)
    const list = async (query: string) =>
      (await admin.call('GET', `/v1/rules?namespace=${namespace}&${query}`)).body.items.map(
        ({ name }: { name: string }) => name,
      )
    expect(await list('scope=org')).toEqual(['b', 'd', 'f'])
    expect(await list('resource=/c')).toEqual(['c'])
    expect(await list('resource=/c&scope=org')).toEqual([])
  })

  it('refuses queries that it does not know, and cursors that it did not give', async () => {
    await create({})
    const bad = [
      'scpoe=user',
      'limit=0',
      'limit=1001',
      'limit=x',
      'limit=1&limit=2',
      'cursor=x',
      'scope=%00',
      `cursor=${Buffer.from('["id","x"]').toString('base64url')}`,
      `cursor=${Buffer.from('["name","a\\u0000"]').toString('base64url')}`,
      `cursor=${Buffer.from('["name","a","b"]').toString('base64url')}`,
    ]
    for (const query of bad) {
      const answer = await admin.call('GET', `/v1/rules?namespace=${namespace}&${query}`)
      expect([query, answer.status]).toEqual([query, 400])
    }
    const unknown = await admin.call('GET', '/v1/rules?namespace=nobody')
    expect([unknown.status, unknown.body.error.code]).toEqual([400, 'unknown_namespace'])
    expect((await create({ namespace: '../etc' })).status).toBe(400)
    expect((await create({ namespace: 7 })).status).toBe(400)
  })

  it('refuses what would leave a cost that no limit admits', async () => {
    const { body: small } = await create({ name: 'all', limits: '10/s' })
    const { body: large } = await create({ name: 'render', resource: '/render', limits: '100/s' })
    const costs = (fields: object) => admin.call('PUT', '/v1/costs', { namespace, ...fields })
    expect((await costs({ resource: '/other', cost: 50 })).status).toBe(422)
    expect((await costs({ resource: '/render', cost: 50 })).status).toBe(200)
    // Without the larger one the smaller would govern, and never admit 50.
    expect((await change('DELETE', large.id, undefined, '*')).status).toBe(422)
    expect((await change('PATCH', large.id, { enabled: false }, '*')).status).toBe(422)
    expect((await change('PATCH', large.id, { limits: '20/s' }, '*')).status).toBe(422)
    expect((await change('PATCH', small.id, { limits: '60/s' }, '*')).status).toBe(200)
    expect((await change('DELETE', large.id, undefined, '*')).status).toBe(204)
    const override = await admin.call(
      'POST',
      `/v1/subjects/user/1/override?namespace=${namespace}`,
      { rule: 'all', limits: '1/s' },
    )
    expect(override.status).toBe(422)
  })

  it('wants bodies that say they are JSON', async () => {
    const answer = await admin.call('POST', '/v1/rules', '{}', { 'Content-Type': 'text/plain' })
    expect([answer.status, answer.body.error.code]).toEqual([415, 'unsupported_media_type'])
    expect((await admin.call('POST', '/v1/rules', '{')).status).toBe(400)
    expect((await admin.call('POST', '/v1/rules', '[]')).status).toBe(400)
    const long = await admin.call('POST', '/v1/rules', { name: 'x'.repeat(70_000) })
    expect(long.status).toBe(413)
  })
})
