import type { RulesDocument, Slices } from '@sluice/limiter'
import { describe, expect, it } from 'vitest'
import { type Content, contentOf } from './content.js'
import { documentOf } from './print-document.js'
import { jsonTexts, TooDeep } from './print-json.js'

/** What it ends in, and how often it may be interrupted before. */
function run<T>(slices: Slices<T>): { value: T; yields: number } {
  for (let yields = 0; ; yields++) {
    const step = slices.next()
    if (step.done === true) return { value: step.value, yields }
  }
}

const MANY = 2000
const times = <T>(make: (i: number) => T) => Array.from({ length: MANY }, (_, i) => make(i))
const name = (i: number) => String((i * 7919) % MANY).padStart(5, '0')

const LARGE = {
  version: 1,
  namespace: 'large',
  tiers: { pro: times((i) => `user:${name(i)}`) },
  rules: Object.fromEntries(
    times((i) => [`r${i}`, { scope: 'user', resource: `/${i}`, limits: ['1/s'] }]),
  ),
  overrides: times((i) => ({ scope: 'user', value: name(i), rule: 'r1', limits: ['2/s'] })),
  costs: Object.fromEntries(times((i) => [`/${name(i)}`, { requests: 1 }])),
  exemptions: times((i) => `user:e${name(i)}`),
  blocks: times((i) => `user:b${name(i)}`),
}

const content = contentOf(LARGE as RulesDocument) as Content

describe('documents', () => {
  it('are put together a few items at a time, sorted where nothing has an order', () => {
    const { value, yields } = run(documentOf('large', content))
    expect(value.rules).toEqual(LARGE.rules)
    expect(Object.keys(value.rules!)).toEqual(Object.keys(LARGE.rules))
    expect(value.tiers!['pro']).toEqual(LARGE.tiers.pro.toSorted())
    expect(value.exemptions).toEqual(LARGE.exemptions.toSorted())
    expect(value.blocks).toEqual(LARGE.blocks.toSorted())
    expect(value.overrides!.map((one) => one.value)).toEqual(times(name).toSorted())
    expect(Object.keys(value.costs!)).toEqual(Object.keys(LARGE.costs).toSorted())
    // Each of six lists, a hundred items at a time, and most of them more than once.
    expect(yields).toBeGreaterThan((6 * MANY) / 100)
  })

  it('have very many tiers of one rule in it', () => {
    const tiers = Object.fromEntries(times((i) => [`t${i}`, ['1/s']]))
    const rules = { a: { scope: 'user', limits: ['1/s'], tiers } }
    const stored = contentOf({ rules } as unknown as RulesDocument) as Content
    expect(run(documentOf('default', stored)).value.rules).toEqual(rules)
  })

  it('are printed a few items at a time, as they would be at once', () => {
    const { value, yields } = run(jsonTexts(LARGE))
    expect(value.join('')).toBe(JSON.stringify(LARGE))
    expect(yields).toBeGreaterThanOrEqual((6 * MANY) / 100)
    expect(Math.max(...value.map((text) => text.length))).toBeLessThan(200)
    const odd = [
      null,
      {},
      [],
      { a: undefined, b: [undefined, null] },
      [[], {}],
      JSON.parse('{"__proto__":{"__proto__":[1]},"2":{"1":0}}'),
      'x',
      1.5,
    ]
    for (const one of odd) expect(run(jsonTexts(one)).value.join('')).toBe(JSON.stringify(one))
  })

  it('are not printed where they are nested very deep', () => {
    const deep: unknown = JSON.parse(`${'['.repeat(100_000)}${']'.repeat(100_000)}`)
    expect(() => run(jsonTexts({ rules: { a: deep } }))).toThrow(TooDeep)
  })
})
