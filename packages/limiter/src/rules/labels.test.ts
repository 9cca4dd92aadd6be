import { describe, expect, it } from 'vitest'
import { type RuleInput, RuleSet } from '../index.js'
import { hasLabel } from './labels.js'
import { differingFields } from './rule-fields.js'

function faultsOf(labels: unknown): readonly string[] {
  const rule = { scope: 'user', limits: '1/s', labels } as RuleInput
  try {
    RuleSet.compile({ rules: { a: rule } })
    return []
  } catch (error) {
    return (error as Error).message.split('\n').slice(1)
  }
}

const many = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, i) => [`label-${i}`, 'x']))

describe('labels', () => {
  it('are at most 16, of at most 63 characters each', () => {
    expect(faultsOf(many(16))).toEqual([])
    expect(faultsOf(many(17))).toEqual(['  rules.a.labels: has 17 labels; at most 16'])
    expect(faultsOf({ ['k'.repeat(63)]: 'v'.repeat(63) })).toEqual([])
    expect(faultsOf({ ['k'.repeat(64)]: 'x' })).toHaveLength(1)
    expect(faultsOf({ k: 'v'.repeat(64) })).toHaveLength(1)
    // Characters, not the units of a JavaScript string.
    expect(faultsOf({ k: '😀'.repeat(63) })).toEqual([])
    expect(faultsOf({ k: '😀'.repeat(64) })).toHaveLength(1)
    expect(faultsOf({ k: '' })).toEqual([
      '  rules.a.labels.k: "" is not a text of 1 to 63 characters',
    ])
  })

  it('have keys that a filter can name, and texts as values', () => {
    for (const key of ['team', 'app.kubernetes.io/name', '0', 'constructor'])
      expect(faultsOf({ [key]: 'x' })).toEqual([])
    for (const key of ['', 'a:b', '__proto__', 'a b', 'ü'])
      expect(faultsOf(JSON.parse(`{${JSON.stringify(key)}:"x"}`))).toHaveLength(1)
    expect(faultsOf({ k: 5 })).toEqual(['  rules.a.labels.k: 5 is not a text'])
    for (const value of ['a\n', ' ', 'a\u202eb', 'a\ud800'])
      expect([value, faultsOf({ k: value }).length]).toEqual([value, 1])
    expect(faultsOf('team')).toEqual([
      '  rules.a.labels: "team" is not labels such as { team: search }',
    ])
  })

  it('are the same in whatever order they are', () => {
    const [one, other] = [
      { a: '1', b: '2' },
      { b: '2', a: '1' },
    ].map((labels) => RuleSet.compile({ rules: { a: { scope: 'user', limits: '1/s', labels } } }))
    expect(differingFields(one!.book.rules[0]!, other!.book.rules[0]!)).toEqual([])
  })

  it('are found by key and value, or by key alone', () => {
    const labels = { team: 'search', when: '10:00' }
    expect(hasLabel(labels, 'team:search')).toBe(true)
    expect(hasLabel(labels, 'team')).toBe(true)
    expect(hasLabel(labels, 'when:10:00')).toBe(true)
    expect(hasLabel(labels, 'team:pay')).toBe(false)
    expect(hasLabel(labels, 'team:')).toBe(false)
    expect(hasLabel(labels, 'toString')).toBe(false)
  })
})
