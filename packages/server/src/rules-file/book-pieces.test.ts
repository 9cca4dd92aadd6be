/** A checked document crosses between threads in pieces of a bounded size, and arrives as it was. */
import { RuleSet, type RulesDocument } from '@sluice/limiter'
import { describe, expect, it } from 'vitest'
import { BookInPieces, MOST_ITEMS, takeApart } from './book-pieces.js'

const many = <T>(count: number, of: (i: number) => T) =>
  Array.from({ length: count }, (_, i) => of(i))

const document: RulesDocument = {
  namespace: 'shop',
  timezone: 'Asia/Tokyo',
  defaults: { ipv6_prefix: 56, failure_mode: 'closed' },
  normalize: { checks: 'on', trailing_slash: 'keep' },
  scopes: ['team'],
  default_rule: { scope: 'ip', limits: '20/s', lease: true },
  tiers: { free: many(250, (i) => `user:${i}` as const), pro: ['org:acme'] },
  rules: Object.fromEntries(
    many(1234, (i) => [
      `r${i}`,
      { scope: `s${i}`, limits: ['2/s', '5 per calendar day'], shards: 2 },
    ]),
  ),
  overrides: many(333, (i) => ({ scope: 's0', value: `${i}`, rule: 'r0', limits: '9/s' as const })),
  costs: { 'POST /x': { tokens: 5 }, '//y': 2 },
  exemptions: ['ip:10.0.0.0/8', { user: 'a', until: '2030-01-01', reason: 'guest' }],
  blocks: many(450, (i) => `user:b${i}` as const),
}

describe('a document in pieces', () => {
  const { book } = RuleSet.compile(document)

  it('arrives as it was, copied as threads copy', () => {
    const pieces = new BookInPieces()
    const answers = [...takeApart(book)].map((piece) => pieces.add(structuredClone(piece)))
    expect(answers.pop()).toEqual(book)
    expect(answers.every((answer) => answer === undefined)).toBe(true)
  })

  it('has no piece of more than a hundred items', () => {
    const sizes = [...takeApart(book)].map((piece) => ('items' in piece ? piece.items.length : 0))
    expect(Math.max(...sizes)).toBe(MOST_ITEMS)
    expect(MOST_ITEMS).toBeLessThanOrEqual(100)
  })
})
