/** Any value at all as a request is decided or refused, and asking for ever new resources costs no memory. */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createLimiter, type Request } from './index.js'
import { REQUEST_NAMES } from './request.js'

function limiterOf() {
  return createLimiter({
    rules: {
      all: { scope: 'global', limits: '1000000/h' },
      users: { scope: 'user', limits: '1000000/h', tiers: { pro: '1000000/h' } },
      addresses: { scope: 'ip', value: '10.0.0.0/8', limits: '1000000/h' },
      chats: { scope: 'org', unit: 'tokens', limits: '1000000/h' },
    },
    costs: { '/a/:id': 2, '*': { tokens: 1 } },
    clock: () => 1_000_000_000,
  })
}

describe('any request whatever', () => {
  const anything = fc.anything({
    withBigInt: true,
    withBoxedValues: true,
    withDate: true,
    withMap: true,
    withNullPrototype: true,
    withObjectString: true,
    withSet: true,
    withSparseArray: true,
    withTypedArray: true,
  })
  const scopes = fc.constantFrom('user', 'ip', 'org', 'global', 'usr', '__proto__', 'constructor')
  const shaped = fc.oneof(
    fc.dictionary(fc.constantFrom(...REQUEST_NAMES), anything),
    fc.record({
      subject: fc.dictionary(scopes, fc.oneof(fc.string({ unit: 'binary' }), fc.ipV6(), anything)),
      resource: fc.oneof(fc.string({ unit: 'binary' }), fc.webPath()),
    }),
    fc.record({
      costs: fc.dictionary(fc.string({ maxLength: 4 }), fc.oneof(fc.integer(), anything)),
    }),
  )

  it('is decided, or refused as a bad request', async () => {
    const limiter = limiterOf()
    const asks = ['check', 'peek', 'explain', 'reserve', 'refund'] as const
    await fc.assert(
      fc.asyncProperty(fc.oneof(anything, shaped), async (request) => {
        for (const ask of asks) {
          const answer = await (limiter[ask](request as never) as Promise<unknown>).catch(
            (error) => error,
          )
          if (!(answer instanceof Error)) expect(answer).toBeTypeOf('object')
          else
            expect(answer, ask).toMatchObject({
              name: 'SluiceError',
              code: expect.stringMatching(/^(bad_request|idempotency_conflict)$/),
            })
        }
      }),
      { numRuns: 1500 },
    )
    const after = await limiter.peek({})
    expect(after.allowed).toBe(true)
    expect(after.remaining).toBeLessThanOrEqual(1_000_000)
  })
})

describe('memory', () => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void

  function heapMb(): number {
    collect()
    return process.memoryUsage().heapUsed / 1_000_000
  }

  /** What the second half of so many requests leaves behind. */
  function growthMb(count: number, ask: (i: number) => void): number {
    for (let i = 0; i < count / 2; i++) ask(i)
    const before = heapMb()
    for (let i = count / 2; i < count; i++) ask(i)
    return heapMb() - before
  }

  it('does not grow with the resources and methods that are asked for', () => {
    const limiter = createLimiter({
      rules: {
        all: { scope: 'user', limits: '1000000/s' },
        gets: { scope: 'user', resource: 'GET /items/:id', limits: '1000000/s' },
        posts: {
          scope: 'user',
          resource: '/items/*',
          methods: ['POST', 'PUT'],
          limits: '1000000/s',
        },
      },
      costs: { '/items/:id/x': 2 },
    })
    const letters = (i: number) => i.toString(26).replace(/\d/g, (d) => 'qrstuvwxyz'[Number(d)]!)
    const subject = { user: 'ada' }
    const grown = growthMb(200_000, (i) => {
      const resource = `/items/${i}-${'x'.repeat(60)}?q=${i}`
      limiter.checkSync({ subject, resource, method: letters(i), tier: letters(i) })
    })
    expect(grown).toBeLessThan(5)
  })

  it('does not grow with refusals', () => {
    const limiter = createLimiter('1000000/s')
    const grown = growthMb(20_000, (i) => {
      const bad = { subject: { [`scope_${i}`]: 'x' }, resource: `/${i}` } as Request<'key'>
      expect(() => limiter.checkSync(bad)).toThrow('is not a scope')
    })
    expect(grown).toBeLessThan(2)
  })

  it('does not grow with the combinations of patterns', () => {
    const segments = Array.from({ length: 17 }, (_, i) => i)
    const rules = segments.map((at) => [
      `r${at}`,
      {
        scope: 'user',
        additive: true,
        resource: `/${segments.map((i) => (i === at ? 'a' : ':x')).join('/')}`,
        limits: '1000000/s',
      } as const,
    ])
    const limiter = createLimiter({ rules: Object.fromEntries(rules), clock: () => 0 })
    const grown = growthMb(60_000, (n) => {
      const path = segments.map((i) => ((n >> i) & 1 ? 'a' : 'b')).join('/')
      const decision = limiter.checkSync({ subject: { user: 'ada' }, resource: `/${path}` })
      if (n % 97 !== 0) return
      const applied = decision.limits.map(({ rule }) => Number(rule.slice(1)))
      expect(applied).toEqual(segments.filter((i) => (n >> i) & 1))
    })
    expect(grown).toBeLessThan(25)
  })
})
