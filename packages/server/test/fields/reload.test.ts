/** A rules file in which only one field changes is applied by a running server, whichever field it is. */
import { renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { RuleSet, type RulesDocument } from '@sluice/limiter'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { BookInPieces, takeApart } from '../../src/rules-file/book-pieces.js'
import { startService, type TestService } from '../service.js'
import { CANNOT_CHANGE, FIELD_CASES, schemaFields } from './field-cases.js'

let server: TestService

beforeAll(async () => {
  server = await startService({ rules: '{}' })
})
afterAll(() => server.stop())

const bookOf = (document: RulesDocument) => RuleSet.compile(document).book
const served = () => server.service.tenants.get('default')!.limiter.rules.book

/** Replaces the rules file as an editor does. */
function save(document: RulesDocument): void {
  writeFileSync(join(server.folder, 'next.yaml'), JSON.stringify(document))
  renameSync(join(server.folder, 'next.yaml'), join(server.folder, 'sluice.yaml'))
}

/** Resolves when the rules are in force and the log says so. */
async function saveAndWait(document: RulesDocument): Promise<void> {
  const book = bookOf(document)
  if (isDeepStrictEqual(served(), book)) return
  const logged = () => server.log.filter(({ msg }) => String(msg).includes('are in force')).length
  const before = logged()
  save(document)
  await expect.poll(served, { timeout: 5000, interval: 10 }).toStrictEqual(book)
  await expect.poll(logged, { timeout: 5000, interval: 10 }).toBeGreaterThan(before)
}

it('has a case for every field of the schema', () => {
  const missing = [...schemaFields()].filter(
    (field) => !FIELD_CASES.has(field) && !CANNOT_CHANGE.has(field),
  )
  expect(missing, 'add a change of these to field-cases.ts').toEqual([])
})

describe.each([...FIELD_CASES])('a change of %s alone', (_field, [before, after]) => {
  it('is applied, and described in the log', async () => {
    expect(bookOf(after)).not.toStrictEqual(bookOf(before))
    await saveAndWait(before)
    const { revision } = server.service.tenants
    await saveAndWait(after)
    const described = () => server.log.filter((line) => line.revision === revision + 1)
    await expect.poll(() => described().length, { timeout: 5000 }).toBeGreaterThanOrEqual(2)
    expect(described()[0]!.msg).toContain('are in force')
  })

  it('crosses from the reading thread', () => {
    const pieces = new BookInPieces()
    const crossed = [...takeApart(bookOf(after))].map((piece) => pieces.add(piece)).at(-1)
    expect(crossed).toStrictEqual(bookOf(after))
  })
})

it('refuses a change of the namespace, and says so', async () => {
  const before = served()
  save({ namespace: 'other', rules: { a: { scope: 'user', limits: '1/s' } } })
  await expect
    .poll(() => server.refusals, { timeout: 5000 })
    .toContainEqual(expect.stringContaining('namespace other'))
  expect(served()).toBe(before)
})

describe('what callers see', () => {
  const check = (subject: object) =>
    server.post('/v1/check', { subject, resource: '/a', include: ['limits'] })
  const RULE = { scope: 'ip', resource: '/a', limits: '10/h' } as const

  it('is enforcement, once only rollout went from 0 to 100', async () => {
    const rules = (rollout: number): RulesDocument => ({ rules: { a: { ...RULE, rollout } } })
    await saveAndWait(rules(0))
    expect((await check({ ip: '192.0.2.1' })).body.limits[0].shadow).toBe(true)
    await saveAndWait(rules(100))
    expect((await check({ ip: '192.0.2.1' })).body.limits[0].shadow).toBe(false)
  })

  it('is one counter for a wider prefix, once only ipv6_prefix changed', async () => {
    const rules = (ipv6_prefix: number): RulesDocument => ({
      rules: { a: RULE },
      defaults: { ipv6_prefix },
    })
    await saveAndWait(rules(64))
    await check({ ip: '2001:db8:0:1::1' })
    expect((await check({ ip: '2001:db8:0:2::1' })).body.remaining).toBe(9)
    await saveAndWait(rules(48))
    await check({ ip: '2001:db8:0:3::1' })
    expect((await check({ ip: '2001:db8:0:4::1' })).body.remaining).toBe(8)
  })

  it('is a scope that is known, once only scopes changed', async () => {
    await saveAndWait({ rules: { a: RULE } })
    expect((await check({ ip: '192.0.2.2', squad: 'x' })).status).toBe(400)
    await saveAndWait({ rules: { a: RULE }, scopes: ['squad'] })
    expect((await check({ ip: '192.0.2.2', squad: 'x' })).status).toBe(200)
  })

  it('is the later override, once only their order changed', async () => {
    const rules = (limits: readonly ('11/h' | '12/h')[]): RulesDocument => ({
      rules: { a: RULE },
      overrides: limits.map((one) => ({ scope: 'ip', value: '192.0.2.3', rule: 'a', limits: one })),
    })
    await saveAndWait(rules(['11/h', '12/h']))
    expect((await check({ ip: '192.0.2.3' })).body.limit).toBe(12)
    await saveAndWait(rules(['12/h', '11/h']))
    expect((await check({ ip: '192.0.2.3' })).body.limit).toBe(11)
  })
})
