/** Tiers, overrides, exemptions, blocks and costs over HTTP, on both databases. */
import { randomUUID } from 'node:crypto'
import { expect, it } from 'vitest'
import { onEachDatabase } from './world.js'

const FUTURE = '2999-01-01T00:00:00.000Z'

onEachDatabase('subjects', (world) => {
  const begin = (fields: object = {}) =>
    world.admin.call('POST', '/v1/rules', {
      namespace: world.namespace,
      name: 'per-user',
      scope: 'user',
      limits: '10/s',
      ...fields,
    })
  const at = (path: string) =>
    `${path}${path.includes('?') ? '&' : '?'}namespace=${world.namespace}`
  const call = (method: string, path: string, body?: unknown) =>
    world.admin.call(method, at(path), body)
  const items = async (path: string) => (await call('GET', path)).body.items

  it('puts a subject into a tier and out of it', async () => {
    await begin()
    const put = (value: string, tier: unknown) =>
      call('PUT', `/v1/subjects/user/${encodeURIComponent(value)}/tier`, { tier })
    const odd = 'a/b?c=d&e %ü'
    expect((await put(odd, 'pro')).body).toEqual({ scope: 'user', value: odd, tier: 'pro' })
    const snapshot = await world.control.feed.snapshot()
    const own = snapshot!.edits.filter(({ namespace }) => namespace === world.namespace)
    expect(own).toContainEqual({
      kind: 'tier',
      namespace: world.namespace,
      key: `user:${odd}`,
      item: 'pro',
    })
    expect((await put(odd, null)).body.tier).toBe(null)
    const rows = 'SELECT 1 FROM sluice.tiers WHERE namespace = $1'
    expect(await world.database.query(rows, [world.namespace])).toEqual([])
    for (const bad of ['', 'a b', 7, undefined, '-x'])
      expect((await put('1', bad)).status).toBe(400)
    expect((await call('PUT', '/v1/subjects/global/x/tier', { tier: 'a' })).status).toBe(400)
    expect((await call('PUT', '/v1/subjects/User/x/tier', { tier: 'a' })).status).toBe(400)
    expect((await call('PUT', '/v1/subjects/ip/10.0.0.0%2F8/tier', { tier: 'a' })).status).toBe(400)
    expect((await call('PUT', '/v1/subjects/user/%00/tier', { tier: 'a' })).status).toBe(400)
    expect((await call('PUT', '/v1/subjects/user/1/tier', { tier: 'a', x: 1 })).status).toBe(400)
  })

  it('knows an address however it is written', async () => {
    await begin()
    const written = encodeURIComponent('2001:0DB8:0::1')
    const { body } = await call('PUT', `/v1/subjects/ip/${written}/tier`, { tier: 'pro' })
    expect(body.value).toBe('2001:db8::1')
  })

  it('overrides one rule for one subject, in the place of what was, and takes it back', async () => {
    await begin()
    const path = '/v1/subjects/user/42/override'
    const made = await call('POST', path, {
      rule: 'per-user',
      limits: [{ amount: 100, window: '1s' }],
      until: FUTURE,
      reason: 'launch',
    })
    expect(made.status).toBe(201)
    const wanted = { scope: 'user', value: '42', rule: 'per-user' }
    expect(made.body).toEqual({ ...wanted, limits: ['100/s'], until: FUTURE, reason: 'launch' })
    const again = await call('POST', path, { rule: 'per-user', limits: '50/s' })
    expect(again.body).toEqual({ ...wanted, limits: ['50/s'], until: null, reason: null })
    const { body } = await call('GET', '/v1/document')
    expect(body.overrides).toEqual([{ ...wanted, limits: ['50/s'] }])
    expect((await call('DELETE', `${path}?rule=per-user`)).status).toBe(204)
    expect((await call('DELETE', `${path}?rule=per-user`)).status).toBe(404)
    expect((await call('DELETE', path)).status).toBe(400)
  })

  it('refuses an override that would do nothing, with every fault', async () => {
    await begin()
    const path = '/v1/subjects/user/42/override'
    const faultsOf = async (body: object, where = path) => {
      const { status, body: answer } = await call('POST', where, body)
      expect(status).toBe(422)
      return answer.error.faults.map(({ field }: { field: string }) => field).toSorted()
    }
    expect(await faultsOf({ rule: 'nobody', limits: ['1/s', 'x'] })).toEqual(['limits[1]', 'rule'])
    expect(await faultsOf({ rule: 'x\u0000', limits: '1/s' })).toEqual(['rule'])
    expect(await faultsOf({ rule: 'default', limits: '1/s' })).toEqual(['rule'])
    expect(await faultsOf({ rule: 'per-user' })).toEqual(['limits'])
    expect(await faultsOf({ rule: 'per-user', limits: '1/s', until: '2001-01-01' })).toEqual([
      'until',
    ])
    expect(await faultsOf({ rule: 'per-user', limits: '1/s', until: 'soon' })).toEqual(['until'])
    const reason = 'x'.repeat(1001)
    expect(await faultsOf({ rule: 'per-user', limits: '1/s', reason })).toEqual(['reason'])
    expect(
      await faultsOf({ rule: 'per-user', limits: '1/s' }, '/v1/subjects/org/1/override'),
    ).toEqual(['scope'])
    expect((await call('POST', path, { limits: '1/s' })).status).toBe(400)
    expect((await call('POST', path, { rule: 'per-user', limits: '1/s', x: 1 })).status).toBe(400)
  })

  it('overrides the default rule too', async () => {
    const document = { default_rule: { scope: 'user', limits: '5/s' } }
    await world.admin.call('PUT', at('/v1/document'), document, { 'If-Match': '"0"' })
    const path = '/v1/subjects/user/42/override'
    expect((await call('POST', path, { rule: 'default', limits: '9/s' })).status).toBe(201)
  })

  it('keeps overrides and shards of a rule in step, whichever comes last', async () => {
    const hot = { namespace: world.namespace, name: 'hot', scope: 'user', limits: '100/s' }
    const { body: rule } = await world.admin.call('POST', '/v1/rules', { ...hot, shards: 4 })
    const path = '/v1/subjects/user/42/override'
    const small = await call('POST', path, { rule: 'hot', limits: '3/s' })
    expect(small.status).toBe(422)
    expect(small.body.error.faults).toEqual([
      { field: 'limits', message: expect.stringContaining('3 is the most here') },
    ])
    expect((await call('POST', path, { rule: 'hot', limits: '5/s' })).status).toBe(201)
    const split = await world.admin.call(
      'PATCH',
      `/v1/rules/${rule.id}`,
      { shards: 8 },
      { 'If-Match': '*' },
    )
    expect(split.status).toBe(422)
    expect(split.body.error.message).toContain('5/s in 8 shards')
  })

  it.each(['exemptions', 'blocks'])('lists, adds and removes %s', async (name) => {
    await begin()
    const path = `/v1/${name}`
    const subjects = [
      { scope: 'user', value: 'mallory' },
      { scope: 'ip', value: '10.0.0.0/8', until: FUTURE, reason: 'abuse' },
      { scope: 'ip', value: '2001:0db8::1' },
    ]
    const added = []
    for (const subject of subjects) {
      const { status, headers, body } = await call('POST', path, subject)
      expect(status).toBe(201)
      expect(headers['location']).toBe(`${path}/${body.id}`)
      added.push(body)
    }
    expect(added[2].value).toBe('2001:db8::1')
    const byId = (a: { id: string }, b: { id: string }) => (a.id < b.id ? -1 : 1)
    expect(await items(path)).toEqual(added.toSorted(byId))
    const first = await call('GET', `${path}?limit=2`)
    const rest = await call('GET', `${path}?limit=2&cursor=${first.body.next}`)
    expect([...first.body.items, ...rest.body.items]).toEqual(added.toSorted(byId))
    expect(rest.body.next).toBe(null)
    for (const { id } of added)
      expect((await world.admin.call('DELETE', `${path}/${id}`)).status).toBe(204)
    expect(await items(path)).toEqual([])
    for (const id of [added[0].id, randomUUID(), 'x'])
      expect((await world.admin.call('DELETE', `${path}/${id}`)).status).toBe(404)
  })

  it.each(['exemptions', 'blocks'])('says which network is meant in %s', async (name) => {
    const refused = await call('POST', `/v1/${name}`, { scope: 'ip', value: '10.0.0.5/8' })
    expect(refused.body.error.message).toBe(
      'value "10.0.0.5/8" is not a network; 10.0.0.0/8 is the network of that address',
    )
  })

  it.each(['exemptions', 'blocks'])('refuses %s that cannot be', async (name) => {
    await begin()
    const bad: [object, string][] = [
      [{ value: 'x' }, 'scope'],
      [{ scope: 'user' }, 'value'],
      [{ scope: 'ip', value: 'nowhere' }, 'value'],
      [{ scope: 'until', value: 'x' }, 'value'],
      [{ scope: '__proto__', value: 'x' }, 'value'],
      [{ scope: 'user', value: 'a\nb' }, 'value'],
      [{ scope: 'user', value: 'x', until: '2001-01-01' }, 'until'],
      [{ scope: 'user', value: 'x', until: 'never' }, 'until'],
      [{ scope: 'user', value: 'x', reason: 'a\u001bb' }, 'reason'],
      [{ scope: 'user', value: 'x', reason: 7 }, 'reason'],
      [{ scope: 'user', value: 'x', colour: 'red' }, 'colour'],
    ]
    for (const [body, field] of bad) {
      const { status, body: answer } = await call('POST', `/v1/${name}`, body)
      expect([body, status, answer.error.field]).toEqual([body, 400, field])
    }
    expect((await call('GET', `/v1/${name}?cursor=WyJuYW1lIiwieCJd`)).status).toBe(400)
  })

  it('leaves out what has ended, and takes it away with a word in the audit', async () => {
    await begin()
    await call('POST', '/v1/blocks', { scope: 'user', value: 'ended', until: FUTURE })
    await call('POST', '/v1/blocks', { scope: 'user', value: 'stays', until: FUTURE })
    const override = { rule: 'per-user', limits: '1/s', until: FUTURE }
    await call('POST', '/v1/subjects/user/42/override', override)
    const past = "now() - interval '1 second'"
    await world.database.query(`UPDATE sluice.blocks SET until = ${past} WHERE value = 'ended'`)
    await world.database.query(`UPDATE sluice.overrides SET until = ${past}`)
    expect((await items('/v1/blocks')).map(({ value }: { value: string }) => value)).toEqual([
      'stays',
    ])
    const snapshot = await world.control.feed.snapshot()
    const kinds = snapshot!.edits
      .filter(({ namespace }) => namespace === world.namespace)
      .map(({ kind }) => kind)
    expect(kinds.toSorted()).toEqual(['block', 'namespace', 'rule'])
    const before = (await world.control.feed.head())!.revision
    await world.control.tend()
    await world.control.tend()
    const changes = await world.control.feed.changesAfter(before)
    expect(changes).toHaveLength(1)
    expect(await world.database.query('SELECT value FROM sluice.blocks')).toEqual([
      { value: 'stays' },
    ])
    const { body } = await call('GET', '/v1/audit?actor=sluice')
    expect(body.items.map(({ action }: { action: string }) => action).toSorted()).toEqual([
      'block.end',
      'override.end',
    ])
  })

  it('sets a cost in the place of what was, and takes it away', async () => {
    await begin({ limits: '1000/s' })
    const put = (body: object) => call('PUT', '/v1/costs', body)
    const { body: first } = await put({ resource: 'POST|GET /a/:id', cost: 2 })
    expect(first).toMatchObject({ resource: '/a/:id', methods: ['GET', 'POST'], unit: 'requests' })
    const { body: second } = await put({
      resource: '/a/:other',
      methods: ['get', 'POST'],
      unit: 'requests',
      cost: 3,
    })
    expect(second).toEqual({ ...first, resource: '/a/:other', cost: 3 })
    await put({ resource: '/a/:id', unit: 'tokens', cost: 5 })
    expect(await items('/v1/costs')).toHaveLength(2)
    const { body } = await call('GET', '/v1/document')
    expect(body.costs).toEqual({ 'GET|POST /a/:other': { requests: 3 }, '/a/:id': { tokens: 5 } })
    expect((await world.admin.call('DELETE', `/v1/costs/${first.id}`)).status).toBe(204)
    expect((await world.admin.call('DELETE', `/v1/costs/${first.id}`)).status).toBe(404)
    const bad: [object, number][] = [
      [{ cost: 1 }, 400],
      [{ resource: '/a' }, 400],
      [{ resource: '/a', cost: 0 }, 422],
      [{ resource: '/a', cost: 'x' }, 422],
      [{ resource: '/a*b', cost: 1 }, 422],
      [{ resource: '/a', methods: ['GET /b'], cost: 1 }, 422],
      [{ resource: '/a', methods: [], cost: 1 }, 422],
      [{ resource: 'GET /a', methods: ['GET'], cost: 1 }, 422],
      [{ resource: '/a', methods: [7], cost: 1 }, 400],
      [{ resource: '/a', unit: 'a b', cost: 1 }, 422],
    ]
    for (const [fields, status] of bad)
      expect([fields, (await put(fields)).status]).toEqual([fields, status])
  })

  it('keeps a resource that is named like what every object has', async () => {
    await begin({ limits: '1000/s' })
    await call('PUT', '/v1/costs', { resource: '__proto__', unit: 'polluted', cost: 2 })
    const { text } = await call('GET', '/v1/document')
    expect(text).toContain('"__proto__":{"polluted":2}')
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined()
  })

  it('refuses a namespace that does not exist', async () => {
    const asked: [string, string, unknown][] = [
      ['GET', '/v1/blocks', undefined],
      ['POST', '/v1/blocks', { scope: 'user', value: 'x' }],
      ['GET', '/v1/exemptions', undefined],
      ['POST', '/v1/exemptions', { scope: 'user', value: 'x' }],
      ['GET', '/v1/costs', undefined],
      ['PUT', '/v1/costs', { resource: '/a', cost: 1 }],
      ['GET', '/v1/document', undefined],
      ['PUT', '/v1/subjects/user/1/tier', { tier: 'x' }],
      ['POST', '/v1/subjects/user/1/override', { rule: 'x', limits: '1/s' }],
      ['DELETE', '/v1/subjects/user/1/override?rule=x', undefined],
      ['GET', '/v1/subjects/user/1/limits', undefined],
    ]
    for (const [method, path, body] of asked) {
      const answer = await call(method, path, body)
      expect([path, answer.status, answer.body.error.code]).toEqual([
        path,
        400,
        'unknown_namespace',
      ])
    }
    const differs = { scope: 'user', value: 'x', namespace: 'other' }
    expect((await call('POST', '/v1/blocks', differs)).status).toBe(400)
  })
})
