/** A caller who asks for a great deal does not keep the others waiting: the bounds that see to it. */
import { connect } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { routeOf } from '@sluice/contract'
import { memoryStore, RuleSet } from '@sluice/limiter'
import { afterEach, describe, expect, it } from 'vitest'
import { until } from '../../../limiter/test/redis/servers.js'
import { Decisions } from '../../src/decisions.js'
import { OrdinaryAnswers } from '../../src/http/answers.js'
import type { Route } from '../../src/http/route.js'
import { OnceInMemory } from '../../src/receipts/once.js'
import { Vouchers } from '../../src/receipts/vouchers.js'
import { Gate } from '../../src/security/gate.js'
import { TokenBook } from '../../src/security/token-book.js'
import { Log } from '../../src/telemetry/log.js'
import { Tenants } from '../../src/tenants.js'
import { AuthErrors } from '../../src/transports/rest/auth-errors.js'
import { MOST_ORDINARY } from '../../src/transports/rest/fast/connection.js'
import { MOST_IN_PROGRESS } from '../../src/transports/rest/ordinary-connection.js'
import { RestServer } from '../../src/transports/rest/rest-server.js'
import { startService } from '../service.js'
import { RawCaller } from './bytes.js'

const ends: (() => unknown)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).toReversed()) await end()
})

/** A server whose routes are answered when the test says so. */
async function gated(isFast: boolean) {
  const begun: (() => void)[] = []
  const route = (method: 'GET' | 'POST', path: string): Route => ({
    id: 'check',
    contract: { ...routeOf('check'), kind: 'operating', method, path, role: 'anyone' },
    handle: () =>
      new Promise((resolve) => {
        const number = begun.length
        begun.push(() => resolve({ status: 200, body: { number } }))
      }),
  })
  const tenants = new Tenants(memoryStore())
  await tenants.use(RuleSet.compile({}))
  const decisions = new Decisions({
    tenants,
    vouchers: new Vouchers({ secret: new Uint8Array(16), once: new OnceInMemory(), now: Date.now }),
    observer: { decided: () => undefined, took: () => undefined },
    headerFamilies: [],
    answers: 'full',
  })
  const routes = [route('GET', '/slow'), route('POST', '/slow'), route('POST', '/v1/check')]
  const server = new RestServer({
    decisions,
    answers: new OrdinaryAnswers(routes, () => undefined),
    gate: new Gate(null, new TokenBook()),
    authErrors: new AuthErrors(new Log({ write: () => undefined })),
    isFast,
    failed: () => undefined,
    limits: { requestMs: 500 },
  })
  const [host, port] = (await server.listen({ host: '127.0.0.1', port: 0 })).split(':')
  ends.push(() => server.close(0))
  const call = () => {
    const caller = new RawCaller(connect(Number(port), host))
    ends.push(() => caller.socket.destroy())
    return caller
  }
  return { server, begun, call }
}

const GET = 'GET /slow HTTP/1.1\r\nHost: localhost\r\n\r\n'
const POST = 'POST /slow HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n{"a":"b"}'
/** Escaped, so that the fast path does not read it itself. */
const ODD_BODY = '{"subject":{"\\u0075ser":"a"},"resource":"/x"}'
const ODD = `POST /v1/check HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${ODD_BODY.length}\r\n\r\n${ODD_BODY}`

/** Time in which anything that may begin has begun. */
async function manyTurns(): Promise<void> {
  for (let i = 0; i < 300; i++) await new Promise((resolve) => setImmediate(resolve))
}

describe.each([
  ['GET', GET, true, MOST_IN_PROGRESS],
  ['GET without the fast path', GET, false, MOST_IN_PROGRESS],
  ['POST', POST, true, MOST_IN_PROGRESS],
  ['odd checks', ODD, true, MOST_ORDINARY],
] as const)('pipelined %s', (_what, request, isFast, most) => {
  it('are begun a few at a time for each connection, and all answered in order', async () => {
    const { begun, call } = await gated(isFast)
    const callers = [call(), call()]
    for (const caller of callers) caller.send(request.repeat(500))
    await until('as many have begun as may', () => begun.length >= most * callers.length)
    await manyTurns()
    let answered = 0
    while (answered < 1000) {
      expect(begun.length - answered).toBeLessThanOrEqual(most * callers.length)
      for (const answer of begun.slice(answered)) answer()
      answered = begun.length
      await manyTurns()
    }
    expect(begun).toHaveLength(1000)
    for (const caller of callers) {
      let last = -1
      for (let i = 0; i < 500; i++) {
        const { number } = JSON.parse((await caller.next())!.body)
        expect(number).toBeGreaterThan(last)
        last = number
      }
    }
  })
})

describe('a connection with pipelined requests', () => {
  it.each([1, MOST_IN_PROGRESS, MOST_IN_PROGRESS + 1, 100])(
    'that ends after its last byte is answered to the end, and closed: %i requests',
    async (count) => {
      const { begun, call } = await gated(true)
      const caller = call()
      caller.socket.end(GET.repeat(count))
      await until('they have begun', () => begun.length >= Math.min(count, MOST_IN_PROGRESS))
      await manyTurns()
      const answering = setInterval(() => begun.splice(0).forEach((answer) => answer()), 1)
      ends.push(() => clearInterval(answering))
      for (let i = 0; i < count; i++) expect((await caller.next())!.status).toBe(200)
      expect(await caller.next()).toBeNull()
    },
  )

  it('is ended where its answers are not read, on the ordinary path too', async () => {
    const service = await startService({ flags: { 'request-timeout': '500' } })
    ends.push(() => service.stop())
    const caller = new RawCaller(service.connect())
    caller.socket.pause()
    caller.send('GET /v1/openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n'.repeat(2000))
    const isEnded = new Promise((resolve) => caller.socket.once('close', resolve))
    await until('the server has ended it', async () => {
      const { text } = await service.get('/metrics')
      return /^sluice_connections 1$/m.test(text)
    })
    caller.socket.resume()
    await isEnded
  })

  it('is not ended while its answers are read, however slowly', async () => {
    const service = await startService({ flags: { 'request-timeout': '500' } })
    ends.push(() => service.stop())
    const caller = new RawCaller(service.connect())
    const rounds = 40
    caller.send('GET /v1/openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n'.repeat(rounds * 30))
    for (let round = 0; round < rounds; round++) {
      caller.socket.pause()
      await wait(50)
      caller.socket.resume()
      for (let i = 0; i < 30; i++) expect((await caller.next())!.status).toBe(200)
    }
  })
})

it('computes metrics once for many who ask at the same time', async () => {
  const service = await startService()
  ends.push(() => service.stop())
  const asked = await Promise.all(Array.from({ length: 200 }, () => service.get('/metrics')))
  // Each computation counts connections and handles anew, so equal pages were computed once.
  const pages = new Set(asked.map(({ text }) => text))
  expect(pages.size).toBeLessThanOrEqual(3)
})

describe('a batch', () => {
  const MANY = 'the body has more than 200000 values; send fewer at a time'

  it.each([
    ['of very many empty checks', `{"checks":[${'{},'.repeat(300_000)}{}]}`, MANY],
    ['of very many unknown fields', `{"checks":[{${'"a":1,'.repeat(150_000)}"b":1}]}`, MANY],
    // It is no JSON either, which would be said if it were parsed.
    [
      'nested very deep',
      `{"checks":${'['.repeat(600_000)}`,
      'the body is nested more than 64 deep',
    ],
  ])('%s is refused before it is parsed', async (_, text, message) => {
    const service = await startService()
    ends.push(() => service.stop())
    const { status, body } = await service.post('/v1/check/batch', text)
    expect(status).toBe(400)
    expect(body.error.message).toBe(message)
  })

  it('as large as any that is meant is decided', async () => {
    const scopes = Array.from({ length: 15 }, (_, i) => `s${i}`)
    const service = await startService({ rules: `scopes: [${scopes.join()}]\n` })
    ends.push(() => service.stop())
    // What stands in texts does not count.
    const subject = Object.fromEntries(scopes.map((scope) => [scope, '"\\{[,:'.repeat(20)]))
    const checks = Array.from({ length: 1000 }, () => ({ subject }))
    const { status, body } = await service.post('/v1/check/batch', { checks })
    expect([status, body.results.length]).toEqual([200, 1000])
  })
})
