/** What answers have: a few fields unless more is asked for, and the previous release's shape where a setting says so. */
import { DECISION_FIELDS, openApiDocument } from '@sluice/contract'
import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startService, type TestService } from '../service.js'
import { untruths } from './true-to-openapi.js'

const RULES = `
rules:
  search-per-user: { scope: user, resource: /v1/search, limits: 1000/h }
  daily: { scope: user, resource: /daily, limits: 1000/d fixed }
  few: { scope: user, resource: /few, limits: 1/h }
  told: { scope: user, resource: /told, limits: 1/h, message: Come back tomorrow. }
  queue: { scope: user, resource: /queue, limits: 1/s queue 5 }
  jobs: { scope: user, resource: /jobs, limits: 2 concurrent for 60s }
exemptions: [user:free]
`
const CHECK = { subject: { user: '123' }, resource: '/v1/search' }
/** What the documentation shows. */
const ALWAYS = Object.entries(DECISION_FIELDS)
  .filter(([, { when }]) => when === 'always')
  .map(([name]) => name)

let lean: TestService
let full: TestService
beforeAll(async () => {
  lean = await startService({ rules: RULES })
  full = await startService({ rules: RULES, flags: { answers: 'full' } })
})
afterAll(async () => {
  await lean.stop()
  await full.stop()
})

let users = 0
const someone = (resource = '/daily') => ({
  subject: { user: `u${users++}` },
  resource,
})

/** By the fast path, by the ordinary one (an escape makes a body odd), and by its sister routes. */
async function everyWay(fields: object): Promise<Record<string, unknown>[]> {
  const ask = async (path: string, body: unknown) => {
    const answer = await lean.post(path, body)
    expect(untruths('POST', path, answer)).toEqual([])
    return answer.body
  }
  const odd = JSON.stringify({ ...someone(), ...fields }).replace('"user"', '"\\u0075ser"')
  const { include } = fields as { include?: unknown }
  const batch = { checks: [someone(), someone()], ...(include === undefined ? {} : { include }) }
  const { results } = await ask('/v1/check/batch', batch)
  return [
    await ask('/v1/check', { ...someone(), ...fields }),
    await ask('/v1/check', odd),
    await ask('/v1/quota', { ...someone(), ...fields }),
    ...results,
  ]
}

describe('an answer', () => {
  it('has what a caller acts on, and is short', async () => {
    const { text, body } = await lean.post('/v1/check', CHECK)
    expect(Object.keys(body)).toEqual(ALWAYS)
    expect(text.length).toBeLessThan(250)
    await lean.post('/v1/check', { ...CHECK, cost: 999 })
    const denied = await lean.post('/v1/check', CHECK)
    expect(denied.status).toBe(429)
    expect(Object.keys(denied.body)).toEqual([...ALWAYS, 'reason', 'error'])
    expect(denied.text.length).toBeLessThan(400)
  })

  it('says what is used, also where that is more than the limit', async () => {
    const check = { ...someone(), include: ['limits'] }
    const numbers = ({ limit, used, remaining }: Record<string, number>) => [limit, used, remaining]
    const { body } = await lean.post('/v1/check', { ...check, cost: 300 })
    expect(numbers(body)).toEqual([1000, 300, 700])
    expect(numbers(body.limits[0])).toEqual([1000, 300, 700])
    const { reservation } = (await lean.post('/v1/reserve', { ...check, cost: 600 })).body
    await lean.post('/v1/settle', { reservation, cost: 900 })
    const quota = await lean.post('/v1/quota', check)
    expect([quota.body.allowed, ...numbers(quota.body)]).toEqual([false, 1000, 1200, 0])
    expect(numbers(quota.body.limits[0])).toEqual([1000, 1200, 0])
    expect(quota.headers['x-ratelimit-remaining']).toBe('0')
    const nobody = await lean.post('/v1/check', { subject: {}, resource: '/without-a-rule' })
    expect(numbers(nobody.body)).toEqual([null, null, null])
  })

  it('tells a denied caller the message of the rule, and logs why', async () => {
    const check = someone('/told')
    await lean.post('/v1/check', check)
    const { body, status } = await lean.post('/v1/check', check)
    expect([status, body.error]).toEqual([429, { code: 'limited', message: 'Come back tomorrow.' }])
    expect(lean.log.map(({ msg }) => msg)).toContainEqual(
      expect.stringContaining(`told allows user ${check.subject.user} 1/h`),
    )
    const batch = await lean.post('/v1/check/batch', { checks: [check] })
    expect(batch.body.results[0].error.message).toBe('Come back tomorrow.')
  })

  it('has the same fields whichever way it is asked for', async () => {
    for (const body of await everyWay({})) expect(Object.keys(body)).toEqual(ALWAYS)
    for (const body of await everyWay({ include: ['limits'] })) {
      expect(Object.keys(body)).toEqual([...ALWAYS, 'limits'])
      expect(body['limits']).toHaveLength(1)
    }
    for (const body of await everyWay({ include: ['receipt', 'limits'] }))
      expect(Object.keys(body)).toEqual([...ALWAYS, 'limits', 'receipt'])
  })

  it('has a receipt that is good where one was asked for, and none where nothing was taken', async () => {
    const [fast, odd, quota, ...batch] = await everyWay({ include: ['receipt'] })
    expect(quota!['receipt']).toBeNull()
    for (const { receipt } of [fast!, odd!, ...batch])
      expect((await lean.post('/v1/refund', { receipt })).body.refunded).toEqual({ requests: 1 })
  })

  it('makes no receipt that was not asked for', async () => {
    // The instance, and the number of the receipt behind it.
    const numberOf = async (): Promise<string> => {
      const check = { ...someone(), include: ['receipt'] }
      return (await lean.post('/v1/check', check)).body.receipt.split(';')[2]
    }
    const first = await numberOf()
    await everyWay({})
    await everyWay({ include: ['limits'] })
    const second = await numberOf()
    const isNext = Array.from(first, (_, i) => i).some(
      (i) =>
        first.slice(0, i) === second.slice(0, i) &&
        Number(second.slice(i)) === Number(first.slice(i)) + 1,
    )
    expect([first, second, isNext]).toEqual([first, second, true])
  })

  it('takes include from the query too, but not from both', async () => {
    const ask = (path: string, body: unknown) => lean.post(path, body)
    const { body } = await ask('/v1/check?include=limits,receipt', someone())
    expect(Object.keys(body)).toEqual([...ALWAYS, 'limits', 'receipt'])
    const reserved = await ask('/v1/reserve?include=limits', someone())
    expect(Object.keys(reserved.body)).toEqual([...ALWAYS, 'reservation', 'limits'])
    const batch = await ask('/v1/check/batch?include=limits', { checks: [someone()] })
    expect(batch.body.results[0].limits).toHaveLength(1)
    const both = await ask('/v1/check?include=limits', { ...someone(), include: ['limits'] })
    expect([both.status, both.body.error.field]).toEqual([400, 'include'])
  })

  it('is refused where what it is to have is not known', async () => {
    const refused = async (path: string, body: unknown) => {
      const { status, body: answer } = await lean.post(path, body)
      return [status, answer.error.field, answer.error.message]
    }
    expect(await refused('/v1/check', { ...someone(), include: ['limit'] })).toEqual([
      400,
      'include[0]',
      'include[0] is "limit"; expected limits or receipt',
    ])
    expect(await refused('/v1/check', { ...someone(), inclued: ['limits'] })).toEqual([
      400,
      'inclued',
      'inclued is unknown; did you mean "include"?',
    ])
    expect(await refused('/v1/check?include=all', someone())).toEqual([
      400,
      'include[0]',
      'include[0] is "all"; expected limits or receipt',
    ])
    expect(await refused('/v1/check', { ...someone(), include: 'limits' })).toEqual([
      400,
      'include',
      'include is "limits"; expected a list',
    ])
    const checks = [{ ...someone(), include: ['limits'] }]
    expect(await refused('/v1/check/batch', { checks })).toEqual([
      400,
      'checks[0].include',
      'checks[0].include goes with the whole batch, beside checks',
    ])
    expect(await refused('/v1/explain', { ...someone(), include: ['limits'] })).toEqual([
      400,
      'include',
      'include is unknown',
    ])
    expect(await refused('/v1/check?inclued=limits', someone())).toEqual([
      400,
      'inclued',
      'inclued is unknown; did you mean "include"?',
    ])
  })

  it('says what is particular, where something is', async () => {
    const queued = someone('/queue')
    await lean.post('/v1/check', queued)
    expect((await lean.post('/v1/check', queued)).body.delay).toBeGreaterThan(0.5)
    const held = (await lean.post('/v1/check', someone('/jobs'))).body
    expect(Object.keys(held)).toEqual([...ALWAYS, 'hold', 'hold_expires_at'])
    const exempt = (await lean.post('/v1/check', { ...CHECK, subject: { user: 'free' } })).body
    expect(Object.keys(exempt)).toEqual([...ALWAYS, 'exempt'])
    const once = { ...someone(), idempotency_key: 'k' }
    await lean.post('/v1/check', once)
    expect((await lean.post('/v1/check', once)).body.replayed).toBe(true)
  })
})

describe('--answers full', () => {
  const ajv = new Ajv2020({ strict: false })
  // The package's types say that its default is a module.
  ;(addFormats as unknown as (to: Ajv2020) => void)(ajv)
  ajv.addSchema({ $id: 'full', ...openApiDocument({ version: '0.0.0', isFull: true }) })
  const isTrue = (name: string, body: unknown) =>
    ajv.getSchema(`full#/components/schemas/${name}`)!(body) === true

  it('keeps the shape of the previous release', async () => {
    const { body } = await full.post('/v1/check', someone())
    expect(Object.keys(body).toSorted()).toEqual(
      [
        'allowed',
        'limit',
        'remaining',
        'reset_at',
        'retry_after',
        'delay',
        'state',
        'reason',
        'rule',
        'scope',
        'degraded',
        'degraded_reason',
        'receipt',
        'limits',
      ].toSorted(),
    )
    expect(body).toMatchObject({ delay: 0, reason: null, degraded: false, degraded_reason: null })
    expect(Object.keys(body.limits[0]).toSorted()).toEqual(
      [
        'rule',
        'scope',
        'algorithm',
        'amount',
        'limit',
        'window_seconds',
        'allowed',
        'remaining',
        'reset_at',
        'retry_after',
        'unit',
        'shadow',
      ].toSorted(),
    )
    expect((await full.post('/v1/refund', { receipt: body.receipt })).status).toBe(200)
  })

  it('describes itself so, and is true to that', async () => {
    const once = someone('/few')
    const bodies = [
      await full.post('/v1/check', once),
      await full.post('/v1/check', once),
      await full.post('/v1/quota', once),
      await full.post('/v1/check', someone('/jobs')),
      await full.post('/v1/check', { ...someone(), include: ['limits'] }),
    ]
    for (const { body } of bodies) expect([isTrue('Decision', body), body]).toEqual([true, body])
    const { body: reserved } = await full.post('/v1/reserve', someone())
    expect(isTrue('Reservation', reserved)).toBe(true)
    expect(isTrue('Decision', (await lean.post('/v1/check', someone())).body)).toBe(false)
    const described = (await full.get('/v1/openapi.json')).body
    expect(described.components.schemas.Decision.required).toContain('receipt')
  })

  it('is said to go, once', () => {
    expect(full.log.filter(({ code }) => code === 'deprecated_setting')).toHaveLength(1)
    expect(lean.log.filter(({ code }) => code === 'deprecated_setting')).toHaveLength(0)
  })
})
