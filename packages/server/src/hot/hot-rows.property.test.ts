import { RuleSet } from '@sluice/limiter'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Decided, HotRows, MOST_ROWS, SAMPLED } from './hot-rows.js'

const { rules } = RuleSet.compile({
  rules: {
    'per-user': { scope: 'user', limits: '1M/s' },
    'per-ip': { scope: 'ip', limits: '1M/s' },
    all: { scope: 'global', limits: '100M/s' },
  },
})
/** Each decision asks a row of each rule. */
const decided = (user: string, ip: string): Decided => ({
  allowed: true,
  topRule: 0,
  transaction: { rules, values: [user, ip, ''] },
})
/** As many that 2 % of them are told from chance. */
const DECISIONS = 200_000
/** A rate is too low by this at most. */
const SHORT = (rules.length * DECISIONS) / MOST_ROWS

/** Numbers from 0 to 1 that are the same for the same seed. */
function chance(seed: number): () => number {
  let state = seed | 0
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** How far off a sample of one in 16 may be: five times what is usual. */
const byChance = (decisions: number) => 5 * Math.sqrt(decisions * SAMPLED)

describe('hot rows', () => {
  it('always have whoever asks 2 % of all, under a flood of others who ask once', () => {
    const heavies = fc.array(fc.integer({ min: 2, max: 20 }), { minLength: 1, maxLength: 5 })
    fc.assert(
      fc.property(heavies, fc.integer(), fc.integer(), (percents, seed, load) => {
        const hot = new HotRows({ now: () => 0, seed })
        const random = chance(load)
        const counted = percents.map(() => 0)
        for (let i = 0; i < DECISIONS; i++) {
          let draw = random() * 100
          const heavy = percents.findIndex((percent) => (draw -= percent) < 0)
          if (heavy >= 0) counted[heavy]!++
          const user = heavy >= 0 ? `heavy-${heavy}` : `once-${i}`
          hot.decided(decided(user, `address-${i}`), 'default', false)
        }
        const rows = hot.of('default')
        expect(rows.length).toBeLessThanOrEqual(MOST_ROWS)
        for (const [i, count] of counted.entries()) {
          const row = rows.find(({ value }) => value === `heavy-${i}`)
          // A second is the shortest time that a rate is of, so rates are counts here.
          expect(row?.perSecond).toBeLessThanOrEqual(count + byChance(count))
          expect(row?.perSecond).toBeGreaterThanOrEqual(count - SHORT - byChance(count))
        }
        expect(rows[0]).toMatchObject({ rule: 'all', scope: 'global', value: '' })
        expect(rows[0]!.share).toBe(1)
        for (const { value, perSecond } of rows)
          if (value.startsWith('once')) expect(perSecond).toBeLessThanOrEqual(SAMPLED)
      }),
      { numRuns: 50 },
    )
  })

  it('are found whatever rhythm they ask in', () => {
    for (const period of [2, 16, 31, 32]) {
      const hot = new HotRows({ now: () => 0, seed: 7 * period })
      for (let i = 0; i < DECISIONS; i++) {
        const user = i % period === 0 ? 'steady' : `once-${i}`
        hot.decided(decided(user, `address-${i}`), 'default', false)
      }
      const row = hot.of('default').find(({ value }) => value === 'steady')
      const count = DECISIONS / period
      expect(Math.abs(row!.perSecond - count)).toBeLessThanOrEqual(SHORT + byChance(count))
    }
  })
})
