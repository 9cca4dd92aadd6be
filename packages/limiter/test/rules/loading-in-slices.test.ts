/** Very many rules: put together and put in force a little at a time, changed in one instant. */
import { describe, expect, it } from 'vitest'
import {
  createLimiter,
  inSlices,
  type LimitText,
  type Pace,
  RuleSet,
  type RulesDocument,
  type Slices,
} from '../../src/index.js'
import { drain } from '../../src/slices.js'

const COUNT = 20_000
const documentOf = (limits: LimitText, count = COUNT): RulesDocument => ({
  rules: Object.fromEntries(
    Array.from({ length: count }, (_, i) => [
      `rule-${i}`,
      { scope: 'user', resource: `/things/${i}`, limits },
    ]),
  ),
  blocks: Array.from({ length: count }, (_, i) => `user:blocked-${i}` as const),
  exemptions: Array.from({ length: count }, (_, i) => `org:${i}` as const),
  overrides: Array.from({ length: count }, (_, i) => ({
    scope: 'user',
    value: 'bob',
    rule: `rule-${i}`,
    limits: '7/h' as const,
  })),
})

function yieldsOf(slices: Slices<unknown>): number {
  let yields = 0
  while (slices.next().done !== true) yields++
  return yields
}

/** A clock by which every look is a slice of its own, and whoever wants to act in the pauses. */
function strict(duringPause: () => void): Pace {
  let now = 0
  return {
    now: () => (now += 1000),
    pause: async () => {
      duringPause()
    },
  }
}

const strictly = (...args: Parameters<typeof strict>) => ({ pace: strict(...args) })

describe('a rule set of very many rules', () => {
  const { book } = RuleSet.compile(documentOf('5/h'))

  it('is put together a hundred rules, entries or overrides at a time', () => {
    // Rules once, overrides once more over the rules, lists once for the entries and once for the filter.
    expect(yieldsOf(RuleSet.assemble(book))).toBeGreaterThanOrEqual((7 * COUNT) / 100 - 7)
  })

  it('is the same whether it is put together at once or in slices', async () => {
    const small = RuleSet.compile(documentOf('5/h', 300)).book
    const [atOnce, inParts] = [
      drain(RuleSet.assemble(small)),
      await inSlices(
        RuleSet.assemble(small),
        strict(() => {}),
      ),
    ]
    expect(inParts.rules).toEqual(atOnce.rules)
    expect(inParts.scopes).toEqual(atOnce.scopes)
    const ask = (rules: RuleSet, user: string) =>
      createLimiter({ rules }).checkSync({ subject: { user }, resource: '/things/7' })
    for (const user of ['ada', 'bob', 'blocked-3'])
      expect(ask(inParts, user).limit).toBe(ask(atOnce, user).limit)
  })
})

describe('a change to very many rules', () => {
  const before = RuleSet.compile(documentOf('5/h'))
  const after = RuleSet.compile(documentOf('9/h'))
  const ada = { subject: { user: 'ada' }, resource: '/things/0' }

  it('lets others decide all along, under the old rules up to one instant', async () => {
    const limiter = createLimiter({ rules: before, clock: () => 1_000_000 })
    const seen: (number | null)[] = []
    await limiter.changeRules(
      after,
      strictly(() => void seen.push(limiter.checkSync({ ...ada, dryRun: true }).limit)),
    )
    expect(seen.length).toBeGreaterThanOrEqual((2 * COUNT) / 100 - 2)
    expect(seen.join()).toMatch(/^(5,)+5(,9)*$/)
    expect(limiter.revision).toBe(2)
    expect(limiter.checkSync(ada).limit).toBe(9)
  })

  it('carries what was used over as a change at once does', async () => {
    let now = 1_000_000
    const use = async (change: 'setRules' | 'changeRules') => {
      now = 1_000_000
      const limiter = createLimiter({
        rules: RuleSet.compile(documentOf('5/h', 250)),
        clock: () => now,
      })
      for (let i = 0; i < 4; i++) limiter.checkSync(ada)
      now += 1_000_000
      await limiter[change](RuleSet.compile(documentOf('9/h', 250)))
      now += 500_000
      const { remaining, resetAtMs } = limiter.checkSync({ ...ada, dryRun: true })
      return [remaining, resetAtMs]
    }
    expect(await use('changeRules')).toEqual(await use('setRules'))
  })

  it('holds from when it took effect, also where it is heard of later', async () => {
    const heard = async (afterMs: number, since?: number) => {
      let now = 1_000_000
      const rules = RuleSet.compile(documentOf('60/h burst 60', 1))
      const limiter = createLimiter({ rules, clock: () => now })
      for (let i = 0; i < 60; i++) limiter.checkSync(ada)
      now += afterMs
      const next = RuleSet.compile(documentOf('3600/h burst 60', 1))
      await limiter.changeRules(next, since === undefined ? {} : { since })
      now = 1_000_000 + 30_000
      return limiter.checkSync({ ...ada, dryRun: true }).remaining
    }
    const atOnce = await heard(5000)
    expect(atOnce).toBe(25)
    expect(await heard(25_000)).toBe(5)
    expect(await heard(25_000, 1_005_000)).toBe(atOnce)
  })

  it('is given up when a later one overtakes it', async () => {
    const limiter = createLimiter({ rules: before })
    let overtaken = false
    await limiter.changeRules(
      after,
      strictly(() => {
        if (overtaken) return
        overtaken = true
        limiter.setRules({ rules: { only: { scope: 'user', limits: '3/h' } } })
      }),
    )
    expect(limiter.checkSync(ada).limit).toBe(3)
    expect(limiter.revision).toBe(2)
  })

  it('forgets the counters of rules that are gone, and no others', async () => {
    const limiter = createLimiter({ rules: RuleSet.compile(documentOf('5/h', 300)) })
    const ask = (i: number) =>
      limiter.checkSync({ subject: { user: 'ada' }, resource: `/things/${i}` }).remaining
    for (let i = 0; i < 300; i++) expect(ask(i)).toBe(4)
    await limiter.changeRules(
      RuleSet.compile(documentOf('5/h', 150)),
      strictly(() => {}),
    )
    await limiter.changeRules(
      RuleSet.compile(documentOf('5/h', 300)),
      strictly(() => {}),
    )
    expect([0, 149, 150, 299].map(ask)).toEqual([3, 3, 4, 4])
  })
})
