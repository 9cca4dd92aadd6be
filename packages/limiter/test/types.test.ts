/** What the compiler refuses. These lines are checked by `tsc`; each must be an error, or the build fails. */
import { describe, expect, it } from 'vitest'
import { createLimiter, type Decision, type LimitText } from '../src/index.js'

const good: LimitText[] = [
  '10/s',
  '1_000/h',
  '1_000_000/d',
  '20k/min burst 50k',
  '5M per 30d',
  '100 per 5m sliding',
  '100 per 1500ms exact',
  '10/m fixed',
  '10/s smooth',
  '10/s smooth 5',
  '10/s queue 50',
  '1M per calendar month',
  '1M per calendar week in Asia/Tokyo',
  '8 concurrent for 60s',
]

function bad(): void {
  // @ts-expect-error a unit that does not exist
  createLimiter('10/sce')
  // @ts-expect-error no unit
  createLimiter('10')
  // @ts-expect-error a modifier that does not exist
  createLimiter('10/s brust 20')
  // @ts-expect-error not a calendar unit
  createLimiter('10 per calendar year')
  // @ts-expect-error a unit that does not exist, in a rule
  createLimiter({ rules: { r: { scope: 'user', limits: ['10/s', '1000/hour'] } } })
  // @ts-expect-error a field that does not exist
  createLimiter({ rules: { r: { scope: 'user', limits: '10/s', tires: {} } } })
}

async function scopes(): Promise<void> {
  const limiter = createLimiter({ rules: { r: { scope: 'team', limits: '10/s' } } })
  await limiter.check({ subject: { team: 'red', user: 'ada', ip: undefined } })
  // @ts-expect-error a scope that no rule names, of a hold
  await limiter.release({ subject: { taem: 'red' }, holdId: 'a' })
  // @ts-expect-error a scope that no rule names, of a hold
  await limiter.renew({ subject: { taem: 'red' }, holdId: 'a' })
  // @ts-expect-error a scope that no rule names
  await limiter.check({ subject: { usr: 'ada' } })
  // @ts-expect-error global is present by itself
  await limiter.check({ subject: { global: 'x' } })
  const single = createLimiter('10/s')
  await single.check({ subject: { key: 'a' } })
  // @ts-expect-error the subject of a single limit is its key
  await single.check({ subject: { user: 'a' } })
}

function narrowed(decision: Decision): number | null {
  if (!decision.allowed) return decision.retryAfterMs
  // @ts-expect-error only a no has a reason
  void decision.reason
  // @ts-expect-error only a no can be answered with
  void decision.toResponse
  return decision.remaining
}

describe('types', () => {
  it('accept every limit that the grammar accepts', () => {
    for (const limit of good) expect(() => createLimiter(limit)).not.toThrow()
    expect([bad, scopes, narrowed]).toHaveLength(3)
  })
})
