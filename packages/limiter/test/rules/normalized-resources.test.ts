/** Resources that are spelled differently and mean the same are limited together, where they are normalised. */
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  createLimiter,
  inSlices,
  type Request,
  RuleSet,
  type RulesDocument,
  SluiceError,
} from '../../src/index.js'
import { documents, NOW_MS, requests } from './documents.js'
import { whichApply } from './oracle.js'

const login = (resource: string, more: object = {}): RulesDocument => ({
  rules: { login: { scope: 'user', resource, limits: '3/h', ...more } },
})
const SPELLINGS = ['/api/login', '/api/%6cogin', '//api/login', '/api/./login', '/x/../api/login']

function ruleFor(document: RulesDocument, resource: string, more: Partial<Request> = {}) {
  const limiter = createLimiter({ rules: RuleSet.compile(document) })
  return limiter.checkSync({ subject: { user: 'ada' }, resource, ...more }).rule
}

function faultsOf(document: RulesDocument): string[] {
  try {
    RuleSet.compile(document)
    return []
  } catch (error) {
    return (error as SluiceError).faults.map(({ path, message }) => `${path}: ${message}`)
  }
}

describe('a request whose resource is normalised', () => {
  it.each(SPELLINGS)('is limited however it is spelled: %s', (resource) => {
    expect(ruleFor(login('/api/login'), resource, { normalize: true })).toBe('login')
  })

  it('shares the counters of all other spellings', () => {
    const limiter = createLimiter({ rules: RuleSet.compile(login('/api/login')) })
    const allowed = SPELLINGS.map(
      (resource) =>
        limiter.checkSync({ subject: { user: 'ada' }, resource, normalize: true }).allowed,
    )
    expect(allowed).toEqual([true, true, true, false, false])
  })

  it('is compared with patterns that are normalised too', () => {
    for (const pattern of SPELLINGS)
      expect(ruleFor(login(pattern), '/api/login', { normalize: true })).toBe('login')
    expect(ruleFor(login('/api/:id/'), '/api//7', { normalize: true })).toBe('login')
    expect(ruleFor(login('/%61pi/*'), '/api/7/8', { normalize: true })).toBe('login')
  })

  it('is charged by costs that are normalised too', async () => {
    const limiter = createLimiter({
      rules: RuleSet.compile({ ...login('/api/*'), costs: { 'GET /%61pi/login/': 2 } }),
    })
    const asked = { subject: { user: 'ada' }, resource: '/api//login', method: 'GET' }
    expect((await limiter.explain({ ...asked, normalize: true })).cost).toEqual({ requests: 2 })
    expect((await limiter.explain(asked)).cost).toEqual({ requests: 1 })
  })

  it('is charged by the first cost of several that name its method, as any other is', async () => {
    const costs = { 'GET /a': 1, 'GET|HEAD /a': 3, '/b/': 2 }
    const limiter = createLimiter({ rules: RuleSet.compile({ ...login('/a'), costs }) })
    const asked = { subject: { user: 'ada' }, resource: '/a', method: 'GET' }
    for (const normalize of [false, true])
      expect((await limiter.explain({ ...asked, normalize })).cost).toEqual({ requests: 1 })
  })

  it('has its idempotency key for every spelling', () => {
    const limiter = createLimiter({ rules: RuleSet.compile(login('/api/login')) })
    const asked = SPELLINGS.map((resource) =>
      limiter.checkSync({
        subject: { user: 'ada' },
        resource,
        normalize: true,
        idempotencyKey: 'k',
      }),
    )
    expect(asked.map(({ remaining, replayed }) => [remaining, replayed])).toEqual([
      [2, false],
      ...Array.from({ length: 4 }, () => [2, true]),
    ])
  })

  it('is explained with the resource that was compared', async () => {
    const limiter = createLimiter({ rules: RuleSet.compile(login('/api/login')) })
    const asked = { subject: { user: 'ada' }, resource: '/api/%6cogin?x=1' }
    const normalized = await limiter.explain({ ...asked, normalize: true })
    expect([normalized.resource, normalized.isNormalized]).toEqual(['/api/login', true])
    expect(normalized.applied.map(({ rule }) => rule)).toEqual(['login'])
    const written = await limiter.explain(asked)
    expect([written.resource, written.isNormalized]).toEqual(['/api/%6cogin', false])
    expect(written.applied).toEqual([])
  })

  it('is not refused for the length of its query', () => {
    const long = `/api/login?${'x'.repeat(3000)}`
    expect(ruleFor(login('/api/login'), long, { normalize: true })).toBe('login')
    expect(() => ruleFor(login('/a'), `/${'x'.repeat(2048)}`, { normalize: true })).toThrow(
      'resource is longer than 2048 characters',
    )
  })

  it('must be asked for with true or false', () => {
    const normalize = 'yes' as unknown as boolean
    expect(() => ruleFor(login('/a'), '/a', { normalize })).toThrow(
      'normalize is "yes"; expected true or false',
    )
  })
})

describe('a request that does not say', () => {
  it.each<[string, RulesDocument['normalize'] | undefined, boolean]>([
    ['without a word', undefined, false],
    ['with nothing in it', {}, false],
    ['with checks: on', { checks: 'on' }, true],
    ['with checks: true', { checks: true }, true],
    ['with checks: off', { checks: 'off' }, false],
    ['with fold_case: on', { fold_case: 'on' }, true],
    ['with fold_case: off', { fold_case: 'off' }, false],
    ['with trailing_slash: keep', { trailing_slash: 'keep' }, true],
    ['with trailing_slash: drop', { trailing_slash: 'drop' }, true],
    ['with fold_case: on and checks: off', { fold_case: 'on', checks: 'off' }, false],
  ])('is as the document says: %s', (_, normalize, isNormalized) => {
    const document = { ...login('/api/login'), ...(normalize === undefined ? {} : { normalize }) }
    expect(ruleFor(document, '/api/%6cogin') === 'login').toBe(isNormalized)
    expect(ruleFor(document, '/api/%6cogin', { normalize: true })).toBe('login')
    expect(ruleFor(document, '/api/%6cogin', { normalize: false })).toBeNull()
  })

  it('is compared with patterns as they are written, where it is not normalised', () => {
    expect(ruleFor(login('/api/%6cogin'), '/api/%6cogin')).toBe('login')
    expect(ruleFor(login('/api/%6cogin'), '/api/login')).toBeNull()
    expect(ruleFor(login('/a/'), '/a/')).toBe('login')
    expect(ruleFor(login('/a/'), '/a')).toBeNull()
  })
})

describe('slashes at the end, and case', () => {
  it('are dropped and kept unless the document says otherwise', () => {
    const asked = { normalize: true }
    const keep = { ...login('/A/'), normalize: { trailing_slash: 'keep' } as const }
    const fold = { ...login('/A/'), normalize: { fold_case: 'on' } as const }
    const of = (document: RulesDocument) =>
      ['/A', '/A/', '/a', '/a/'].map((resource) => ruleFor(document, resource, asked) === 'login')
    expect(of(login('/A/'))).toEqual([true, true, false, false])
    expect(of(keep)).toEqual([false, true, false, false])
    expect(of(fold)).toEqual([true, true, true, true])
  })
})

describe('what is wrong under normalize', () => {
  it('is said with its place', () => {
    const normalize = { check: 'on', fold_case: 'yes', trailing_slash: 'dorp' } as object
    expect(faultsOf({ normalize })).toEqual([
      'normalize: unknown field "check" in normalize; did you mean "checks"?',
      'normalize.trailing_slash: unknown trailing_slash "dorp"',
      'normalize.fold_case: "yes" is not on or off',
    ])
    expect(faultsOf({ normalize: 'on' as unknown as object })).toEqual([
      'normalize: "on" is not an object such as { checks: on, trailing_slash: keep }',
    ])
  })

  it('is two rules that become one', () => {
    const rule = { scope: 'user', limits: '1/s' } as const
    const twins = (a: string, b: string, more: object = {}) =>
      faultsOf({
        rules: { a: { ...rule, resource: a }, b: { ...rule, resource: b, ...more } },
      })
    expect(twins('/a', '/%61/')).toEqual([
      'rules.b: governs the same requests as a once resources are normalised: "/%61/" and "/a" are one; put the limits into one rule, or make one additive',
    ])
    expect(twins('/a//:x', '/a/:y')).toHaveLength(1)
    expect(twins('/a', '/a/', { additive: true })).toEqual([])
    expect(twins('/a', '/a/', { enabled: false })).toEqual([])
    expect(twins('/a', '/a/', { methods: 'GET' })).toEqual([])
    expect(twins('/a', '/A')).toEqual([])
    expect(twins('a', 'a/')).toEqual([])
  })

  it('is judged by the settings of the document', () => {
    const rules = (a: string, b: string) => ({
      a: { scope: 'user', limits: '1/s' as const, resource: a },
      b: { scope: 'user', limits: '1/s' as const, resource: b },
    })
    const keep = { trailing_slash: 'keep' } as const
    expect(faultsOf({ rules: rules('/a', '/a/'), normalize: keep })).toEqual([])
    expect(faultsOf({ rules: rules('/a', '/A'), normalize: { fold_case: 'on' } })).toHaveLength(1)
  })

  it('is a cost that no rule it meets by normalising admits', () => {
    expect(faultsOf({ ...login('/api/login'), costs: { '/api//login': 4 } })).toEqual([
      'costs./api//login: costs 4 requests, and login (3/h) never admits more than 3 at once',
    ])
  })

  it('is a warning for costs that become one, of which the higher is charged', async () => {
    for (const costs of [
      { '/a': 2, '/a/': 3 },
      { '/a/': 3, '/a': 2 },
    ]) {
      const rules = RuleSet.compile({ ...login('/a'), costs })
      expect(rules.warnings).toEqual([
        expect.stringMatching(
          /^costs\.\/a\/?: is the same as \/a\/? once resources are normalised/,
        ),
      ])
      const limiter = createLimiter({ rules })
      const cost = async (resource: string, normalize: boolean) =>
        (await limiter.explain({ subject: { user: 'ada' }, resource, normalize })).cost['requests']
      expect([await cost('/a', true), await cost('/a', false), await cost('/a/', false)]).toEqual([
        3, 2, 3,
      ])
    }
  })
})

/** The same path, spelled otherwise. */
const respell = (resource: string, choices: readonly number[]): string => {
  if (!resource.startsWith('/')) return resource
  const [path, query] = resource.split('?') as [string, string?]
  const segments = path.split('/').slice(1)
  const spelled = segments.map((segment, i) => {
    const choice = choices[i % choices.length]!
    const slash = ['/', '//', '/./', '/q/../', '/%2E/'][choice % 5]!
    if (!/^[a-z]+$/.test(segment)) return `${slash}${segment}`
    return `${slash}${choice % 2 === 0 ? segment : `%${segment.charCodeAt(0).toString(16)}${segment.slice(1)}`}`
  })
  return `${spelled.join('')}${query === undefined ? '' : `?${query}`}`
}

const choices = fc.array(fc.nat(100), { minLength: 1, maxLength: 6 })

describe('rules whose patterns are spelled anyhow', () => {
  it('apply to normalised requests as plain ones do, and cost the same', async () => {
    await fc.assert(
      fc.asyncProperty(documents, requests, choices, choices, async (document, request, a, b) => {
        const { drafts: _drafts, ...plain } = document
        const rules = Object.entries(plain.rules ?? {}).map(([name, rule], i) => [
          name,
          rule.resource === undefined
            ? rule
            : { ...rule, resource: respell(rule.resource, [...a.slice(i % a.length), ...a]) },
        ])
        const costs = Object.fromEntries(
          Object.entries(plain.costs ?? {}).map(([key, cost]) => {
            const [resource, method] = key.split(' ').toReversed() as [string, string?]
            const spelled = respell(resource, a)
            return [method === undefined ? spelled : `${method} ${spelled}`, cost]
          }),
        )
        const limiter = createLimiter({
          rules: RuleSet.compile({ ...plain, rules: Object.fromEntries(rules), costs }),
          clock: () => NOW_MS,
        })
        const asked = {
          ...request,
          ...(request.resource === undefined ? {} : { resource: respell(request.resource, b) }),
          normalize: true,
        }
        const { applied, cost } = await limiter.explain(asked)
        expect(new Map(applied.map(({ rule, limits }) => [rule, limits.join()]))).toEqual(
          whichApply(document, request).applied,
        )
        const asWritten = createLimiter({ rules: RuleSet.compile(plain), clock: () => NOW_MS })
        expect(cost).toEqual((await asWritten.explain(request)).cost)
      }),
      { numRuns: 500 },
    )
  })

  it('are found by a set that takes over from one before, as by one made from nothing', async () => {
    const of = (resources: readonly string[]) =>
      RuleSet.compile({
        rules: Object.fromEntries(
          resources.map((resource, i) => [
            `r${i}`,
            { scope: 'user', resource, limits: '1/s' as const, additive: true },
          ]),
        ),
      }).book
    const resources = fc.array(
      fc.constantFrom('/a', '/a/', '//a', '/%61/b', '/a/b', '/a/*', '/:x'),
      {
        minLength: 1,
        maxLength: 8,
      },
    )
    await fc.assert(
      fc.asyncProperty(resources, resources, async (first, second) => {
        const before = await inSlices(RuleSet.assemble(of(first)))
        // Rules that are the same are the same objects, as the feed has them.
        const { rules, ...rest } = of(second)
        const known = new Map(before.book.rules.map((rule) => [rule.name, rule]))
        const kept = rules.map((rule) =>
          known.get(rule.name)?.resource === rule.resource ? known.get(rule.name)! : rule,
        )
        const after = await inSlices(RuleSet.assemble({ ...rest, rules: kept }, before))
        const anew = await inSlices(RuleSet.assemble(of(second)))
        for (const resource of ['/a', '/a/b', '/b', '/%61'])
          for (const normalize of [true, false]) {
            const asked = { subject: { user: 'ada' }, resource, normalize }
            const [x, y] = await Promise.all(
              [after, anew].map((set) => createLimiter({ rules: set }).explain(asked)),
            )
            expect(x!.applied).toEqual(y!.applied)
          }
      }),
      { numRuns: 200 },
    )
  })
})
