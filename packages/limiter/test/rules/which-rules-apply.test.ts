/** Which rules apply, and why the others do not, against a look at every rule. */
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createLimiter, RuleSet, type RulesDocument } from '../../src/index.js'
import { documents, NOW_MS, requests } from './documents.js'
import { whichApply } from './oracle.js'

const asked = fc.array(requests, { minLength: 1, maxLength: 12, size: 'max' })

function limiterOf({ drafts: _drafts, ...document }: RulesDocument & { drafts: unknown }) {
  return createLimiter({ rules: RuleSet.compile(document), clock: () => NOW_MS })
}

const byName = (a: readonly [string, ...unknown[]], b: readonly [string, ...unknown[]]) =>
  a[0] < b[0] ? -1 : 1

describe('the rules that apply', () => {
  it('are those that a look at every rule finds, whatever was asked before', async () => {
    await fc.assert(
      fc.asyncProperty(documents, asked, async (document, requests) => {
        const limiter = limiterOf(document)
        for (const request of requests) {
          const { limits } = await limiter.check(request)
          const applied = limits.map(({ rule, amount }) => [rule, `${amount}/h`] as const)
          expect([...applied].sort(byName)).toEqual(
            [...whichApply(document, request).applied].sort(byName),
          )
        }
      }),
      { numRuns: 800 },
    )
  })

  it('are explained as they are checked, and so is each that is set aside', async () => {
    await fc.assert(
      fc.asyncProperty(documents, asked, async (document, requests) => {
        const limiter = limiterOf(document)
        for (const request of requests) {
          const { applied, setAside, decision } = await limiter.explain(request)
          const oracle = whichApply(document, request)
          expect(applied.map(({ rule }) => rule)).toEqual(decision.limits.map(({ rule }) => rule))
          expect(new Map(applied.map(({ rule, limits }) => [rule, limits.join()]))).toEqual(
            oracle.applied,
          )
          for (const { why } of applied) expect(why).not.toBe('')
          expect(setAside.map(({ rule }) => rule).sort()).toEqual(
            [...oracle.setAside.keys()].sort(),
          )
          for (const { rule, by, why } of setAside) {
            const expected = oracle.setAside.get(rule)!
            if (expected.by !== '') expect(by, why).toBe(expected.by)
            expect(why).toContain(expected.word)
          }
        }
      }),
      { numRuns: 300 },
    )
  })

  it('hold no family twice, and are in the order of the document', async () => {
    await fc.assert(
      fc.asyncProperty(documents, requests, async (document, request) => {
        const { limits } = await limiterOf(document).check(request)
        const families = limits.map(({ rule }) => rule.split('@')[0]!)
        expect(families).toEqual([...new Set(families)])
        const order = [
          ...Object.keys(document.rules!).map((name) => name.split('@')[0]!),
          'default',
        ]
        const places = families.map((family) => order.indexOf(family))
        expect(places).toEqual([...places].sort((a, b) => a - b))
      }),
      { numRuns: 300 },
    )
  })
})
