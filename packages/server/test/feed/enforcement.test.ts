import { memoryStore, type RuleBook, RuleSet, type RulesDocument } from '@sluice/limiter'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Edit } from '../../src/feed/change.js'
import { Enforcement } from '../../src/feed/enforcement.js'
import { FeedState, nothingTouched } from '../../src/feed/feed-state.js'
import { TokenBook } from '../../src/security/token-book.js'
import { Log } from '../../src/telemetry/log.js'
import { Tenants } from '../../src/tenants.js'
import { namespaceEdit, ruleEdit } from './history.js'

function enforcement() {
  const tenants = new Tenants(memoryStore())
  const tokens = new TokenBook()
  const lines: string[] = []
  const log = new Log({ write: (line) => lines.push(String(JSON.parse(line).msg)) })
  const made = new Enforcement({ tenants, tokens, log, enforced: () => undefined })
  const state = new FeedState()
  const tell = async (...edits: Edit[]) => {
    const touched = nothingTouched()
    state.apply(edits, touched)
    await made.enforce(state, touched)
  }
  const limitOf = async (user: string, namespace = 'default') =>
    (await tenants.require(namespace).limiter.check({ subject: { user } })).limit
  return { enforcement: made, tenants, tokens, lines, tell, limitOf }
}

/** What is the same of two books: everything but the order of their lists. */
function essence(book: RuleBook) {
  const byText = (a: unknown, b: unknown) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1)
  const { order: _order, ...defaultRule } = book.defaultRule ?? { order: 0 }
  return {
    ...book,
    defaultRule,
    rules: book.rules.map(({ order: _order, ...rule }) => rule).sort(byText),
    overrides: [...book.overrides].sort(byText),
    exemptions: [...book.exemptions].sort(byText),
    blocks: [...book.blocks].sort(byText),
    costs: [...book.costs].sort(byText),
    tiers: [...book.tiers].map(([scope, values]) => [scope, [...values].sort(byText)]).sort(byText),
    scopes: [...book.scopes].sort(),
  }
}

/** A namespace as a document, by the meaning of its edits. */
class Document {
  settings: Partial<RulesDocument> = {}
  readonly lists = new Map<string, Map<string, unknown>>()

  apply({ kind, key, item }: Edit): void {
    if (kind === 'namespace') this.settings = item ?? {}
    else {
      const list = this.lists.get(kind) ?? new Map<string, unknown>()
      this.lists.set(kind, list)
      if (item === null) list.delete(key)
      else list.set(key, item)
    }
  }

  get document(): RulesDocument {
    const list = (kind: string) => [...(this.lists.get(kind) ?? [])] as [string, any][]
    const names = new Set(list('rule').map(([name]) => name))
    const tiers: Record<string, string[]> = {}
    for (const [subject, tier] of list('tier')) (tiers[tier] ??= []).push(subject)
    const entries = (kind: string) =>
      list(kind).map(([, { scope, value, until, reason }]) => ({
        [scope]: value,
        ...(until === null ? {} : { until }),
        ...(reason === null ? {} : { reason }),
      }))
    const costs: Record<string, Record<string, number>> = {}
    for (const [, { resource, methods, unit, cost }] of list('cost'))
      (costs[methods === null ? resource : `${methods.join('|')} ${resource}`] ??= {})[unit] = cost
    return {
      ...this.settings,
      rules: Object.fromEntries(list('rule')),
      tiers: tiers as NonNullable<RulesDocument['tiers']>,
      overrides: list('override').flatMap(([, one]) => (names.has(one.rule) ? [one] : [])),
      exemptions: entries('exemption'),
      blocks: entries('block'),
      costs,
    }
  }
}

const name = fc.constantFrom('a', 'b', 'c', 'd')
const at = { namespace: 'default' }
const listed = fc.record({
  scope: fc.constantFrom('ip', 'user'),
  value: fc.constantFrom('10.0.0.1', '10.0.0.2'),
  until: fc.constantFrom(null, '2030-01-01T00:00:00.000Z'),
  reason: fc.constantFrom(null, 'why'),
})
const edit = fc.oneof(
  fc.record({
    kind: fc.constant('rule'),
    key: name,
    item: fc.option(
      fc.record({
        scope: fc.constant('user'),
        additive: fc.constant(true),
        limits: fc.constantFrom('5/s', '7 per calendar day', '9/h burst 20'),
        rollout: fc.constantFrom(100, 50),
        resource: fc.constantFrom('*', '/a/', '/A'),
      }),
    ),
  }),
  fc.record({
    kind: fc.constant('tier'),
    key: fc.constantFrom('user:ada', 'user:bob', 'ip:10.0.0.1'),
    item: fc.option(fc.constantFrom('pro', 'free')),
  }),
  fc.record({ kind: fc.constantFrom('exemption', 'block'), key: name, item: fc.option(listed) }),
  fc.record({
    kind: fc.constant('cost'),
    key: fc.constant('one'),
    item: fc.option(
      fc.record({
        resource: fc.constantFrom('/x', '//x'),
        methods: fc.constantFrom(null, ['GET', 'POST']),
        unit: fc.constantFrom('requests', 'tokens'),
        cost: fc.constantFrom(1, 2),
      }),
    ),
  }),
  fc.record({
    kind: fc.constant('namespace'),
    key: fc.constant(''),
    item: fc.constantFrom(
      {},
      { timezone: 'Asia/Tokyo' },
      { normalize: { fold_case: 'on', trailing_slash: 'keep' } },
      { defaults: { failure_mode: 'closed' }, default_rule: { scope: 'ip', limits: '3/s' } },
    ),
  }),
  name.chain((rule) =>
    fc.record({
      kind: fc.constant('override'),
      key: fc.constant(`ada ${rule}`),
      item: fc.option(
        fc.record({
          scope: fc.constant('user'),
          value: fc.constant('ada'),
          rule: fc.constant(rule),
          limits: fc.constantFrom('10/s', '20 per calendar day'),
        }),
      ),
    }),
  ),
)

describe('what is told', () => {
  it('is in force as a document of the same meaning would be, after every change', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(edit, { maxLength: 4 }), { maxLength: 15 }),
        async (all) => {
          const { tell, tenants, lines } = enforcement()
          const document = new Document()
          await tell(namespaceEdit())
          for (const edits of all) {
            const change = edits.map((one) => ({ ...at, ...one })) as unknown as Edit[]
            for (const one of change) document.apply(one)
            await tell(...change)
            const { book } = RuleSet.compile(document.document)
            expect(essence(tenants.require('default').limiter.rules.book)).toEqual(essence(book))
          }
          expect(lines).toEqual([])
        },
      ),
      { numRuns: 150 },
    )
  })

  it('is apart in every namespace, and gone with it', async () => {
    const { tell, tenants, limitOf } = enforcement()
    await tell(namespaceEdit(), namespaceEdit('shop'))
    await tell(ruleEdit('a', '5/s'), ruleEdit('a', '9/s', 'shop'))
    expect([await limitOf('ada'), await limitOf('ada', 'shop')]).toEqual([5, 9])
    await tell({ kind: 'namespace', namespace: 'shop', key: '', item: null })
    expect(tenants.get('shop')).toBeUndefined()
    expect(() => tenants.require('shop')).toThrow(/not served/)
    expect(await limitOf('ada')).toBe(5)
  })

  it('leaves a rule that cannot be read as it was, says so once, and takes the others', async () => {
    const { tell, lines, limitOf } = enforcement()
    await tell(namespaceEdit(), ruleEdit('a', '5/s'))
    const item = { scope: 'user', limits: '5 per fortnight' } as never
    await tell({ kind: 'rule', namespace: 'default', key: 'a', item }, {
      ...ruleEdit('b', '3/s'),
      item: { scope: 'org', limits: '3/s' },
    } as Edit)
    expect(await limitOf('ada')).toBe(5)
    await tell(ruleEdit('c', '4/s', 'default'))
    expect(lines).toEqual(['rule a cannot be read here, and stays as it was'])
  })

  it('goes over the rules of a file, and stays over those that are saved next', async () => {
    const { tell, enforcement: made, limitOf, tenants } = enforcement()
    const file = (limits: '5/s' | '6/s') =>
      RuleSet.compile({ rules: { user: { scope: 'user', limits } }, tiers: { pro: ['user:bob'] } })
    await made.useFile(file('5/s'))
    await tell(
      {
        kind: 'override',
        namespace: 'default',
        key: 'x',
        item: { scope: 'user', value: 'ada', rule: 'user', limits: '50/s' },
      },
      {
        kind: 'override',
        namespace: 'default',
        key: 'y',
        item: { scope: 'user', value: 'ada', rule: 'gone', limits: '50/s' },
      },
      { kind: 'tier', namespace: 'default', key: 'user:bob', item: 'free' },
      ruleEdit('ignored', '1/s'),
    )
    expect([await limitOf('ada'), await limitOf('bob')]).toEqual([50, 5])
    await made.useFile(file('6/s'))
    expect([await limitOf('ada'), await limitOf('bob')]).toEqual([50, 6])
    const { book } = tenants.require('default').limiter.rules
    expect(book.tiers.get('user')?.get('bob')).toBe('free')
    expect(book.rules.map((rule) => rule.name)).toEqual(['user'])
  })

  it('lets others have their turn between one namespace and the next', async () => {
    const { tell, tenants } = enforcement()
    const names = Array.from({ length: 50 }, (_, i) => `n${i}`)
    const seen = [0]
    const look = () => {
      seen.push([...tenants].length)
      if (seen.at(-1)! < names.length) setImmediate(look)
    }
    setImmediate(look)
    await tell(...names.flatMap((name) => [namespaceEdit(name), ruleEdit('a', '10/h', name)]))
    seen.push([...tenants].length)
    expect(seen.at(-1)).toBe(names.length)
    const inOneTurn = seen.slice(1).map((count, i) => count - seen[i]!)
    expect(Math.max(...inOneTurn)).toBeLessThanOrEqual(2)
  })

  it('keeps what subjects have used when numbers change', async () => {
    const { tell, tenants } = enforcement()
    await tell(namespaceEdit(), ruleEdit('a', '10/h'))
    const { limiter } = tenants.require('default')
    for (let i = 0; i < 4; i++) await limiter.check({ subject: { user: 'ada' } })
    await tell(ruleEdit('a', '20/h'))
    expect((await limiter.peek({ subject: { user: 'ada' } })).remaining).toBe(16)
  })

  it('lets the holders of its tokens in, until it takes them away or they end', async () => {
    const { tell, tokens } = enforcement()
    const hash = 'c6b0f0b6c5b0c4d0c6b0f0b6c5b0c4d0c6b0f0b6c5b0c4d0c6b0f0b6c5b0c4d0'
    const item = {
      name: 'ci',
      hash,
      role: 'client',
      namespaces: ['shop'],
      expires_at: null,
    } as const
    await tell({ kind: 'token', namespace: '', key: 't1', item })
    expect([tokens.size, tokens.version]).toEqual([1, 1])
    await tell({ kind: 'token', namespace: '', key: 't1', item: null })
    expect([tokens.size, tokens.version]).toEqual([0, 2])
  })
})
