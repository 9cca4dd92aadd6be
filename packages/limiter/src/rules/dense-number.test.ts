import { setImmediate as endOfTurn } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createLimiter } from '../create-limiter.js'
import type { Limiter } from '../limiter.js'
import type { CompiledRule } from './compiled-rule.js'
import type { RulesDocument } from './document.js'
import { ByRule } from './rule-numbers.js'
import { RuleSet } from './rule-set.js'

setFlagsFromString('--expose-gc')
const gc = runInNewContext('gc') as () => void

/** Every rule that can apply: variants, overrides, and those in shadow for the rest. */
function everyRule(rules: RuleSet): CompiledRule[] {
  const overrides = [...rules.families.values()].flatMap((family) =>
    [...family.overrides.values()].flat(),
  )
  return [...rules.all, ...overrides].flatMap((rule) =>
    rule.rest === null ? [rule] : [rule, rule.rest],
  )
}

const amounts = fc.integer({ min: 1, max: 3 })
const document: fc.Arbitrary<RulesDocument> = fc
  .record({
    rules: fc.dictionary(
      fc.constantFrom('a', 'b', 'c', 'd'),
      fc.record({
        scope: fc.constantFrom('user', 'ip'),
        amount: amounts,
        hasTier: fc.boolean(),
        rollout: fc.constantFrom(50, 100),
      }),
      { maxKeys: 4, noNullPrototype: true },
    ),
    overridden: fc.array(fc.tuple(fc.constantFrom('a', 'a@pro', 'b'), amounts), { maxLength: 3 }),
  })
  .map(({ rules, overridden }) => ({
    rules: Object.fromEntries(
      Object.entries(rules).map(([name, { scope, amount, hasTier, rollout }]) => [
        name,
        {
          scope,
          resource: `/${name}`,
          rollout,
          limits: `${amount}/s` as const,
          ...(hasTier ? { tiers: { pro: `${amount + 1}/s` as const } } : {}),
        },
      ]),
    ),
    overrides: overridden
      .filter(([rule]) => {
        const [name, tier] = rule.split('@')
        const found = rules[name!]
        return found?.scope === 'user' && (tier === undefined || found.hasTier)
      })
      .map(([rule, amount]) => ({
        rule,
        scope: 'user',
        value: 'ada',
        limits: `${amount}/s` as const,
      })),
  }))

describe('numbers of rules and families', () => {
  it('survive a change of rules, and no two rules have the same one', () => {
    const isUnique = (numbers: readonly number[]) => new Set(numbers).size === numbers.length
    fc.assert(
      fc.property(fc.array(document, { minLength: 2, maxLength: 6 }), (documents) => {
        const limiter = createLimiter({ rules: RuleSet.compile({}) })
        let before = limiter.rules
        for (const next of documents) {
          limiter.setRules(RuleSet.compile({ ...next, overrides: dropTwins(next.overrides ?? []) }))
          const { rules } = limiter
          const all = everyRule(rules)
          const families = [...rules.families.values()]
          expect(isUnique(all.map(({ number }) => number))).toBe(true)
          expect(isUnique(families.map(({ number }) => number))).toBe(true)
          for (const rule of rules.all) {
            const old = before.named(rule.name)
            if (old === undefined) continue
            expect(rule.number).toBe(old.number)
            if (old.family.key === rule.family.key)
              expect(rule.family.number).toBe(old.family.number)
            if (old.rest !== null && rule.rest !== null)
              expect(rule.rest.number).toBe(old.rest.number)
          }
          // Rules before that were not replaced keep theirs too.
          const gone = everyRule(before).filter(({ name }) => rules.named(name) === undefined)
          expect(isUnique([...all, ...gone].map(({ number }) => number))).toBe(true)
          before = rules
        }
      }),
      { numRuns: 200 },
    )
  })

  it('survive of rules that are compiled beside the ones in force, and of overrides', async () => {
    const documentOf = (amount: number): RulesDocument => ({
      rules: {
        a: { scope: 'user', limits: `${amount}/s` },
        b: { scope: 'user', resource: '/b', limits: '1/s', tiers: { pro: '2/s' } },
      },
      overrides: [
        { rule: 'a', scope: 'user', value: 'ada', limits: `${amount + 1}/s` },
        { rule: 'a', scope: 'user', value: 'bob', limits: '3/s' },
      ],
    })
    const limiter = createLimiter({ rules: RuleSet.compile(documentOf(1)) })
    const names = (rules: RuleSet) => everyRule(rules).map(({ name, number }) => [name, number])
    const before = names(limiter.rules)
    const next = RuleSet.assemble(RuleSet.compile(documentOf(5)).book, limiter.rules)
    for (let step = next.next(); ; step = next.next())
      if (step.done === true) {
        await limiter.changeRules(step.value)
        break
      }
    expect(names(limiter.rules)).toEqual(before)
  })

  it('cost nothing while nobody asks for them, and are given back when the rules are gone', async () => {
    const limiter = createLimiter({ rules: RuleSet.compile({}) })
    const kept = new ByRule<string>()
    const numbered = async (reloads: number): Promise<number> => {
      let largest = 0
      for (let i = 0; i < reloads; i++) {
        const rules = Object.fromEntries(
          Array.from({ length: 10 }, (_, n) => [
            `r${i}-${n}`,
            { scope: 'user', resource: `/${n}`, limits: '1/s' },
          ]),
        )
        limiter.setRules(RuleSet.compile({ rules } as RulesDocument))
        for (const rule of limiter.rules.all) {
          kept.set(rule, rule.name)
          largest = Math.max(largest, rule.number, rule.family.number)
        }
        if (i % 20 === 19) await collect()
      }
      return largest
    }
    const few = await numbered(100)
    expect(await numbered(2900)).toBeLessThan(few + 1000)
    expect(kept.size).toBeLessThan(few + 1000)
  })
})

describe('what is kept by rule', () => {
  const rulesOf = (limiter: Limiter) => limiter.rules.all[0]!
  const limited = (amount: number): RulesDocument => ({
    rules: { a: { scope: 'user', limits: `${amount}/s` } },
  })

  it('is of one rule, not of the one that replaces it', () => {
    const limiter = createLimiter({ rules: RuleSet.compile(limited(1)) })
    const before = rulesOf(limiter)
    const kept = new ByRule<string>()
    expect(kept.get(before)).toBeUndefined()
    expect(kept.set(before, 'one')).toBe('one')
    limiter.setRules(RuleSet.compile(limited(2)))
    expect(rulesOf(limiter).number).toBe(before.number)
    expect([kept.get(before), kept.get(rulesOf(limiter))]).toEqual(['one', undefined])
    kept.set(rulesOf(limiter), 'two')
    expect([kept.get(before), kept.get(rulesOf(limiter))]).toEqual([undefined, 'two'])
  })

  it('is deleted by value, or all at once', () => {
    const { all } = RuleSet.compile({
      rules: { a: { scope: 'user', limits: '1/s' }, b: { scope: 'ip', limits: '1/s' } },
    })
    const kept = new ByRule<string>()
    for (const rule of all) kept.set(rule, rule.name)
    expect(kept.deleteWhere((name) => name === 'a')).toEqual(['a'])
    expect(all.map((rule) => kept.get(rule))).toEqual([undefined, 'b'])
    kept.clear()
    expect(all.map((rule) => kept.get(rule))).toEqual([undefined, undefined])
  })
})

/** A rule may be overridden once for a value. */
function dropTwins<T extends { readonly rule?: unknown }>(overrides: readonly T[]): T[] {
  return overrides.filter(
    ({ rule }, i) => overrides.findIndex((other) => other.rule === rule) === i,
  )
}

/** What nothing holds is collected, and its number is given back. */
async function collect(): Promise<void> {
  gc()
  for (let turn = 0; turn < 3; turn++) await endOfTurn()
}
