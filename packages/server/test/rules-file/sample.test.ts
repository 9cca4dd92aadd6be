/** The sample rules file of the repository: valid, formatted, and what the first steps promise of it. */
import { readFileSync } from 'node:fs'
import { createLimiter } from '@sluice/limiter'
import { expect, it } from 'vitest'
import { formatRules } from '../../src/rules-file/format-rules.js'
import { readRules } from '../../src/rules-file/read-rules.js'

const text = readFileSync(new URL('../../../../sluice.yaml', import.meta.url), 'utf8')

it('is valid, formatted, and warns of nothing', () => {
  expect(readRules(text)).toMatchObject({
    warnings: [],
  })
  expect(formatRules(text)).toEqual({ text })
})

it('names its schema for editors', () => {
  expect(text).toMatch(
    /^# yaml-language-server: \$schema=\.\/docs\/reference\/rules\.schema\.json\n/,
  )
})

it('lets ada say hello three times', async () => {
  const read = readRules(text)
  if ('faults' in read) throw new Error('expected good rules')
  const limiter = createLimiter({ rules: read.rules, clock: () => 1_790_000_000_000 })
  const ask = () => limiter.checkSync({ subject: { user: 'ada' }, resource: '/hello' })
  expect([ask(), ask(), ask()].map(({ allowed, limit }) => [allowed, limit])).toEqual(
    Array.from({ length: 3 }, () => [true, 3]),
  )
  expect(ask()).toMatchObject({ allowed: false, rule: 'hello', limit: 3, remaining: 0 })
})
