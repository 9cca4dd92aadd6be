import { setTimeout as wait } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { until } from '../../../limiter/test/redis/servers.js'
import { startService, type TestService } from '../service.js'
import { checkBytes, RawCaller } from './bytes.js'

const RULES = `
rules:
  hello: { scope: user, resource: /hello, limits: 1000/d fixed }
`

let service: TestService
const callers: RawCaller[] = []

beforeAll(async () => {
  service = await startService({
    rules: RULES,
    flags: { 'request-timeout': '600', 'idle-timeout': '1500', 'max-connections': '40' },
  })
})
afterAll(async () => {
  for (const { socket } of callers) socket.destroy()
  await service.stop()
})

function caller(): RawCaller {
  const made = new RawCaller(service.connect())
  callers.push(made)
  return made
}

const remaining = (answer: { body: string } | null) => JSON.parse(answer!.body).remaining

describe('a connection', () => {
  it('answers pipelined requests in order', async () => {
    const one = caller()
    one.send(Array.from({ length: 50 }, () => checkBytes('pipelined')).join(''))
    for (let left = 999; left >= 950; left--) expect(remaining(await one.next())).toBe(left)
  })

  it('keeps the order where one of them takes the ordinary way', async () => {
    const one = caller()
    const odd = checkBytes('mixed')
      .replace('"user"', '"\\u0075ser"')
      .replace(/Length: (\d+)/, (_, n) => `Length: ${Number(n) + 5}`)
    one.send(checkBytes('mixed') + odd + checkBytes('mixed') + odd + checkBytes('mixed'))
    for (const left of [999, 998, 997, 996, 995]) expect(remaining(await one.next())).toBe(left)
  })

  it('takes a request byte by byte', async () => {
    const one = caller()
    one.socket.setNoDelay(true)
    for (const byte of checkBytes('slow')) {
      one.send(byte)
      await new Promise((resolve) => setImmediate(resolve))
    }
    expect(remaining(await one.next())).toBe(999)
  })

  it('takes a batch of megabytes', async () => {
    const one = caller()
    const check = { subject: { user: 'large' }, resource: `/${'x'.repeat(2000)}` }
    const body = JSON.stringify({ checks: Array.from({ length: 1000 }, () => check) })
    one.send(
      `POST /v1/check/batch HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    )
    expect(JSON.parse((await one.next())!.body).results).toHaveLength(1000)
  })

  it('goes to node:http with what it asks next, and back is not asked for', async () => {
    const one = caller()
    one.send(`${checkBytes('handed')}GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n`)
    expect(remaining(await one.next())).toBe(999)
    expect((await one.next())!.body).toBe('{"status":"ok"}')
    one.send(checkBytes('handed'))
    expect(remaining(await one.next())).toBe(998)
  })

  it('keeps the order of much that comes while it is handed over', async () => {
    const one = caller()
    const health = 'GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n'
    one.send(checkBytes('much').repeat(400) + health + checkBytes('much').repeat(400))
    for (let left = 999; left >= 600; left--) expect(remaining(await one.next())).toBe(left)
    expect((await one.next())!.body).toBe('{"status":"ok"}')
    for (let left = 599; left >= 200; left--) expect(remaining(await one.next())).toBe(left)
  })

  it('is handed over in the middle of a head', async () => {
    const one = caller()
    one.send('GET /heal')
    await wait(20)
    one.send('thz HTTP/1.1\r\nHost: localhost\r\n\r\n')
    expect((await one.next())!.status).toBe(200)
  })

  it('answers chunked bodies, and those that are asked for first', async () => {
    const one = caller()
    const body = JSON.stringify({ subject: { user: 'chunked' }, resource: '/hello' })
    const chunk = `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`
    one.send(
      `POST /v1/check HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n${chunk}`,
    )
    expect(remaining(await one.next())).toBe(999)
    const two = caller()
    two.send(
      `POST /v1/check HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: ${body.length}\r\n\r\n`,
    )
    expect((await two.next())!.status).toBe(100)
    two.send(body)
    expect(remaining(await two.next())).toBe(998)
  })

  it('refuses what is smuggled', async () => {
    const one = caller()
    const body = JSON.stringify({ subject: { user: 'smuggled' }, resource: '/hello' })
    const both = `Content-Length: ${body.length}\r\nTransfer-Encoding: chunked\r\n`
    one.send(`POST /v1/check HTTP/1.1\r\nHost: localhost\r\n${both}\r\n${body}`)
    expect((await one.next())!.status).toBe(400)
    await one.ended()
    const two = caller()
    two.send(checkBytes('smuggled', 'Content-Length: 1\r\n'))
    expect((await two.next())!.status).toBe(400)
  })

  it('refuses two Host headers on either path, whatever they say', async () => {
    const body = '{"subject":{"user":"ada"},"resource":"/hello"}'
    const rest = `Content-Length: ${body.length}\r\n\r\n${body}`
    for (const start of ['POST /v1/check', 'POST /v1/quota', 'GET /healthz'])
      for (const hosts of [
        'Host: localhost\r\nHost: localhost\r\n',
        'Host: localhost\r\nX: y\r\nhOST: evil.example\r\n',
        'Host: \r\nHost: localhost\r\n',
      ]) {
        const one = caller()
        one.send(`${start} HTTP/1.1\r\n${hosts}${start.startsWith('GET') ? '\r\n' : rest}`)
        const answer = await one.next()
        expect([start, hosts, answer!.status]).toEqual([start, hosts, 400])
        expect(JSON.parse(answer!.body).error).toMatchObject({ code: 'bad_request', field: 'Host' })
        one.socket.destroy()
      }
  })

  it('is told in words what is wrong with its bytes', async () => {
    const wrong: [string, number, string][] = [
      ['GET / HTTP/9.9\r\n\r\n', 400, 'bad_request'],
      ['GET /healthz HTTP/1.1\r\n\r\n', 400, 'bad_request'],
      [
        `GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`,
        431,
        'headers_too_large',
      ],
      ['GET /healthz HTTP/1.1\r\nHost: localhost\r\nExpect: x\r\n\r\n', 400, 'bad_request'],
      ['GET /healthz HTTP/1.1\r\nHost: loc', 408, 'timed_out'],
    ]
    for (const [bytes, status, code] of wrong) {
      const one = caller()
      one.send(bytes)
      const answer = await one.next()
      expect([bytes.slice(0, 30), answer!.status, JSON.parse(answer!.body).error.code]).toEqual([
        bytes.slice(0, 30),
        status,
        code,
      ])
      one.socket.destroy()
    }
  })

  it('lives as long as it gets on', async () => {
    const one = caller()
    const bytes = checkBytes('steady')
    const half = Math.floor(bytes.length / 2)
    one.send(bytes.slice(0, half))
    for (let i = 0; i < 25; i++) {
      one.send(bytes.slice(half) + bytes.slice(0, half))
      expect((await one.next())!.status).toBe(200)
      await wait(100)
    }
    one.socket.destroy()
  })

  it('closes when it is asked to, and reads nothing after', async () => {
    const one = caller()
    one.send(checkBytes('closing', 'Connection: close\r\n') + checkBytes('closing'))
    const answer = await one.next()
    expect(answer!.head).toContain('Connection: close')
    expect(await one.next()).toBeNull()
    const { body } = await service.post('/v1/quota', {
      subject: { user: 'closing' },
      resource: '/hello',
    })
    expect(body.remaining).toBe(999)
  })

  it('is answered though it was closed on the other side', async () => {
    const one = caller()
    one.socket.end(checkBytes('half'))
    expect(remaining(await one.next())).toBe(999)
    await one.ended()
  })

  it('is ended in the middle of a request that does not go on, in either way', async () => {
    const [fast, ordinary] = [caller(), caller()]
    fast.send('POST /v1/check HTTP/1.1\r\nHost: loc')
    ordinary.send('GET /healthz HTTP/1.1\r\nHost: loc')
    await Promise.all([fast.ended(), ordinary.ended()])
    const body = caller()
    body.send('POST /v1/check HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{')
    await body.ended()
  })

  it('is ended when it is idle', async () => {
    const one = caller()
    one.send(checkBytes('idle'))
    await one.next()
    await one.ended()
  })

  it('is refused beyond the cap, and taken again below it', async () => {
    for (const { socket } of callers) socket.destroy()
    await until('connections are gone', async () => (await count()) <= 1)
    const many = Array.from({ length: 60 }, caller)
    const answers = many.map((one) => {
      one.send(checkBytes('crowd'))
      return one.next()
    })
    const allowed = (await Promise.all(answers)).filter((answer) => answer !== null)
    expect(allowed.length).toBe(40)
    for (const { socket } of many) socket.destroy()
    await until('there is room again', async () => (await caller_(checkBytes('crowd'))) !== null)
  })

  it('is not read from while it does not take its answers', async () => {
    const patient = await startService({ rules: RULES })
    const one = await greedy(patient)
    expect(one.socket.writableLength).toBeGreaterThan(0)
    one.socket.resume()
    for (let i = 0; i < 200 * TIMES; i++) expect((await one.next())!.status).toBe(200)
    one.socket.destroy()
    await patient.stop()
  })

  it('is ended where it never takes them', async () => {
    const one = await greedy(service)
    await until('it is gone', async () => (await count()) <= 1)
    one.socket.destroy()
  })
})

const TIMES = 400

/** Asks for more than fits between the two, and reads nothing. */
async function greedy(from: TestService): Promise<RawCaller> {
  const one = new RawCaller(from.connect())
  one.socket.pause()
  const requests = checkBytes('greedy', '', '/nothing').repeat(200)
  for (let i = 0; i < TIMES; i++) one.socket.write(requests, 'latin1')
  await until('it takes no more', async () => {
    const before = one.socket.writableLength
    await wait(200)
    return one.socket.writableLength === before
  })
  return one
}

async function count(): Promise<number> {
  const { text } = await service.get('/metrics')
  return Number(/^sluice_connections (\d+)/m.exec(text)![1])
}

async function caller_(bytes: string) {
  const one = caller()
  one.send(bytes)
  return one.next()
}
