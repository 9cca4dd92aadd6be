/** Rows that were above their limit when the store was last asked. */
import { expect, it } from 'vitest'
import { NOT_NOW } from '../../algorithms/verdict.js'
import { createLimiter } from '../../create-limiter.js'
import { RuleSet } from '../../rules/rule-set.js'
import { FIRST_VERDICT } from '../store.js'
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

it('a dry run counts on from what was last seen, and keeps nothing of it', async () => {
  const sightings = new Sightings()
  sightings.note(RULE!, 'ada', 40, 0, OWING, FIRST_VERDICT)
  const store = new LocalFallback({ sightings, instances: new Instances(1), storeTime: (us) => us })
  const limiter = createLimiter({ rules: RULES, store, clock: () => START_MS + 4000 })
  const seen = { allowed: true, degraded: true, used: 6, remaining: 4 }
  for (let i = 0; i < 2; i++)
    expect(await limiter.peek({ subject: { user: 'ada' } })).toMatchObject(seen)
  expect(await limiter.peek({ subject: { user: 'eve' } })).toMatchObject({ used: 0, remaining: 10 })
  // What was used elsewhere is not this instance's to tell.
  const [rules, values] = [[RULE!], ['ada']]
  const asked = { rules, values, costs: null, cost: 1, dryRun: true, holdId: '' }
  const now = START + 4_000_000
  expect(store.owed({ ...asked, idempotency: null, replayOf: null, now })).toEqual([])
  expect(await limiter.check({ subject: { user: 'ada' } })).toMatchObject({ used: 7, remaining: 3 })
  expect(await limiter.peek({ subject: { user: 'ada' } })).toMatchObject({ used: 7, remaining: 3 })
})

it.each([
  ['10 per 10s', 4],
  ['10 per 10s fixed', 0],
  ['10 per 10s sliding', 0],
  ['10 per 10s exact', 0],
] as const)('a dry run leaves a counter of %s as it was', async (limits, remaining) => {
  const rules = RuleSet.compile({ rules: { r: { scope: 'user', limits } } })
  const sightings = new Sightings()
  sightings.note(rules.all[0]!, 'ada', 40, 0, OWING, FIRST_VERDICT)
  const store = new LocalFallback({ sightings, instances: new Instances(1), storeTime: (us) => us })
  const limiter = createLimiter({ rules, store, clock: () => START_MS + 4000 })
  for (let i = 0; i < 3; i++)
    expect(await limiter.peek({ subject: { user: 'ada' } })).toMatchObject({ remaining })
  expect(await limiter.check({ subject: { user: 'ada' } })).toMatchObject({
    allowed: remaining > 0,
    remaining: Math.max(0, remaining - 1),
  })
})
