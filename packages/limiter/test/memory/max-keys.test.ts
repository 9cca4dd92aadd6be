/**
 * What `maxKeys` bounds. A full store evicts a row for each new one of the same rule, but a rule may always
 * have its fair part, a quarter of `maxKeys` divided by the rules in use, so that a flood of one rule's keys
 * leaves the others alone. At worst each rule takes its part while the ones before keep theirs.
 */
import { expect, it } from 'vitest'
import { createLimiter, memoryStore, type RulesDocument } from '../../src/index.js'

it.each([1, 2, 4, 8])('bounds the rows of %i rules, each flooded after the other', (count) => {
  const maxKeys = 10_000
  const store = memoryStore({ maxKeys })
  const scopes = Array.from({ length: count }, (_, i) => `scope${i}`)
  const rules: RulesDocument['rules'] = Object.fromEntries(
    scopes.map((scope) => [scope, { scope, limits: '10/h' }]),
  )
  const limiter = createLimiter({ rules, store })
  let most = 0
  for (const scope of scopes)
    for (let i = 0; i < 2 * maxKeys; i++) {
      limiter.checkSync({ subject: { [scope]: `value-${i}` } })
      most = Math.max(most, store.size.keys)
    }
  const parts = scopes.slice(1).map((_, i) => maxKeys / (4 * (i + 2)))
  const bound = parts.reduce((sum, part) => sum + part, maxKeys)
  expect(most).toBeGreaterThanOrEqual(maxKeys)
  expect(most).toBeLessThanOrEqual(bound + 16 * count)
})
