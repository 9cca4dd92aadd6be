import { expect, it } from 'vitest'
import { CountedRule, HeaviestRows } from './heaviest-rows.js'

it('after all was halved a new row takes the smallest place again', () => {
  const rule = new CountedRule()
  const rows = new HeaviestRows<CountedRule>(4)
  const count = (value: string, times: number) => {
    for (let i = 0; i < times; i++) rows.count(rule, value)
  }
  for (const value of ['a', 'b', 'c', 'd']) count(value, 10)
  // Takes the place of one of them, and then has the most.
  count('e', 1)
  rows.halve()
  count('b', 4)
  count('f', 1)
  expect([...rule.places.keys()].sort()).toEqual(['b', 'd', 'e', 'f'])
})

it('a new row takes the smallest place', () => {
  const rule = new CountedRule()
  const rows = new HeaviestRows<CountedRule>(4)
  for (const [value, times] of Object.entries({ a: 10, b: 10, c: 1, d: 10 }))
    for (let i = 0; i < times; i++) rows.count(rule, value)
  rows.count(rule, 'e')
  expect([...rule.places.keys()].sort()).toEqual(['a', 'b', 'd', 'e'])
})
