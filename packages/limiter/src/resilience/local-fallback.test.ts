/** Rows that were above their limit when the store was last asked. */
import { expect, it } from 'vitest'
import { NOT_NOW } from '../algorithms/verdict.js'
import { createLimiter } from '../create-limiter.js'
import { RuleSet } from '../rules/rule-set.js'
import { FIRST_VERDICT } from '../store/store.js'
import { Instances } from './instances.js'
import { LocalFallback } from './local-fallback.js'
import { Sightings } from './sightings.js'

const START_MS = 1_790_000_000_000
const START = 1000 * START_MS
const RULES = RuleSet.compile({ rules: { r: { scope: 'user', limits: '10 per 10s' } } })
const [RULE] = RULES.all
/** 40 are counted of 10. */
const OWING = [0, START, 0, NOT_NOW, -30, START + 40_000_000, START + 31_000_000, 0, 0, 0]

it('a row that was above its limit has nothing left, and no less than nothing', () => {
  const sightings = new Sightings()
  sightings.note(RULE!, 'ada', 40, 0, OWING, FIRST_VERDICT)
  expect(sightings.leftOf(RULE!, 'ada')).toBe(0)
  expect(sightings.of(RULE!, 'ada')?.limits).toEqual([
    { remaining: 0, resetAt: START + 40_000_000 },
  ])
})

it('a row that was above its limit is counted on here from a full one', async () => {
  const sightings = new Sightings()
  sightings.note(RULE!, 'ada', 40, 0, OWING, FIRST_VERDICT)
  const store = new LocalFallback({ sightings, instances: new Instances(1), storeTime: (us) => us })
  const limiter = createLimiter({ rules: RULES, store, clock: () => START_MS + 4000 })
  // Four were refilled since.
  const decision = await limiter.check({ subject: { user: 'ada' } })
  expect(decision).toMatchObject({ allowed: true, degraded: true, used: 7, remaining: 3 })
})
