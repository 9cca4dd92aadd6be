/** Texts that mean something to SQL, logs and terminals: they come back as they were, or are refused; on both databases. */
import { hasControlCharacters } from '@sluice/limiter/transport'
import { expect, it } from 'vitest'
import { inconsistencies, onEachDatabase, type World } from './world.js'

const TEXTS = [
  `'; DROP TABLE sluice.rules; --`,
  `" OR "1"="1`,
  `$1`,
  `$$; DELETE FROM sluice.head; $$`,
  `\\'; SELECT pg_sleep(10); --`,
  `%s %n {{7*7}} \${jndi:ldap://x}`,
  `E'\\x27'`,
  `{"a": null}`,
  `{x,y}`,
  'null',
  '\u202egnp.exe',
  'Ünï😀',
  'a\nforged line',
  'a\r\nSet-Cookie: x=y',
  '\u001b[2J',
  '\u0000',
  '\u007f',
  '\ud800',
]
const isRefused = (text: string) => hasControlCharacters(text) || !text.isWellFormed()

onEachDatabase('texts', (world) => {
  it.each(TEXTS)('%j is kept as it is, or refused, in every field', async (text) => {
    const { namespace } = world
    const rule = { namespace, name: 'a', scope: 'user', limits: '100/s' }
    const call: World['admin']['call'] = (...args) => world.admin.call(...args)
    expect((await call('POST', '/v1/rules', rule)).status).toBe(201)
    const at = `?namespace=${namespace}`
    const subject = `/v1/subjects/user/${encodeURIComponent(text.toWellFormed())}`
    const place = { scope: 'user', resource: '/x' }
    /** Each way in, and where the text is to be found again. */
    const ways: [
      string,
      string,
      object, // biome-ignore lint: tests look into it freely
      (body: any) => unknown,
    ][] = [
      [
        'POST',
        '/v1/rules',
        { ...rule, ...place, name: 'd', description: text },
        (b) => b['description'],
      ],
      ['POST', '/v1/rules', { ...rule, name: 'v', value: text }, (b) => b['value']],
      ['POST', '/v1/rules', { ...rule, name: 'r', resource: `/x/${text}` }, (b) => b['resource']],
      ['POST', '/v1/rules', { ...rule, name: text }, (b) => b['name']],
      ['POST', '/v1/rules', { ...rule, name: 's', scope: text }, (b) => b['scope']],
      ['POST', '/v1/rules', { ...rule, name: 't', tier: text }, (b) => b['tier']],
      ['POST', '/v1/rules', { ...rule, name: 'u', unit: text }, (b) => b['unit']],
      ['POST', '/v1/rules', { ...rule, name: 'm', methods: [text] }, (b) => b['methods'][0]],
      ['POST', '/v1/rules', { ...rule, name: 'l', limits: [text] }, (b) => b['limits'][0]],
      ['POST', '/v1/rules', { ...rule, namespace: text }, (b) => b['namespace']],
      [
        'POST',
        '/v1/rules',
        { ...rule, ...place, name: 'e', resource: '/e', lease: { [text]: text } },
        (b) => Object.keys(b['lease'])[0],
      ],
      ['PUT', `${subject}/tier${at}`, { tier: 'pro' }, (b) => b['value']],
      ['PUT', `/v1/subjects/user/1/tier${at}`, { tier: text }, (b) => b['tier']],
      ['POST', `${subject}/override${at}`, { rule: 'a', limits: '200/s' }, (b) => b['value']],
      [
        'POST',
        `/v1/subjects/user/1/override${at}`,
        { rule: text, limits: '200/s' },
        (b) => b['rule'],
      ],
      [
        'POST',
        `/v1/subjects/user/1/override${at}`,
        { rule: 'a', limits: '200/s', reason: text },
        (b) => b['reason'],
      ],
      ['POST', `/v1/blocks${at}`, { scope: 'user', value: text }, (b) => b['value']],
      ['POST', `/v1/blocks${at}`, { scope: text, value: 'x' }, (b) => b['scope']],
      ['POST', `/v1/blocks${at}`, { scope: 'user', value: 'x', reason: text }, (b) => b['reason']],
      [
        'POST',
        `/v1/exemptions${at}`,
        { scope: 'user', value: text, reason: text },
        (b) => b['value'],
      ],
      ['PUT', `/v1/costs${at}`, { resource: text, cost: 2 }, (b) => b['resource']],
      ['PUT', `/v1/costs${at}`, { resource: '/c', unit: text, cost: 2 }, (b) => b['unit']],
      ['POST', '/v1/tokens', { name: text, role: 'client', namespaces: null }, (b) => b['name']],
      [
        'POST',
        '/v1/tokens',
        { name: 'x', role: 'client', namespaces: [text] },
        (b) => b['namespaces'][0],
      ],
      [
        'PUT',
        `/v1/document${at}x&dry_run=true`,
        { rules: { [text]: { scope: 'user', limits: '1/s' } } },
        (b) => b['changes'][0]['name'],
      ],
    ]
    for (const [method, path, sent, found] of ways) {
      const { status, body } = await call(method, path, sent)
      const what = [method, path, JSON.stringify(sent), status, JSON.stringify(body)]
      expect([...what, status < 500]).toEqual([...what, true])
      if (status >= 300) continue
      // Methods are upper case, however they are written.
      const kept = 'methods' in sent ? String(found(body)).toLowerCase() : found(body)
      const wasInPath = path.startsWith(subject)
      const wanted = wasInPath ? text.toWellFormed() : text
      const isWithin = typeof kept === 'string' && (kept === wanted || kept === `/x/${wanted}`)
      expect([...what, isWithin]).toEqual([...what, true])
      if (!wasInPath) expect([...what, isRefused(text)]).toEqual([...what, false])
    }
    for (const query of ['scope', 'resource', 'namespace', 'cursor', 'limit']) {
      const asked = `/v1/rules?${query}=${encodeURIComponent(text.toWellFormed())}`
      expect((await call('GET', asked)).status).toBeLessThan(500)
    }
    for (const query of ['actor', 'action', 'target', 'namespace', 'from', 'cursor']) {
      const asked = `/v1/audit?${query}=${encodeURIComponent(text.toWellFormed())}`
      expect((await call('GET', asked)).status).toBeLessThan(500)
    }
    const id = encodeURIComponent(text.toWellFormed())
    for (const path of ['rules', 'blocks', 'exemptions', 'costs', 'tokens']) {
      const { status } = await call('DELETE', `/v1/${path}/${id}`, undefined, { 'If-Match': '*' })
      expect(status).toBe(404)
    }
    // The tables still stand, and say the same of what happened.
    expect(await inconsistencies(world.database)).toEqual([])
    expect((await call('GET', `/v1/rules${at}&limit=1`)).body.items[0].name).toBe('a')
  })
})
