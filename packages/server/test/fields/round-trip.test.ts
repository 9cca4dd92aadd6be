/**
 * Every field of a rules document, changed alone, goes from YAML through the API and the database to a data
 * plane that follows over Redis, and comes back as the same YAML.
 */
import { type RuleBook, RuleSet, type RulesDocument } from '@sluice/limiter'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parse, stringify } from 'yaml'
import { FIELD_CASES } from './field-cases.js'
import { Planes } from './planes.js'

let planes: Planes
beforeAll(async () => {
  planes = await Planes.start()
})
afterAll(() => planes.stop())

/** What a book says, without the order of what has none, and what follows from the rest. */
function meaningOf(book: RuleBook | undefined): unknown {
  if (book === undefined) return undefined
  const { namespace: _namespace, warnings: _warnings, rules, defaultRule, ...rest } = book
  const sorted = (items: readonly unknown[]) => items.map((one) => JSON.stringify(one)).toSorted()
  const own = ({ order: _order, ...rule }: RuleBook['rules'][number]) => rule
  // Of several overrides of one subject the last holds.
  const overrides = new Map(
    rest.overrides.map((one) => [JSON.stringify([one.scope, one.value, one.rule]), one]),
  )
  return {
    ...rest,
    rules: sorted(rules.map(own)),
    defaultRule: defaultRule === null ? null : own(defaultRule),
    tiers: [...rest.tiers].flatMap(([scope, values]) =>
      [...values].map(([value, tier]) => `${scope}:${value} ${tier}`),
    ),
    overrides: sorted([...overrides.values()]),
    exemptions: sorted(rest.exemptions),
    blocks: sorted(rest.blocks),
    costs: sorted(rest.costs),
  }
}

const meant = (document: RulesDocument) => meaningOf(RuleSet.compile(document).book)

let namespaces = 0

/** Cases in which only an order changes: the database keeps none but that of rules. */
const ORDERS = new Set(['rules, their order', 'overrides, their order'])

describe.each([...FIELD_CASES])('%s', (name, [before, after]) => {
  it('is planned, stored, followed and exported', async () => {
    const { control, data } = planes
    const path = `/v1/document?namespace=n${namespaces++}`
    const namespace = path.split('=')[1]!
    const throughYaml = (document: RulesDocument) => parse(stringify(document)) as unknown
    const put = (document: RulesDocument, more = '') =>
      control.call('PUT', `${path}${more}`, throughYaml(document), { 'If-Match': '*' })
    const arrives = (document: RulesDocument) =>
      expect
        .poll(() => meaningOf(data.book(namespace)), { timeout: 10_000, interval: 5 })
        .toEqual(meant(document))
    expect((await put(before)).status).toBe(200)
    await arrives(before)

    const planned = await put(after, '&dry_run=1')
    if (!ORDERS.has(name)) {
      expect(planned.body.changes).not.toEqual([])
      for (const { before: was, after: is } of planned.body.changes) expect(was).not.toEqual(is)
    }
    expect((await put(after)).body.changes).toEqual(planned.body.changes)
    await arrives(after)

    const exported = await control.call('GET', path)
    expect(meant(throughYaml(exported.body) as RulesDocument)).toEqual(meant(after))
    expect((await put(exported.body)).body.changes).toEqual([])
  })
})
