import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createLimiter, type RuleBook, RuleSet, type RulesDocument } from '../../src/index.js'
import { drain } from '../../src/slices.js'

const rule = fc.record(
  {
    scope: fc.constantFrom('user', 'ip'),
    value: fc.constantFrom('10.0.0.1', '10.0.0.0/8', '10.0.0.0/16'),
    resource: fc.constantFrom('*', '/a', '/a/:id', '/a/*', 'GET /a', 'POST|PUT /a/b'),
    limits: fc.constantFrom('5/s', '100/h', ['7/s', '9/h']),
    additive: fc.boolean(),
    enabled: fc.constantFrom(true, true, false),
    rollout: fc.constantFrom(100, 50),
  },
  { requiredKeys: ['scope', 'limits'] },
)
const change = fc.record({
  name: fc.constantFrom('a', 'b', 'c', 'd', 'e', 'b@pro', 'c@pro'),
  rule: fc.option(rule),
  overridden: fc.constantFrom(null, null, 'a', 'b'),
  block: fc.boolean(),
  defaultRule: fc.boolean(),
})

/** The rules of a document that are not changed are the same objects as before. */
function bookAfter(document: RulesDocument, before: RuleBook | null): RuleBook | null {
  let book: RuleBook
  try {
    ;({ book } = RuleSet.compile(document))
  } catch {
    return null
  }
  const known = new Map(before?.rules.map((one) => [one.name, one]))
  const same = (one: RuleBook['rules'][number]) => {
    const old = known.get(one.name)
    const bare = ({ order: _order, ...rest }: typeof one) => JSON.stringify(rest)
    return old !== undefined && bare(old) === bare(one) ? old : one
  }
  return { ...book, rules: book.rules.map(same) }
}

const SUBJECTS = [{ user: 'ada' }, { ip: '10.0.0.1' }, { user: '10.0.0.1', ip: '10.9.9.9' }]
const RESOURCES = ['/a', '/a/b', '/a/b/c', '/z']

describe('a rule set that takes over from one before', () => {
  it('chooses and explains as one that was made from nothing', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(change, { minLength: 2, maxLength: 12 }), async (changes) => {
        const rules: Record<string, unknown> = {}
        let [book, set]: [RuleBook | null, RuleSet | undefined] = [null, undefined]
        for (const { name, rule: written, overridden, block, defaultRule } of changes) {
          const tier = name.split('@')[1]
          if (written === null) delete rules[name]
          else rules[name] = tier === undefined ? written : { ...written, tier }
          const scope = (rules[overridden ?? ''] as { scope: string } | undefined)?.scope
          const document = {
            rules,
            tiers: { pro: ['user:ada'] },
            ...(defaultRule ? { default_rule: { scope: 'ip', limits: '3/s' } } : {}),
            ...(block ? { blocks: ['user:eve'] } : {}),
            ...(scope === undefined
              ? {}
              : { overrides: [{ scope, value: '10.0.0.1', rule: overridden, limits: '50/s' }] }),
          } as unknown as RulesDocument
          const next = bookAfter(document, book)
          if (next === null) {
            delete rules[name]
            continue
          }
          book = next
          set = drain(RuleSet.assemble(next, set))
          const [grown, fresh] = [set, drain(RuleSet.assemble(next))].map((each) =>
            createLimiter({ rules: each, clock: () => 1_000_000 }),
          )
          for (const subject of SUBJECTS)
            for (const resource of RESOURCES) {
              const request = { subject, resource, method: 'GET' }
              const [one, other] = [await grown!.explain(request), await fresh!.explain(request)]
              expect({ ...one, decision: String(one.decision) }).toEqual({
                ...other,
                decision: String(other.decision),
              })
            }
        }
      }),
      { numRuns: 300 },
    )
  })

  it('compiles nothing again that has not changed', () => {
    const documentOf = (limits: '5/s' | '6/s') => ({
      rules: {
        a: { scope: 'user', resource: '/a', limits },
        b: { scope: 'user', resource: '/b', limits: '5/s', tiers: { pro: '9/s' } },
      } as const,
    })
    const first = RuleSet.compile(documentOf('5/s'))
    const { book } = RuleSet.compile(documentOf('6/s'))
    const kept = book.rules.map((one) =>
      one.family === 'b' ? first.book.rules.find(({ name }) => name === one.name)! : one,
    )
    const second = drain(RuleSet.assemble({ ...book, rules: kept }, first))
    expect(second.named('b')).toBe(first.named('b'))
    expect(second.named('b@pro')).toBe(first.named('b@pro'))
    expect(second.named('a')).not.toBe(first.named('a'))
    expect(second.families.get('b')).toBe(first.families.get('b'))
  })

  it('leaves the one before as it was', () => {
    const base = { scope: 'user', resource: '/a', limits: '5/s' } as const
    const first = RuleSet.compile({ rules: { a: base } })
    const { book } = RuleSet.compile({
      rules: { a: { ...base, limits: '6/s' }, b: { ...base, resource: '/a/b' } },
    })
    const second = drain(RuleSet.assemble(book, first))
    const limitOf = (rules: RuleSet, resource: string) =>
      createLimiter({ rules }).checkSync({ subject: { user: 'ada' }, resource }).limit
    expect([limitOf(first, '/a'), limitOf(first, '/a/b')]).toEqual([5, null])
    expect([limitOf(second, '/a'), limitOf(second, '/a/b')]).toEqual([6, 5])
  })
})
