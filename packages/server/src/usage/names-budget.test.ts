import { describe, expect, it } from 'vitest'
import { NamesBudget } from './names-budget.js'

describe('a budget of names', () => {
  it('names the first so many of a span, and goes on naming them', () => {
    const budget = new NamesBudget(2, 1000)
    expect(['a', 'b', 'c', 'a', 'd'].map((key) => budget.allows(0, key))).toEqual([
      true,
      true,
      false,
      true,
      false,
    ])
    expect(budget.allows(1000, 'c')).toBe(true)
    expect(budget.allows(999, 'c')).toBe(false)
  })

  it('forgets spans that are long over', () => {
    const budget = new NamesBudget(1, 1000)
    for (let span = 0; span < 5; span++) budget.allows(span * 1000, 'a')
    expect(budget.allows(4000, 'b')).toBe(false)
    expect(budget.allows(1000, 'b')).toBe(false)
    expect(budget.allows(0, 'b')).toBe(true)
  })
})
