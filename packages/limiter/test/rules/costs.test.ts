/** What a request costs, and that rules which were accepted can admit every cost they set. */
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createLimiter, type Request, RuleSet, type RulesDocument } from '../../src/index.js'
import { type Draft, named } from './documents.js'
import { costsOf, whichApply } from './oracle.js'

const RESOURCES = ['/a', '/a/b', '/a/c', '/c/b', '/c/d', '/a/b/c', 'name', '/']
const PATTERNS = ['*', '/*', '/a', '/a/*', '/a/b', '/a/:x', '/:y/b', '/:y/:x']

const bursts = fc.constantFrom('5/h', '30/h', '30/h', '30/h')
const rules = fc
  .array(
    fc.record({
      name: fc.constant(''),
      scope: fc.constantFrom('user', 'user', 'global'),
      resource: fc.constantFrom(...PATTERNS),
      methods: fc.constantFrom(undefined, undefined, ['GET'], ['GET', 'POST']),
      tier: fc.constantFrom(undefined, undefined, 'pro'),
      value: fc.constantFrom(undefined, undefined, 'ada'),
      unit: fc.constantFrom(undefined, undefined, 'tokens'),
      limits: bursts,
      additive: fc.nat(4).map((n) => n === 0),
      shadow: fc.nat(4).map((n) => n === 0),
      enabled: fc.nat(6).map((n) => n > 0),
      joins: fc.constant(false),
    }),
    { maxLength: 6 },
  )
  .map((drafts) => named(drafts.map(present)))
const costs = fc.dictionary(
  fc
    .tuple(fc.constantFrom('', '', 'GET ', 'POST '), fc.constantFrom(...PATTERNS))
    .map((p) => p.join('')),
  fc.constantFrom(2, 20, { tokens: 20 }, { tokens: 3, requests: 3 }),
  { maxKeys: 4 },
)

/** Without the fields that are undefined, and without a value for everybody. */
function present(draft: object): Draft & { joins: boolean } {
  const fields = Object.entries(draft).filter(
    ([key, value]) =>
      value !== undefined && (key !== 'value' || !('scope' in draft && draft.scope === 'global')),
  )
  return Object.fromEntries(fields) as unknown as Draft & { joins: boolean }
}

const documents = fc
  .record({ drafts: rules, costs, fallback: fc.option(bursts) })
  .map(({ drafts, costs, fallback }) => ({
    drafts,
    rules: Object.fromEntries(drafts.map(({ name, ...rule }) => [name, rule])),
    costs,
    ...(fallback === null ? {} : { default_rule: { scope: 'user', limits: fallback } }),
  }))

function* everyRequest(): IterableIterator<Request> {
  for (const resource of RESOURCES) {
    for (const method of ['GET', 'POST', 'HEAD']) {
      for (const subject of [{}, { user: 'ada' }, { user: 'zoe' }]) {
        yield { subject, resource, method }
        yield { subject, resource, method, tier: 'pro' }
      }
    }
  }
}

function compiles({ drafts: _drafts, ...document }: RulesDocument & { drafts: unknown }): boolean {
  try {
    return RuleSet.compile(document) !== undefined
  } catch {
    return false
  }
}

function everyRequestCanPass(document: RulesDocument & { drafts: readonly Draft[] }): boolean {
  const units = new Map(document.drafts.map(({ name, unit }) => [name, unit ?? 'requests']))
  return [...everyRequest()].every((request) => {
    const cost = costsOf(document, request)
    return [...whichApply(document, request).applied].every(
      ([name, limits]) => cost[units.get(name) ?? 'requests']! <= Number.parseInt(limits, 10),
    )
  })
}

describe('the table of costs', () => {
  it('is refused where some request could never pass', () => {
    fc.assert(
      fc.property(documents, (document) => {
        expect(compiles({ ...document, costs: {} })).toBe(true)
        if (!everyRequestCanPass(document)) expect(compiles(document)).toBe(false)
      }),
      { numRuns: 400 },
    )
  })

  it('is accepted where every request can pass', () => {
    fc.assert(
      fc.property(documents, (document) => {
        if (everyRequestCanPass(document)) expect(compiles(document)).toBe(true)
      }),
      { numRuns: 400 },
    )
  })

  it('says what a request costs that does not say it', async () => {
    await fc.assert(
      fc.asyncProperty(costs, async (costs) => {
        const limiter = createLimiter({ rules: {}, costs })
        for (const request of everyRequest()) {
          const { cost } = await limiter.explain(request)
          expect(cost).toEqual(costsOf({ costs }, request))
        }
      }),
      { numRuns: 80 },
    )
  })

  it('yields to the request, unit by unit', async () => {
    const limiter = createLimiter({
      rules: {
        all: { scope: 'user', limits: '1000/h' },
        llm: { scope: 'user', additive: true, unit: 'tokens', limits: '1000/h' },
      },
      costs: { '/x': { requests: 5, tokens: 70 }, '/y': 9 },
      clock: () => 0,
    })
    const left = async (request: Request<'user'>) => {
      const subject = { user: `${Math.random()}` }
      const { limits } = await limiter.check({ ...request, subject })
      return limits.map(({ remaining }) => 1000 - remaining!)
    }
    expect(await left({ resource: '/x' })).toEqual([5, 70])
    expect(await left({ resource: '/x', cost: 2 })).toEqual([2, 70])
    expect(await left({ resource: '/x', costs: { tokens: 3 } })).toEqual([5, 3])
    expect(await left({ resource: '/x', cost: 2, costs: { tokens: 3 } })).toEqual([2, 3])
    expect(await left({ resource: '/x', costs: { requests: 4 } })).toEqual([4, 70])
    expect(await left({ resource: '/y' })).toEqual([9])
    expect(await left({ resource: '/y', costs: { tokens: 3 } })).toEqual([9, 3])
    expect(await left({ resource: '/z', costs: { bytes: 3 } })).toEqual([1])
  })

  it('is told apart however its resources are spelled', async () => {
    const costs = { '/z/b': 5, '/z/:q': 3, '/z/b,/z/:q': 7 }
    const limiter = createLimiter({ rules: {}, costs })
    const costAt = async (resource: string) => (await limiter.explain({ resource })).cost
    expect(await costAt('/z/b')).toEqual({ requests: 5 })
    expect(await costAt('/z/b,/z/9')).toEqual({ requests: 7 })
    expect(await costAt('/z/9')).toEqual({ requests: 3 })
  })

  it('takes a unit of any name', async () => {
    const limiter = createLimiter({
      rules: { a: { scope: 'user', unit: 'constructor', limits: '10/s' } },
      costs: { '*': { constructor: 2 } },
      clock: () => 0,
    })
    const decision = await limiter.check({ subject: { user: 'ada' }, costs: { tokens: 1 } })
    expect(decision).toMatchObject({ allowed: true, limit: 10, remaining: 8 })
    expect(await limiter.refund(decision, { constructor: 1 })).toEqual({ constructor: 1 })
    const call = await limiter.reserve({ subject: { user: 'bob' }, costs: { constructor: 4 } })
    expect(await call.settle({ constructor: 1 })).toEqual({
      givenBack: { constructor: 3 },
      taken: {},
    })
  })
})
