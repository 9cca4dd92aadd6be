/** What changed, in words: rules by name, everything else by number, and never more than fits a log. */
import { RuleSet, type RulesDocument } from '@sluice/limiter'
import { describe, expect, it } from 'vitest'
import { describeChanges } from './describe-changes.js'

const compile = (document: RulesDocument) => RuleSet.compile(document)
const rules = (count: number, limits: '1/s' | '2/s' = '1/s'): RulesDocument => ({
  rules: Object.fromEntries(
    Array.from({ length: count }, (_, i) => [`r${i}`, { scope: `s${i}`, limits }]),
  ),
})
const changes = async (before: RulesDocument | null, after: RulesDocument) => {
  const { lines } = await describeChanges(before === null ? null : compile(before), compile(after))
  return lines
}

describe('the words for a change', () => {
  it('are none where nothing differs', async () => {
    const document = rules(3)
    expect(await changes(document, structuredClone(document))).toEqual([])
  })

  it('say that only an order differs', async () => {
    const [a, b] = [
      { scope: 'user', limits: '1/s' },
      { scope: 'ip', limits: '2/s' },
    ] as const
    expect(await changes({ rules: { a, b } }, { rules: { b, a } })).toEqual([
      'rules: another order',
    ])
    expect(
      await changes({ blocks: ['user:x', 'user:y'] }, { blocks: ['user:y', 'user:x'] }),
    ).toEqual(['blocks: another order'])
    expect(await changes({ blocks: ['user:x', 'user:x'] }, { blocks: ['user:x'] })).toEqual([
      'blocks: changed',
    ])
  })

  it('name the settings of the whole document', async () => {
    expect(
      await changes(
        { ...rules(1), defaults: { ipv6_prefix: 64 }, scopes: ['team'] },
        { ...rules(1), defaults: { ipv6_prefix: 56 }, scopes: ['team', 'region'] },
      ),
    ).toEqual(['scopes: 1 added', 'ipv6_prefix 64 -> 56'])
  })

  it('name the rules that were added, changed and removed', async () => {
    const before: RulesDocument = {
      rules: {
        'per-user': { scope: 'user', limits: ['10/s', '1000/h'], tiers: { pro: '50/s' } },
        search: { scope: 'user', resource: 'GET /a', limits: '5/s' },
        hot: { scope: 'global', limits: '90/s', lease: 'off' },
        old: { scope: 'org', limits: '5/s' },
      },
      default_rule: { scope: 'ip', limits: '20/s' },
    }
    const after: RulesDocument = {
      rules: {
        'per-user': { scope: 'user', limits: ['5/s', '1000/h'], tiers: { pro: '60/s' } },
        search: { scope: 'user', resource: 'POST /b', limits: '5/s', shadow: true },
        hot: { scope: 'global', limits: '90/s', shards: 8, lease: { most: 9 } },
        renders: { scope: 'org', limits: '8 concurrent for 60s' },
      },
      default_rule: { scope: 'ip', limits: '30/s' },
    }
    expect(await changes(before, after)).toEqual([
      'changed per-user 10/s, 1000/h -> 5/s, 1000/h',
      'changed per-user@pro 50/s -> 60/s',
      'changed search resource /a -> /b, methods GET -> POST, shadow false -> true',
      'changed hot shards 1 -> 8, lease off -> {"most":9}',
      'added renders 8 concurrent for 1m',
      'changed default 20/s -> 30/s',
      'removed old',
    ])
  })

  it('count tiers, overrides, costs, exemptions and blocks', async () => {
    const base = rules(1)
    const override = { scope: 's0', value: 'a', rule: 'r0', limits: '2/s' } as const
    const before: RulesDocument = {
      ...base,
      tiers: { pro: ['user:a', 'user:b'] },
      blocks: ['user:x', { user: 'y', until: '2030-01-01' }],
      overrides: [override],
    }
    const after: RulesDocument = {
      ...base,
      tiers: { pro: ['user:a'], max: ['user:b'] },
      blocks: ['user:x', { user: 'y', until: '2031-01-01' }, 'user:z'],
      overrides: [{ ...override, limits: '3/s' }],
      costs: { '/x': 1 },
      exemptions: ['ip:10.0.0.0/8'],
    }
    expect(await changes(before, after)).toEqual([
      'tiers: 1 added, 1 removed',
      'overrides: 1 added, 1 removed',
      'costs: 1 added',
      'exemptions: 1 added',
      'blocks: 2 added, 1 removed',
    ])
    expect(await changes(after, after)).toEqual([])
  })

  it('name a change of how resources are normalised', async () => {
    const of = (normalize: RulesDocument['normalize'] & object) => ({ ...rules(1), normalize })
    expect(await changes(rules(1), of({ fold_case: 'on' }))).toEqual([
      'changed normalize checks off, trailing_slash drop, fold_case off -> checks on, trailing_slash drop, fold_case on',
    ])
    expect(await changes(rules(1), of({}))).toEqual([])
    expect(await changes(of({ trailing_slash: 'keep' }), of({ checks: 'on' }))).toHaveLength(1)
    expect(await changes(of({ checks: 'on' }), of({ checks: 'off' }))).toHaveLength(1)
  })

  it('stop after twenty, and say how many more there are', async () => {
    const lines = await changes(rules(50), rules(50, '2/s'))
    expect(lines).toHaveLength(21)
    expect(lines.at(-1)).toBe('and 30 more')
    expect(await changes(null, rules(25))).toContain('and 5 more')
  })

  it('are found a hundred rules at a time', async () => {
    const [before, after] = [compile(rules(5000)), compile(rules(5000, '2/s'))]
    let pauses = 0
    let now = 0
    await describeChanges(before, after, {
      now: () => (now += 1000),
      pause: async () => {
        pauses++
      },
    })
    expect(pauses).toBeGreaterThanOrEqual(2 * 50 - 1)
  })
})
