/** No error of a request of `GET /v1/auth` looks like an outage to a gateway. */
import { once } from 'node:events'
import { connect } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { beforeAll, describe, expect, it } from 'vitest'
import { type TestService } from '../service.js'
import { authServices, errorOf, rawErrorOf, request, sent } from './auth-caller.js'
import { RawCaller } from './bytes.js'

const { service: sharedService, another } = authServices()
let service: TestService
beforeAll(() => {
  service = sharedService()
})

describe('an error of the request', () => {
  const user = 'X-Sluice-Scope-User: ada'
  it.each<[string, string, string]>([
    ['a scope twice', request([user, user]), 'bad_request'],
    ['a scope twice, once empty', request(['X-Sluice-Scope-User:', user]), 'bad_request'],
    [
      'a scope twice by two spellings',
      request(['X-Sluice-Scope-Api-Key: a', 'X-Sluice-Scope-Api_Key: a']),
      'bad_request',
    ],
    [
      'a resource twice',
      request(['X-Sluice-Resource: /a', 'x-sluice-resource: /b']),
      'bad_request',
    ],
    ['a method twice', request(['X-Sluice-Method: GET', 'X-Sluice-Method: GET']), 'bad_request'],
    ['bytes that are no UTF-8', request(['X-Sluice-Scope-User: zo\xeb']), 'bad_request'],
    ['a resource that is no UTF-8', request(['X-Sluice-Resource: /\xff']), 'bad_request'],
    ['a scope that no rule knows', request(['X-Sluice-Scope-Usr: ada']), 'bad_request'],
    ['a scope without a name', request(['X-Sluice-Scope-: ada']), 'bad_request'],
    ['a scope that cannot be', request(['X-Sluice-Scope-9: ada']), 'bad_request'],
    ['the global scope', request(['X-Sluice-Scope-Global: x']), 'bad_request'],
    ['a scope by a dangerous name', request(['X-Sluice-Scope-__proto__: x']), 'bad_request'],
    ['a bad address', request(['X-Sluice-Scope-Ip: here']), 'bad_request'],
    ['a value that is too long', request([`${user}${'x'.repeat(1024)}`]), 'bad_request'],
    [
      'a path of 3,000 characters',
      request([`X-Sluice-Resource: /${'x'.repeat(3000)}`]),
      'bad_request',
    ],
    ['.. after repeated slashes', request(['X-Sluice-Resource: /x//../login']), 'bad_request'],
    ['a backslash in a path', request(['X-Sluice-Resource: /x\\..\\login']), 'bad_request'],
    ['a # in a path', request(['X-Sluice-Resource: /x#/login']), 'bad_request'],
    ['a bad method', request(['X-Sluice-Method: G E T']), 'bad_request'],
    ['a tab in a value', request(['X-Sluice-Scope-User: a\tb']), 'bad_request'],
    ['a control character', request(['X-Sluice-Scope-User: a\x01b']), 'bad_request'],
    ['a head of 20,000 bytes', request([`${user}${'x'.repeat(20_000)}`]), 'headers_too_large'],
    ['a head of 200,000 bytes', request([`${user}${'x'.repeat(200_000)}`]), 'headers_too_large'],
    ['a bad header line', request(['no colon']), 'bad_request'],
    ['a bad Transfer-Encoding', request(['Transfer-Encoding: x']), 'bad_request'],
    ['a bad version', 'GET /v1/auth HTTP/9.9\r\n\r\n', 'bad_request'],
    ['no Host', 'GET /v1/auth HTTP/1.1\r\n\r\n', 'bad_request'],
    ['an Expect that is not known', request(['Expect: miracles']), 'bad_request'],
    ['another Host', 'GET /v1/auth HTTP/1.1\r\nHost: evil.example\r\n\r\n', 'forbidden'],
    ['a deny that is not known', request([user], '/v1/auth?deny=500'), 'bad_request'],
    ['two denies', request([user], '/v1/auth?deny=403&deny=429'), 'bad_request'],
    [
      'a POST',
      'POST /v1/auth HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n',
      'method_not_allowed',
    ],
    [
      'a body',
      `POST /v1/auth HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n${'x'.repeat(9)}`,
      'method_not_allowed',
    ],
  ])('is 403 with X-Sluice-Error: %s', async (_, bytes, code) => {
    const answer = await sent(bytes, service)
    expect(rawErrorOf(answer)).toEqual([403, code])
    expect(JSON.parse(answer!.body).error.code).toBe(code)
  })

  it.each([true, false])(
    'is that also after others on its connection; fast path: %s',
    async (fast) => {
      const one = await another({ flags: { 'fast-path': String(fast) } })
      const caller = new RawCaller(one.connect())
      caller.send(request([user]))
      expect((await caller.next())?.status).toBe(200)
      // The line and the rest of the head come apart.
      const [line, ...rest] = request([`${user}${'x'.repeat(20_000)}`]).split('\r\n')
      caller.send(`${line}\r\n`)
      await wait(20)
      caller.send(rest.join('\r\n'))
      expect(rawErrorOf(await caller.next())).toEqual([403, 'headers_too_large'])
      caller.socket.destroy()
    },
  )

  it.each([true, false])(
    'is that where the first line comes in pieces; fast path: %s',
    async (fast) => {
      const one = await another({ flags: { 'fast-path': String(fast) } })
      const caller = new RawCaller(one.connect())
      for (const piece of ['G', 'ET /v', '1/auth HTT', 'P/1.1\r\n', 'Host: localhost\r\n']) {
        caller.send(piece)
        await wait(10)
      }
      caller.send('no colon\r\n\r\n')
      expect(rawErrorOf(await caller.next())).toEqual([403, 'bad_request'])
      caller.socket.destroy()
    },
  )

  it.each([true, false])(
    'is that however the pieces of its head look, first and later on a connection; fast path: %s',
    async (fast) => {
      const one = await another({ flags: { 'fast-path': String(fast) } })
      const heads = [
        // A piece that looks like another request, and a line that is cut within its path.
        ['GET /v1/auth HTTP/1.1\r\nHost: localhost\r\nX-User: ', 'A A A\r\nno colon\r\n\r\n'],
        ['\r\n', 'GET /v1/a', 'uth HTTP/1.1\r\nHost: localhost\r\n', 'no colon\r\n\r\n'],
      ]
      for (const head of heads)
        for (const before of [[], ['GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r', '\n']]) {
          const caller = new RawCaller(one.connect())
          caller.socket.setNoDelay()
          for (const piece of before) {
            caller.send(piece)
            await wait(10)
          }
          if (before.length > 0) expect((await caller.next())?.status).toBe(200)
          for (const piece of head) {
            caller.send(piece)
            await wait(10)
          }
          expect(rawErrorOf(await caller.next())).toEqual([403, 'bad_request'])
          caller.socket.destroy()
        }
    },
  )

  it('reaches who still sends and reads only then: the connection is not reset', async () => {
    const { host, port } = service
    const socket = connect({ host, port, allowHalfOpen: true })
    const errors: unknown[] = []
    socket.on('error', (error) => errors.push(error))
    const write = (text: string) =>
      new Promise<void>((resolve) => {
        socket.write(text, () => resolve())
      })
    await write(request([`${user}${'x'.repeat(20_000)}`]).slice(0, -4))
    await once(socket, 'readable')
    for (let i = 0; i < 50; i++) {
      await write('x'.repeat(10_000))
      // The server is in this process: it reads in between.
      await new Promise(setImmediate)
    }
    expect(errors).toEqual([])
    expect(String(socket.read()).slice(0, 12)).toBe('HTTP/1.1 403')
    socket.destroy()
  })

  it('of other routes has the status that it always had', async () => {
    const bad = `POST /v1/check HTTP/1.1\r\nHost: localhost\r\nno colon\r\n\r\n`
    expect(rawErrorOf(await sent(bad, service))).toEqual([400, undefined])
    const long = request([`X: ${'x'.repeat(20_000)}`], '/v1/openapi.json')
    expect(rawErrorOf(await sent(long, service))).toEqual([431, undefined])
    const caller = new RawCaller(service.connect())
    caller.send(request([user]))
    expect((await caller.next())?.status).toBe(200)
    caller.send(long)
    expect(rawErrorOf(await caller.next())).toEqual([431, undefined])
    caller.socket.destroy()
  })

  it('is logged once for each code, and counted', async () => {
    const one = await another({})
    for (let i = 0; i < 3; i++) await one.get('/v1/auth', { 'X-Sluice-Scope-Usr': 'x' })
    await sent(request([`${user}${'x'.repeat(20_000)}`]), one)
    const warned = one.log.filter(({ level }) => level === 'warn')
    expect(warned.map(({ code }) => code)).toEqual(['bad_request', 'headers_too_large'])
    expect(warned[0]!['msg']).toContain('X-Sluice-Scope-Usr')
    const { text } = await one.get('/metrics')
    expect(text).toContain('sluice_auth_errors_total{code="bad_request"} 3')
    expect(text).toContain('sluice_auth_errors_total{code="headers_too_large"} 1')
  })
})

describe('a token', () => {
  it('that is wrong stays 401, before anything else is looked at', async () => {
    const one = await another({ token: 'x'.repeat(32) })
    const asked = { 'X-Sluice-Scope-Usr': 'x' }
    for (const Authorization of ['Bearer wrong', ''])
      expect(errorOf(await one.get('/v1/auth', { ...asked, Authorization }))).toEqual([
        401,
        undefined,
      ])
    const right = { Authorization: `Bearer ${'x'.repeat(32)}`, Origin: 'https://evil.example' }
    expect((await one.get('/v1/auth', right)).status).toBe(200)
    expect(errorOf(await one.get('/v1/auth', { ...asked, ...right }))).toEqual([403, 'bad_request'])
  })
})
