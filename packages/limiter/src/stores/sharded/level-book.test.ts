/** What is remembered of shards is bounded; the rows that were asked for last stay. */
import { describe, expect, it } from 'vitest'
import { RuleSet } from '../../index.js'
import { LevelBook } from './row-levels.js'
import { ShardRules } from './sharded-rule.js'

const rules = RuleSet.compile({ rules: { hot: { scope: 'user', limits: '100/s', shards: 10 } } })
const hot = new ShardRules().of(rules.named('hot')!)!

describe('the book of levels', () => {
  it('holds no more numbers than it may, however many rows are asked for', () => {
    const book = new LevelBook(1000)
    const kept = book.of(hot, 'ada')
    for (let i = 0; i < 10_000; i++) {
      book.of(hot, `user ${i}`)
      expect(book.of(hot, 'ada')).toBe(kept)
      expect(book.size).toBeLessThanOrEqual(1000)
    }
    const early = book.of(hot, 'user 5')
    expect(early.level(3, 0, 1)).toBe(10)
  })
})
