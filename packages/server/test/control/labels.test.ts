import { memoryStore, RuleSet } from '@sluice/limiter'
import { expect, it } from 'vitest'
import { Tenants } from '../../src/tenants.js'
import { startAdmin } from './admin-server.js'
import { onEachDatabase } from './world.js'

const LABELS = {
  a: { team: 'search', env: 'prod' },
  b: { team: 'search' },
  c: { team: 'pay', note: "it's 10:00 % _" },
  d: undefined,
  e: { long: '😀'.repeat(63) },
}
/** What each filter finds. */
const FOUND: readonly (readonly [string, string])[] = [
  ['team:search', 'a b'],
  ['team', 'a b c'],
  ['env:prod', 'a'],
  ["note:it's 10:00 % _", 'c'],
  [`long:${'😀'.repeat(63)}`, 'e'],
  ['team:%', ''],
  ['toString', ''],
]

const rules = Object.entries(LABELS).map(([name, labels]) => ({
  name,
  scope: 'user',
  resource: `/${name}`,
  limits: '1/s' as const,
  ...(labels === undefined ? {} : { labels }),
}))

onEachDatabase('rules with labels', (world) => {
  it('are listed by label, page by page', async () => {
    const { namespace, admin } = world
    for (const rule of rules)
      expect((await admin.call('POST', '/v1/rules', { ...rule, namespace })).status).toBe(201)
    for (const [label, names] of FOUND) {
      const query = `namespace=${namespace}&label=${encodeURIComponent(label)}`
      const { body } = await admin.call('GET', `/v1/rules?${query}`)
      expect([label, body.items.map(({ name }: { name: string }) => name).join(' ')]).toEqual([
        label,
        names,
      ])
    }
    for (const odd of [
      '',
      'team:',
      ':search',
      'team=search',
      "x' OR true --",
      `${'k'.repeat(64)}:x`,
      `team:${'v'.repeat(64)}`,
      `team:${'😀'.repeat(64)}`,
    ]) {
      const query = `namespace=${namespace}&label=${encodeURIComponent(odd)}`
      const { status, body } = await admin.call('GET', `/v1/rules?${query}`)
      expect([odd, status, body.error?.field]).toEqual([odd, 400, 'label'])
      expect(body.error.message).toMatch(/; key and value have at most 63 characters each$/)
    }
    const path = `/v1/rules?namespace=${namespace}&label=team:search&limit=1`
    const first = await admin.call('GET', path)
    const second = await admin.call('GET', `${path}&cursor=${first.body.next}`)
    expect([first, second].map(({ body }) => body.items[0].name)).toEqual(['a', 'b'])
    expect(second.body.next).toBeNull()
  })

  it('lose one by a patch, and all by null', async () => {
    const { namespace, admin } = world
    const created = await admin.call('POST', '/v1/rules', { ...rules[0], namespace })
    const path = `/v1/rules/${created.body.id}`
    const patch = (labels: unknown) => admin.call('PATCH', path, { labels }, { 'If-Match': '*' })
    expect((await patch({ env: null, tier: 'one' })).body.labels).toEqual({
      team: 'search',
      tier: 'one',
    })
    expect((await patch(null)).body.labels).toEqual({})
    const odd = await patch(JSON.parse('{"__proto__":"x"}'))
    expect([odd.status, odd.body.error.faults[0].field]).toEqual([422, 'labels'])
    const hidden = JSON.parse('{"__proto__":{"enabled":false}}')
    const refused = await admin.call('PATCH', path, hidden, { 'If-Match': '*' })
    expect([refused.status, refused.body.error.faults[0].field]).toEqual([422, '__proto__'])
    expect((await admin.call('GET', path)).body.enabled).toBe(true)
    const misspelt = await admin.call('PATCH', path, { mesage: null }, { 'If-Match': '*' })
    expect([misspelt.status, misspelt.body.error.faults]).toEqual([
      422,
      [{ field: 'mesage', message: 'is unknown; did you mean "message"?' }],
    ])
  })
})

it('rules of a file are listed by label', async () => {
  const tenants = new Tenants(memoryStore())
  await tenants.use(
    RuleSet.compile({ rules: Object.fromEntries(rules.map(({ name, ...rule }) => [name, rule])) }),
  )
  const admin = await startAdmin({ control: null, mode: 'file', tenants })
  for (const [label, names] of FOUND) {
    const { body } = await admin.call('GET', `/v1/rules?label=${encodeURIComponent(label)}`)
    expect([label, body.items.map(({ name }: { name: string }) => name).join(' ')]).toEqual([
      label,
      names,
    ])
  }
  await admin.stop()
})
