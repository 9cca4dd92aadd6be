import { describe, expect, it } from 'vitest'
import { createLimiter, RuleSet } from '../../src/index.js'

const USERS = Array.from({ length: 2000 }, (_, i) => `user-${i}`)

/** The users for which the rule is enforced. */
function enforced(rollout: number, more: object = {}): Set<string> {
  const limiter = createLimiter({
    rules: { partly: { scope: 'user', limits: '5/h', rollout, ...more } },
  })
  const ask = (user: string) => limiter.checkSync({ subject: { user }, dryRun: true })
  return new Set(USERS.filter((user) => !ask(user).limits[0]!.shadow))
}

describe('a rollout', () => {
  it('enforces the rule for that part of its subjects', () => {
    expect(enforced(0).size).toBe(0)
    expect(enforced(100).size).toBe(USERS.length)
    expect(enforced(25).size).toBeGreaterThan(400)
    expect(enforced(25).size).toBeLessThan(600)
    expect(enforced(0.5).size).toBeGreaterThan(0)
    expect(enforced(0.5).size).toBeLessThan(40)
  })

  it('chooses the same subjects always, and keeps them when it is raised', () => {
    const [ten, thirty] = [enforced(10), enforced(30)]
    expect(enforced(10)).toEqual(ten)
    for (const user of ten) expect(thirty.has(user)).toBe(true)
  })

  it('says nothing about a rule that is in shadow anyway', () => {
    expect(enforced(100, { shadow: true }).size).toBe(0)
  })

  it('leaves the rule before it in force for the rest', () => {
    const limiter = createLimiter({
      rules: {
        old: { scope: 'user', limits: '5/h' },
        new: { scope: 'user', resource: '/search', limits: '2/h', rollout: 40 },
      },
    })
    const chosen = USERS.slice(0, 200).map((user) => {
      const { rule, limits } = limiter.checkSync({ subject: { user }, resource: '/search' })
      return [rule, ...limits.map((limit) => `${limit.rule} ${limit.shadow ? 'shadow' : 'on'}`)]
    })
    for (const one of chosen)
      expect([
        ['new', 'new on'],
        ['old', 'old on', 'new shadow'],
      ]).toContainEqual(one)
    expect(new Set(chosen.map(([rule]) => rule)).size).toBe(2)
  })

  it('holds for the default rule and for overrides', () => {
    const limiter = createLimiter({
      rules: {},
      default_rule: { scope: 'user', limits: '5/h', rollout: 50 },
      overrides: USERS.map((value) => ({
        scope: 'user',
        value,
        rule: 'default',
        limits: '9/h' as const,
      })),
    })
    const shadows = USERS.map((user) => {
      const [limit] = limiter.checkSync({ subject: { user } }).limits
      expect(limit!.amount).toBe(9)
      return limit!.shadow
    })
    expect(new Set(shadows).size).toBe(2)
  })

  it('is told where it decides', async () => {
    const limiter = createLimiter({
      rules: { partly: { scope: 'user', limits: '5/h', rollout: 50 } },
    })
    const whys = new Set<string>()
    for (const user of USERS.slice(0, 50))
      whys.add((await limiter.explain({ subject: { user } })).applied[0]!.why)
    expect([...whys].sort()).toEqual([
      'in shadow for this subject: the rollout is 50 percent',
      'the only rule of scope user',
    ])
  })

  it('is refused where it is no percentage', () => {
    for (const rollout of [-1, 101, Number.NaN, '50'])
      expect(() =>
        RuleSet.compile({
          rules: { partly: { scope: 'user', limits: '5/h', rollout: rollout as number } },
        }),
      ).toThrow(/rollout/)
  })
})
