/** Whole documents over HTTP, on both databases: read, planned, applied all or nothing. */
import { RuleSet, type RulesDocument } from '@sluice/limiter'
import { expect, it, onTestFinished, vi } from 'vitest'
import { inconsistencies, onEachDatabase } from './world.js'

const DOCUMENT: RulesDocument = {
  version: 1,
  timezone: 'Europe/Berlin',
  defaults: { failure_mode: 'open', ipv6_prefix: 56 },
  normalize: { checks: 'on', trailing_slash: 'keep' },
  scopes: ['team'],
  default_rule: { scope: 'user', limits: '1000/h' },
  tiers: { pro: ['user:1', 'user:2'] },
  rules: {
    'per-user': { scope: 'user', limits: ['10/s', '100/min'], tiers: { pro: ['50/s'] } },
    'per-user@free': { scope: 'user', tier: 'free', limits: ['3/s'], description: 'own words' },
    office: { scope: 'ip', value: '10.0.0.0/8', resource: '/a', methods: ['GET'], limits: ['5/s'] },
  },
  overrides: [{ scope: 'user', value: '7', rule: 'per-user', limits: ['20/s'], reason: 'x' }],
  costs: { 'GET /a': { requests: 2 } },
  exemptions: ['user:boss'],
  blocks: [{ ip: '192.0.2.0/24', until: '2999-01-01T00:00:00.000Z', reason: 'abuse' }],
}

onEachDatabase('documents', (world) => {
  const path = () => `/v1/document?namespace=${world.namespace}`
  const read = () => world.admin.call('GET', path())
  const apply = (document: unknown, match?: string) =>
    world.admin.call('PUT', path(), document, match === undefined ? {} : { 'If-Match': match })
  const plan = (document: unknown) => world.admin.call('PUT', `${path()}&dry_run=true`, document)
  const namesOf = ({
    body,
  }: {
    body: { changes: { what: string; name: string; change: string }[] }
  }) => body.changes.map(({ what, name, change }) => `${change} ${what} ${name}`)

  it('gives back what was applied, tiers folded into their rule', async () => {
    const applied = await apply(DOCUMENT, '"0"')
    expect(applied.status).toBe(200)
    const { body, headers } = await read()
    expect(headers['etag']).toBe(`"${applied.body.revision}"`)
    expect(body).toEqual({ ...DOCUMENT, namespace: world.namespace })
    expect(() => RuleSet.compile(body)).not.toThrow()
    expect((await plan(body)).body.changes).toEqual([])
    const again = await apply(body, headers['etag'])
    expect(again.body).toEqual({ revision: applied.body.revision, changes: [] })
  })

  it('plans without changing anything, and applies what it planned as one revision', async () => {
    const planned = await plan(DOCUMENT)
    expect(namesOf(planned)).toContain('added rule per-user@pro')
    expect((await read()).status).toBe(400)
    const before = (await world.control.feed.head())!.revision
    const applied = await apply(DOCUMENT, '*')
    expect(applied.body.changes).toEqual(planned.body.changes)
    expect((await world.control.feed.head())!.revision).toBe(before + 1)
    expect(applied.body.revision).toBe(before + 1)
    expect(await inconsistencies(world.database)).toEqual([])
  })

  it('says that the counters of a rule start anew when it is split', async () => {
    const hot = { scope: 'org', limits: ['90/s'] }
    await apply({ rules: { hot } }, '*')
    const { body } = await plan({ rules: { hot: { ...hot, shards: 8, lease: 'on' } } })
    expect(body.changes).toMatchObject([
      { name: 'hot', after: 'shards 8, lease on', counters: 'start anew' },
    ])
  })

  it('changes only what differs, and says which counters carry over', async () => {
    const { body: first } = await apply(DOCUMENT, '*')
    const { rules, tiers: _tiers, costs: _costs, blocks: _blocks, ...rest } = DOCUMENT
    const next = {
      ...rest,
      timezone: 'UTC',
      rules: {
        ...rules,
        'per-user': { scope: 'user', limits: ['20/s', '100/min'], tiers: { pro: ['50 per 2s'] } },
        office: undefined,
        searches: { scope: 'user', resource: '/search', limits: ['5/s'], shadow: true },
      },
      tiers: { pro: ['user:1'], free: ['user:3'] },
      costs: { 'GET /a': { requests: 3 } },
      exemptions: ['user:boss', 'user:other'],
      overrides: [],
    }
    const { body } = await apply(next, `"${first.revision}"`)
    const byName = Object.fromEntries(
      body.changes.map(({ what, name, ...change }: Record<string, string>) => [
        `${what} ${name}`,
        change,
      ]),
    )
    expect(byName).toEqual({
      'settings settings': expect.objectContaining({ change: 'changed' }),
      'rule per-user': {
        change: 'changed',
        before: '10/s, 100/min',
        after: '20/s, 100/min',
        counters: 'carry over',
      },
      'rule per-user@pro': {
        change: 'changed',
        before: '50/s',
        after: '50 per 2s',
        counters: 'start anew',
      },
      'rule office': { change: 'removed', before: '5/s', after: null, counters: null },
      'rule searches': { change: 'added', before: null, after: '5/s', counters: null },
      'tier user:2': { change: 'removed', before: 'pro', after: null, counters: null },
      'tier user:3': { change: 'added', before: null, after: 'free', counters: null },
      'override user:7 per-user': {
        change: 'removed',
        before: '20/s (x)',
        after: null,
        counters: null,
      },
      'exemption user:other': { change: 'added', before: null, after: 'always', counters: null },
      'block ip:192.0.2.0/24': {
        change: 'removed',
        before: 'until 2999-01-01T00:00:00.000Z abuse',
        after: null,
        counters: null,
      },
      'cost GET /a requests': { change: 'changed', before: '2', after: '3', counters: null },
    })
    const list = await world.admin.call('GET', `/v1/rules?namespace=${world.namespace}`)
    const versions = list.body.items.map(({ name, version }: Record<string, unknown>) => [
      name,
      version,
    ])
    expect(versions).toEqual([
      ['per-user', 2],
      ['per-user@free', 1],
      ['per-user@pro', 2],
      ['searches', 1],
    ])
    expect(await inconsistencies(world.database)).toEqual([])
  })

  it('lets rules exchange their places', async () => {
    const two = (a: string, b: string) => ({
      rules: {
        a: { scope: 'user', resource: a, limits: '1/s' },
        b: { scope: 'user', resource: b, limits: '1/s' },
      },
    })
    await apply(two('/a', '/b'), '*')
    expect((await apply(two('/b', '/a'), '*')).status).toBe(200)
    expect((await read()).body.rules.a.resource).toBe('/b')
  })

  it('refuses a document with every fault, and changes nothing', async () => {
    await apply(DOCUMENT, '*')
    const { headers } = await read()
    const bad = {
      rules: { a: { scope: 'user', limits: 'x' }, b: { scope: 'user', rollout: 200 } },
      overrides: [{ scope: 'user', value: '1', rule: 'nobody', limits: '1/s' }],
      blocks: [{ user: 'x', reason: 'a\nb' }],
      colour: 'red',
    }
    const refused = await apply(bad, '*')
    expect(refused.status).toBe(422)
    const fields = refused.body.error.faults.map(({ field }: { field: string }) => field)
    for (const field of [
      'rules.a.limits',
      'rules.b.limits',
      'rules.b.rollout',
      'overrides[0].rule',
      'blocks[0].reason',
      'colour',
    ])
      expect(fields).toContain(field)
    expect((await apply({ namespace: 'other' }, '*')).status).toBe(422)
    expect((await read()).headers['etag']).toBe(headers['etag'])
  })

  it('wants the revision that was read', async () => {
    const missing = await apply(DOCUMENT)
    expect([missing.status, missing.body.error.code]).toEqual([428, 'version_missing'])
    expect((await apply(DOCUMENT, '"7"')).status).toBe(412)
    const { body } = await apply(DOCUMENT, '"0"')
    // Anything that changes the namespace makes what was read old.
    await world.admin.call('POST', `/v1/blocks?namespace=${world.namespace}`, {
      scope: 'user',
      value: 'x',
    })
    expect((await apply({}, `"${body.revision}"`)).status).toBe(412)
    const racing = await Promise.all(
      [1, 2, 3].map((n) => apply({ scopes: [`s${n}`] }, `"${body.revision + 1}"`)),
    )
    expect(racing.map(({ status }) => String(status)).toSorted()).toEqual(['200', '412', '412'])
    for (const flag of ['yes', '2', ''])
      expect((await world.admin.call('PUT', `${path()}&dry_run=${flag}`, {})).status).toBe(400)
  })

  it('drops entries that have ended rather than storing them', async () => {
    const ended = { user: 'old', until: '2001-01-01' }
    await apply({ blocks: [ended, 'user:new'] }, '*')
    expect((await read()).body.blocks).toEqual(['user:new'])
  })

  it('applies thousands of rules, checked by a thread, and has them all', async () => {
    const rules = Object.fromEntries(
      Array.from({ length: 3000 }, (_, i) => [
        `rule-${i}`,
        { scope: 'user', resource: `/r/${i}`, limits: [`${i + 1}/s`] },
      ]),
    )
    const applied = await apply({ rules }, '*')
    expect(applied.body.changes).toHaveLength(3000)
    expect((await read()).body.rules).toEqual(rules)
    const bad = { rules: { ...rules, broken: { scope: 'user', limits: 'x' } } }
    const refused = await apply(bad, '*')
    expect(refused.body.error.faults).toEqual([
      { field: 'rules.broken.limits', message: expect.any(String) },
    ])
    const changed = { rules: { ...rules, 'rule-7': { ...rules['rule-7']!, limits: ['1/s'] } } }
    expect(namesOf(await apply(changed, '*'))).toEqual(['changed rule rule-7'])
    expect(await inconsistencies(world.database)).toEqual([])
  })

  it('reads a large document in a thread as it reads a small one', async () => {
    const many = Array.from({ length: 3000 }, (_, i) => `user:${String(i).padStart(8, '0')}`)
    const large = { ...DOCUMENT, tiers: { pro: ['user:1', 'user:2', ...many].toSorted() } }
    expect(JSON.stringify(large).length).toBeGreaterThan(40_000)
    expect((await apply(large, '*')).status).toBe(200)
    expect((await read()).body).toEqual({ ...large, namespace: world.namespace })
    const { rules: _rules, overrides: _overrides, costs: _costs, ...rest } = large
    expect((await apply({ ...rest, rules: {} }, '*')).status).toBe(200)
    expect((await read()).body).toEqual({ ...rest, rules: {}, namespace: world.namespace })
    const nonsense = { ...rest, rules: ['x'] }
    expect((await apply(nonsense, '*')).body.error.faults[0].field).toBe('rules')
  })

  it('takes a document of 16 MB and refuses a longer one', async () => {
    const planned = (bytes: number) => plan(`{"rules":{}${' '.repeat(bytes - 12)}}`)
    expect((await planned(16 * 1024 * 1024)).status).toBe(200)
    expect((await planned(16 * 1024 * 1024 + 1)).status).toBe(413)
  })

  it('refuses a document that is nested very deep, in words', async () => {
    for (const deep of [17, 100, 10_000, 300_000]) {
      const [open, close] = ['['.repeat(deep), ']'.repeat(deep)]
      for (const text of [
        `{"rules":${open}${close}}`,
        `{"rules":{"a":{"lease":${open}${close}}}}`,
      ]) {
        const { status, body } = await apply(text, '*')
        expect([status, body.error.code]).toEqual([400, 'bad_request'])
        expect(body.error.message).toContain('nested more than 16 deep; --document-depth')
      }
    }
    const rule = `{"name":"a","scope":"user","limits":"1/s","lease":${'{"a":'.repeat(9000)}1${'}'.repeat(9000)}}`
    const refused = await world.admin.call('POST', `/v1/rules?namespace=${world.namespace}`, rule)
    expect([refused.status, refused.body.error.code]).toEqual([400, 'bad_request'])
  })

  it('parses a large document in a thread, and not where others are decided for', async () => {
    const text = `{"scopes":[${'[[],[[]]],'.repeat(100_000)}[]]}`
    const parse = vi.spyOn(JSON, 'parse')
    onTestFinished(() => parse.mockRestore())
    const { status, body } = await apply(text, '*')
    expect([status, body.error.faults.length]).toEqual([422, 100])
    const lengths = parse.mock.calls.map(([parsed]) => parsed.length)
    expect(lengths.length).toBeGreaterThan(0)
    expect(Math.max(...lengths)).toBeLessThan(100_000)
  })

  it('says what is wrong with a large document that is none, as with a small one', async () => {
    for (const spaces of [0, 100_000]) {
      const space = ' '.repeat(spaces)
      for (const [text, words] of [
        [`{"rules":${space}`, 'the body is not JSON'],
        [`[${space}]`, 'the body is a list; expected an object'],
      ] as const) {
        const { status, body } = await apply(text, '*')
        expect([status, body.error.code]).toEqual([400, 'bad_request'])
        expect(body.error.message).toContain(words)
      }
      const { status, body } = await apply(`{"namespace":"other",${space}"rules":{}}`, '*')
      expect([status, body.error.faults[0].field]).toEqual([422, 'namespace'])
    }
  })

  it('answers a hundred of very many faults, and the number of all', async () => {
    const faulty = (count: number) => ({
      rules: Object.fromEntries(
        Array.from({ length: count }, (_, i) => [
          `r${i}`,
          { scope: 'user', resource: `/${i}`, limits: 'x' },
        ]),
      ),
    })
    for (const count of [150, 20_000]) {
      const { status, body } = await apply(faulty(count), '*')
      expect(status).toBe(422)
      expect(body.error.faults).toHaveLength(100)
      expect(body.error.message).toContain(`and ${count - 1} more (the first 100 are listed)`)
    }
    expect((await apply(faulty(100), '*')).body.error.message).toMatch(/and 99 more$/)
  })

  it('lists the namespaces', async () => {
    // An empty document begins one as well.
    await apply({}, '*')
    const { body } = await world.admin.call('GET', '/v1/namespaces')
    const names = body.items.map(({ name }: { name: string }) => name)
    expect(names).toContain('default')
    expect(names).toContain(world.namespace)
    expect((await world.admin.call('GET', '/v1/namespaces?x=1')).status).toBe(400)
  })
})
