/** Requests at the edge: what is wrong is refused, with the field that is wrong, before anything is counted. */
import { describe, expect, it } from 'vitest'
import { createLimiter, type Limiter, type Request, SluiceError } from './index.js'

const MANY = Array.from({ length: 40 }, (_, i) => `scope_${i}`)

function limiterOf(): Limiter {
  return createLimiter({
    rules: {
      all: { scope: 'global', limits: '1000000/h' },
      users: { scope: 'user', limits: '1000000/h', tiers: { pro: '1000000/h' } },
      addresses: { scope: 'ip', value: '10.0.0.0/8', limits: '1000000/h' },
      chats: { scope: 'org', unit: 'tokens', limits: '1000000/h' },
    },
    scopes: MANY,
    costs: { '/a/:id': 2, '*': { tokens: 1 } },
    clock: () => 1_000_000_000,
  })
}

async function errorOf(limiter: Limiter, request: unknown): Promise<SluiceError> {
  const decision = await limiter.check(request as Request).catch((error: unknown) => error)
  if (decision instanceof SluiceError) return decision
  throw new Error(`not refused as it must be: ${String(decision)}`)
}

const good = { subject: { user: 'ada' }, resource: '/x' }
const ofEach = (names: readonly string[], value: unknown) =>
  Object.fromEntries(names.map((name) => [name, value]))
const user = (value: unknown) => ({ ...good, subject: { user: value } })

describe('a bad request', () => {
  const WHOLE = 'expected a whole number from 1 to 100000'
  const UNITS = 'expected a whole number from 1 to 1000000000'
  const OBJECT = 'expected an object such as { user: "ada" }'
  const COSTS = 'expected an object such as { tokens: 1500 }'
  const ADDRESS = 'expected an IPv4 or IPv6 address'

  it.each<[field: string, said: string, request: unknown]>([
    ['request', 'is null; expected an object', null],
    ['request', 'is undefined; expected an object', undefined],
    ['request', 'is "user:ada"; expected an object', 'user:ada'],
    ['request', 'is []; expected an object', []],
    ['request', 'is function; expected an object', () => good],
    ['subjct', 'is unknown; did you mean "subject"?', { subjct: {} }],
    ['dry_run', 'is unknown; did you mean "dryRun"?', { ...good, dry_run: true }],
    ['extra', 'is unknown', { ...good, extra: undefined }],
    ['subject', `is null; ${OBJECT}`, { subject: null }],
    ['subject', `is "ada"; ${OBJECT}`, { subject: 'ada' }],
    ['subject', `is ["ada"]; ${OBJECT}`, { subject: ['ada'] }],
    ['subject', 'has more than 32 scopes', { subject: ofEach(MANY, 'x') }],
    ['subject.user', 'is empty', user('')],
    ['subject.user', 'holds control characters', user('a\nb')],
    ['subject.user', 'holds control characters', user('\u007f')],
    ['subject.user', 'holds half a surrogate pair', user('\ud800x')],
    ['subject.user', 'holds half a surrogate pair', user('x\udc00')],
    ['subject.user', 'is longer than 1024 characters', user('x'.repeat(1025))],
    ['subject.user', 'is 42; expected a text', user(42)],
    ['subject.user', 'is null; expected a text', user(null)],
    ['subject.user', 'is {"id":1}; expected a text', user({ id: 1 })],
    ['subject.global', 'is always present and has no value', { subject: { global: 'x' } }],
    ['subject.ip', `is "10.0.0.256"; ${ADDRESS}`, { subject: { ip: '10.0.0.256' } }],
    ['subject.ip', `is "10.0.0.0/8"; ${ADDRESS}`, { subject: { ip: '10.0.0.0/8' } }],
    ['resource', 'is 5; expected a text', { ...good, resource: 5 }],
    ['resource', 'is null; expected a text', { ...good, resource: null }],
    ['resource', 'holds control characters', { ...good, resource: '/b\u0000' }],
    ['resource', 'holds control characters', { ...good, resource: '/a/\u0000' }],
    ['resource', 'holds control characters', { ...good, resource: '\u0000' }],
    ['resource', 'is longer than 2048 characters', { ...good, resource: 'x'.repeat(2049) }],
    ['method', 'is "GET /"; expected a method such as GET', { ...good, method: 'GET /' }],
    ['method', 'is ""; expected a method such as GET', { ...good, method: '' }],
    ['method', 'is 5; expected a method such as GET', { ...good, method: 5 }],
    ['tier', 'is ""; expected a tier\'s name', { ...good, tier: '' }],
    ['tier', "is null; expected a tier's name", { ...good, tier: null }],
    ['cost', `is 0; ${WHOLE}`, { ...good, cost: 0 }],
    ['cost', `is -1; ${WHOLE}`, { ...good, cost: -1 }],
    ['cost', `is 1.5; ${WHOLE}`, { ...good, cost: 1.5 }],
    ['cost', `is 100001; ${WHOLE}`, { ...good, cost: 100_001 }],
    ['cost', `is NaN; ${WHOLE}`, { ...good, cost: Number.NaN }],
    ['cost', `is "1"; ${WHOLE}`, { ...good, cost: '1' }],
    ['cost', `is 1n; ${WHOLE}`, { ...good, cost: 1n }],
    ['costs', `is 5; ${COSTS}`, { ...good, costs: 5 }],
    ['costs', `is [5]; ${COSTS}`, { ...good, costs: [5] }],
    ['costs', 'has "Tokens", which is not a unit\'s name', { ...good, costs: { Tokens: 1 } }],
    ['costs', 'has more than 16 units', { ...good, costs: ofEach(MANY, 1) }],
    ['costs.tokens', `is 0; ${UNITS}`, { ...good, costs: { tokens: 0 } }],
    ['costs.tokens', `is 1000000001; ${UNITS}`, { ...good, costs: { tokens: 1e9 + 1 } }],
    [
      'costs.requests',
      'is 2, and cost is 1; give one of them',
      { ...good, cost: 1, costs: { requests: 2 } },
    ],
    ['dryRun', 'is 1; expected true or false', { ...good, dryRun: 1 }],
    ['idempotencyKey', 'is empty', { ...good, idempotencyKey: '' }],
    ['idempotencyKey', 'is longer than 255 characters', { idempotencyKey: 'k'.repeat(256) }],
    ['holdId', 'is 7; expected a text', { ...good, holdId: 7 }],
    ['holdId', 'holds control characters', { ...good, holdId: 'a\u0001' }],
    ['signal', 'is {}; expected an AbortSignal', { ...good, signal: {} }],
    ['signal', 'is null; expected an AbortSignal', { ...good, signal: null }],
  ])('is refused, and nothing is counted: %s %s', async (field, said, request) => {
    const limiter = limiterOf()
    const message = `${field} ${said}`
    expect(await errorOf(limiter, request)).toMatchObject({ code: 'bad_request', field, message })
    const { limits } = await limiter.peek(good)
    expect(limits.map(({ remaining }) => remaining)).toEqual([1_000_000, 1_000_000])
  })

  it('is one with any control character, wherever it is', async () => {
    const limiter = limiterOf()
    const codes = [...Array.from({ length: 32 }, (_, i) => i), 127]
    for (const text of codes.map((code) => `a${String.fromCharCode(code)}b`)) {
      const said = { message: expect.stringContaining('holds control characters') as string }
      expect(await errorOf(limiter, user(text))).toMatchObject(said)
      expect(await errorOf(limiter, { resource: text })).toMatchObject(said)
      expect(await errorOf(limiter, { idempotencyKey: text })).toMatchObject(said)
    }
  })

  it('with an unknown scope is told those that are known, and the nearest', async () => {
    const limiter = createLimiter({ rules: { teams: { scope: 'team', limits: '10/s' } } })
    const error = await errorOf(limiter, { subject: { usr: 'ada' } })
    expect(error).toMatchObject({
      code: 'bad_request',
      field: 'subject.usr',
      message:
        'subject.usr is not a scope of the rules; expected user, api_key, ip, org or team; did you mean "user"?',
    })
    const long = { subject: { ['x'.repeat(100_000)]: 'a' } }
    expect((await errorOf(limiter, long)).message.length).toBeLessThan(300)
  })

  it('is one to whatever is asked of it', async () => {
    const limiter = limiterOf()
    const asks = [
      'check',
      'peek',
      'explain',
      'reserve',
      'hold',
      'refund',
      'renew',
      'release',
    ] as const
    for (const ask of asks) {
      for (const request of [null, undefined, 5, 'ada', [], true]) {
        const answer: Promise<unknown> = limiter[ask](request as never)
        await expect(answer, `${ask} ${String(request)}`).rejects.toMatchObject({
          code: 'bad_request',
          field: 'request',
        })
      }
    }
    expect(() => limiter.checkSync(null as never)).toThrow(SluiceError)
  })
})

describe('a good request', () => {
  it.each<[what: string, request: Request]>([
    ['nothing at all', {}],
    ['fields that are undefined', { ...good, method: undefined, cost: undefined } as object],
    ['scopes that are undefined', { subject: { user: undefined, global: undefined } }],
    ['the longest value', user('x'.repeat(1024)) as Request],
    ['letters of any language', user('Zoë 李 \u{1f600}') as Request],
    ['the largest cost', { ...good, cost: 100_000 }],
    ['a cost twice', { ...good, cost: 3, costs: { requests: 3 } }],
    ['a method in small letters', { ...good, method: 'm-search' }],
    ['the longest resource', { ...good, resource: `/${'x'.repeat(2047)}` }],
    ['keys of 255', { ...good, idempotencyKey: 'k'.repeat(255), holdId: 'h'.repeat(255) }],
    ['32 scopes', { subject: ofEach(MANY.slice(0, 32), 'x') as Request['subject'] & object }],
    ['a signal', { ...good, signal: new AbortController().signal }],
    ['an object without a prototype', Object.assign(Object.create(null), good) as Request],
  ])('may hold %s', async (_what, request) => {
    expect((await limiterOf().check(request)).allowed).toBe(true)
  })
})
