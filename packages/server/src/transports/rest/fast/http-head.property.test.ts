import { createRequire } from 'node:module'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { HttpHead, MORE_NEEDED, WHOLE } from './http-head.js'

/** Node's own parser, as node:http uses it. */
interface NodeParser {
  initialize(type: number, resource: object): void
  execute(bytes: Buffer): number | Error
  [callback: number]: (...args: never[]) => unknown
}
const { HTTPParser } = createRequire(import.meta.url)('_http_common') as {
  HTTPParser: (new () => NodeParser) & Record<string, number>
}

interface Message {
  readonly url: string
  readonly method: number
  readonly keepAlive: boolean
  readonly headers: readonly string[]
  readonly body: string
}

/** The whole messages that node reads; null where it refuses the bytes. */
function nodeReads(bytes: Buffer): Message[] | null {
  const parser = new HTTPParser()
  parser.initialize(HTTPParser['REQUEST']!, {})
  const messages: Message[] = []
  let headers: string[] = []
  let current: Omit<Message, 'body'> | null = null
  let body = ''
  parser[HTTPParser['kOnHeaders']! | 0] = (more: string[]) => {
    headers = headers.concat(more)
  }
  parser[HTTPParser['kOnHeadersComplete']! | 0] = (
    _major: number,
    _minor: number,
    more: string[] | undefined,
    method: number,
    url: string,
    _status: unknown,
    _message: unknown,
    _upgrade: boolean,
    keepAlive: boolean,
  ) => {
    current = { url, method, keepAlive, headers: headers.concat(more ?? []) }
    headers = []
    body = ''
    return 0
  }
  parser[HTTPParser['kOnBody']! | 0] = (chunk: Buffer, offset?: number, length?: number) => {
    body +=
      offset === undefined
        ? chunk.toString('latin1')
        : chunk.toString('latin1', offset, offset + length!)
  }
  parser[HTTPParser['kOnMessageComplete']! | 0] = () => {
    messages.push({ ...current!, body })
  }
  return parser.execute(bytes) instanceof Error ? null : messages
}

const POST = 3

const names = fc.constantFrom(
  'Host',
  'host',
  'Content-Length',
  'content-length',
  'Connection',
  'Authorization',
  'Transfer-Encoding',
  'Content-Type',
  'Expect',
  'Upgrade',
  'Proxy-Connection',
  'X-Idempotency-Key',
  'Origin',
  'User-Agent',
  'Keep-Alive',
  'Accept',
  'Trailer',
  'TE',
)
const values = fc.constantFrom(
  'localhost',
  '2',
  '02',
  '2, 2',
  '+2',
  '-1',
  '0x2',
  ' 2',
  '2 ',
  'close',
  'keep-alive',
  'Keep-Alive, close',
  'upgrade',
  'chunked',
  'identity',
  '100-continue',
  'application/json',
  'Bearer token',
  '',
  '\t',
  'é',
  '99999999999',
)
const odd = fc
  .tuple(names, fc.constantFrom(':', ': ', ' :', ':\t', ''), values)
  .map((parts) => parts.join(''))
const usual = fc.constantFrom(
  'User-Agent: wrk',
  'Accept: */*',
  'Content-Type: application/json',
  'Connection: close',
  'CONNECTION: Keep-Alive',
  'Authorization: Bearer token',
  'X-Other: \t a  b \t',
  'X-Empty:',
)
const lines = fc.array(fc.oneof({ weight: 5, arbitrary: usual }, { weight: 1, arbitrary: odd }), {
  maxLength: 3,
})
const mostly = <T>(most: T, ...others: T[]) =>
  fc.oneof(
    { weight: 8, arbitrary: fc.constant(most) },
    { weight: 1, arbitrary: fc.constantFrom(...others) },
  )
const requests = fc
  .record({
    path: mostly('/v1/check', '/v1/check/batch', '/v1/check?', '/v1/checks', '/v1/check '),
    version: mostly('HTTP/1.1', 'HTTP/1.0', 'HTTP/2.0', 'http/1.1'),
    before: lines,
    after: lines,
    host: mostly('Host: localhost', '', 'host:\tlocalhost ', 'Host: a\r\nHost: b'),
    length: mostly('2', '0', '5', ''),
    end: mostly('\r\n', '\n', '\r'),
    body: mostly('{}', '', '{}{}', '{}POST /v1/check HTTP/1.1\r\n'),
  })
  .map(({ path, version, before, after, host, length, end, body }) => {
    const own = [host, length === '' ? '' : `Content-Length: ${length}`].filter(
      (line) => line !== '',
    )
    const head = [`POST ${path} ${version}`, ...before, ...own, ...after]
    return `${head.join(end)}${end}${end}${body}`
  })

/** Bytes changed, dropped, doubled or put in. */
const damage = fc.array(
  fc.record({
    at: fc.nat(400),
    how: fc.constantFrom('replace', 'insert', 'drop', 'double'),
    byte: fc.oneof(fc.nat(255), fc.constantFrom(0, 9, 10, 13, 32, 44, 58, 127)),
  }),
  { maxLength: 3 },
)

function damaged(text: string, changes: { at: number; how: string; byte: number }[]): Buffer {
  const bytes = [...Buffer.from(text, 'latin1')]
  for (const { at, how, byte } of changes) {
    const place = bytes.length === 0 ? 0 : at % bytes.length
    if (how === 'replace') bytes[place] = byte
    else if (how === 'insert') bytes.splice(place, 0, byte)
    else if (how === 'drop') bytes.splice(place, 1)
    else bytes.splice(place, 0, ...bytes.slice(place, place + 20))
  }
  return Buffer.from(bytes)
}

describe('the head of a hot request', () => {
  it("is accepted only where node's parser accepts it, and read alike", () => {
    let accepted = 0
    const head = new HttpHead()
    fc.assert(
      fc.property(requests, fc.option(damage, { nil: [] }), (text, changes) => {
        const bytes = damaged(text, changes)
        if (head.read(bytes, 0, bytes.length) !== WHOLE) return
        const end = head.bodyStart + head.bodyLength
        if (end > bytes.length) return
        accepted++
        const messages = nodeReads(bytes.subarray(0, end))
        expect(messages).toHaveLength(1)
        const [message] = messages!
        expect(message!.url).toBe(head.isBatch ? '/v1/check/batch' : '/v1/check')
        expect(message!.method).toBe(POST)
        expect(message!.keepAlive).toBe(!head.closes)
        expect(message!.body).toBe(bytes.toString('latin1', head.bodyStart, end))
        const shown = message!.headers
          .map((name, i) => [name.toLowerCase(), message!.headers[i + 1]] as const)
          .filter((_, i) => i % 2 === 0)
        const valueOf = (name: string) =>
          shown.filter(([other]) => other === name).map(([, value]) => value)
        expect(valueOf('host')).toEqual([bytes.toString('latin1', head.hostStart, head.hostEnd)])
        const authorization =
          head.authorizationEnd === 0
            ? []
            : [bytes.toString('latin1', head.authorizationStart, head.authorizationEnd)]
        expect(valueOf('authorization')).toEqual(authorization)
        for (const other of [
          'transfer-encoding',
          'expect',
          'upgrade',
          'origin',
          'x-idempotency-key',
        ])
          expect(valueOf(other)).toEqual([])
      }),
      { numRuns: 30_000 },
    )
    expect(accepted).toBeGreaterThan(2000)
  })

  it('is never whole before it is', () => {
    const head = new HttpHead()
    const text =
      'POST /v1/check/batch HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nConnection: close\r\n\r\n'
    const bytes = Buffer.from(`xx${text}{}`, 'latin1')
    for (let end = 2; end < text.length + 2; end++)
      expect([end, head.read(bytes, 2, end)]).toEqual([end, MORE_NEEDED])
    expect(head.read(bytes, 2, bytes.length)).toBe(WHOLE)
    expect([head.isBatch, head.closes, head.bodyStart, head.bodyLength]).toEqual([
      true,
      true,
      text.length + 2,
      2,
    ])
  })
})

describe('a length that not every parser reads alike', () => {
  const wholeOf = (lengths: string) => {
    const bytes = Buffer.from(`POST /v1/check HTTP/1.1\r\nHost: a\r\n${lengths}\r\n{}`)
    return new HttpHead().read(bytes, 0, bytes.length) === WHOLE
  }

  it.each([
    'Content-Length: 2\t\r\n',
    'Content-Length: 2\r\nContent-Length: 2\r\n',
    'Content-Length: 2\r\nContent-Length: 20\r\n',
    'Content-Length: +2\r\n',
    '',
  ])('is not accepted: %j', (lengths) => {
    expect(wholeOf('Content-Length: 2\r\n')).toBe(true)
    expect(wholeOf(lengths)).toBe(false)
  })
})
