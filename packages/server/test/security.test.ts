import { spawnSync } from 'node:child_process'
import {
  copyFileSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { Agent, request } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect as connectTls, type TLSSocket } from 'node:tls'
import { afterAll, describe, expect, it } from 'vitest'
import { until } from '../../limiter/test/redis/servers.js'
import { checkBytes, RawCaller } from './rest/bytes.js'
import { ask, startService, type TestService } from './service.js'

const TOKEN = 'a-token-that-nobody-guesses'
const CHECK = { subject: { user: 'ada' }, resource: '/hello' }
const folder = mkdtempSync(join(tmpdir(), 'sluice-security-'))
const services: TestService[] = []

async function start(...options: Parameters<typeof startService>): Promise<TestService> {
  const service = await startService(...options)
  services.push(service)
  return service
}

afterAll(async () => {
  for (const service of services) await service.stop()
  rmSync(folder, { recursive: true })
})

describe('without a token', () => {
  it('listens to this machine alone', async () => {
    await expect(startService({ flags: { host: '0.0.0.0' } })).rejects.toThrow(/SLUICE_TOKEN/)
    await expect(startService({ flags: { host: '::' } })).rejects.toThrow(/SLUICE_TOKEN/)
  })

  it('answers loopback names only, on either path', async () => {
    const service = await start()
    for (const path of ['/v1/check', '/v1/quota']) {
      for (const Host of [
        'evil.example',
        'localhost.evil.example',
        '127.0.0.1.evil.example',
        '10.0.0.1',
      ]) {
        const answer = await service.post(path, CHECK, { Host })
        expect([Host, answer.status, answer.body.error.code]).toEqual([Host, 403, 'forbidden'])
      }
      for (const Host of ['localhost', 'LOCALHOST:4290', '127.0.0.1:1', '127.9.9.9', '[::1]:4290'])
        expect((await service.post(path, CHECK, { Host })).status).not.toBe(403)
    }
    expect((await service.get('/healthz', { Host: 'evil.example' })).status).toBe(403)
  })

  it('answers no foreign page', async () => {
    const service = await start()
    const here = `${service.host}:${service.port}`
    const foreign = [
      'https://evil.example',
      'null',
      'http://localhost:1',
      `http://${here}.evil.example`,
    ]
    for (const Origin of foreign) {
      const answer = await service.post('/v1/check', CHECK, { Origin })
      expect([Origin, answer.status]).toEqual([Origin, 403])
    }
    expect((await service.post('/v1/check', CHECK, { Origin: `http://${here}` })).status).toBe(200)
  })
})

describe('with a token', () => {
  it('answers whoever shows it, and health to everybody', async () => {
    const service = await start({ token: TOKEN })
    const wrong = [undefined, 'Bearer', 'Bearer x', `Bearer ${TOKEN}x`, `Basic ${TOKEN}`, TOKEN]
    for (const path of ['/v1/check', '/v1/explain']) {
      for (const shown of wrong) {
        const answer = await service.post(
          path,
          CHECK,
          shown === undefined ? {} : { Authorization: shown },
        )
        expect([shown, answer.status, answer.headers['www-authenticate']]).toEqual([
          shown,
          401,
          'Bearer',
        ])
      }
      const Authorization = `bearer ${TOKEN}`
      expect((await service.post(path, CHECK, { Authorization })).status).toBe(200)
    }
    expect((await service.get('/healthz')).status).toBe(200)
    expect((await service.get('/readyz')).status).toBe(200)
    for (const path of ['/metrics', '/v1/openapi.json', '/v1/nothing'])
      expect((await service.get(path)).status).toBe(401)
    expect(service.log.map((line) => JSON.stringify(line)).join()).not.toContain(TOKEN)
  })

  it('knows the token anew for every request of a connection', async () => {
    const service = await start({ token: TOKEN })
    const one = new RawCaller(service.connect())
    const body = JSON.stringify(CHECK)
    const send = (token: string) =>
      one.send(
        `POST /v1/check HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
      )
    for (const [token, status] of [
      [TOKEN, 200],
      [TOKEN, 200],
      [`${TOKEN.slice(0, -1)}!`, 401],
    ] as const) {
      send(token)
      expect((await one.next())!.status).toBe(status)
    }
    one.socket.destroy()
  })

  it('refuses a token that is too short to be one', async () => {
    await expect(startService({ token: 'short' })).rejects.toThrow(/16 printable characters/)
  })
})

describe('on a Unix socket', () => {
  it('answers those who may open it', async () => {
    const socket = join(folder, 'sluice.sock')
    const service = await start({ flags: { socket }, token: TOKEN })
    expect(statSync(socket).mode & 0o777).toBe(0o660)
    const asked = { socketPath: socket, method: 'POST', headers: { Host: 'whatever' } }
    for (const path of ['/v1/check', '/v1/quota'])
      expect((await ask({ ...asked, path }, JSON.stringify(CHECK))).status).toBe(200)
    await expect(startService({ flags: { socket } })).rejects.toThrow(/in use by another process/)
    await service.service.stop()
    const again = await start({ flags: { socket } })
    expect((await ask({ ...asked, path: '/v1/check' }, JSON.stringify(CHECK))).status).toBe(200)
    await again.service.stop()
  })
})

describe('over TLS', () => {
  const openssl = (...args: string[]) => {
    const done = spawnSync('openssl', args, { cwd: folder, encoding: 'utf8' })
    if (done.status !== 0) throw new Error(done.stderr)
  }
  const file = (name: string) => join(folder, name)
  const certificate = (name: string, subject = `/CN=${name}`) =>
    openssl(
      'req',
      '-x509',
      '-newkey',
      'ec',
      '-pkeyopt',
      'ec_paramgen_curve:P-256',
      '-nodes',
      '-days',
      '2',
      '-subj',
      subject,
      '-addext',
      'subjectAltName=IP:127.0.0.1',
      '-keyout',
      `${name}.key`,
      '-out',
      `${name}.crt`,
    )

  interface Seen {
    readonly status: number
    readonly name: string
  }

  const askTls = (port: number, path: string, options: object = {}): Promise<Seen> =>
    new Promise((resolve, reject) => {
      const agent = new Agent({ rejectUnauthorized: false, ...options })
      const sent = request({ host: '127.0.0.1', port, path, method: 'POST', agent }, (response) => {
        const { subject } = (response.socket as TLSSocket).getPeerCertificate()
        response.resume()
        response.on('end', () =>
          resolve({ status: response.statusCode!, name: String(subject.CN) }),
        )
      })
      sent.on('error', reject)
      sent.end(JSON.stringify(CHECK))
    })

  it('decides on both paths, and takes new certificates when the files change', async () => {
    certificate('first')
    certificate('second')
    copyFileSync(file('first.crt'), file('tls.crt'))
    copyFileSync(file('first.key'), file('tls.key'))
    const service = await start({
      flags: { 'tls-cert': file('tls.crt'), 'tls-key': file('tls.key') },
    })
    for (const path of ['/v1/check', '/v1/quota'])
      expect(await askTls(service.port, path)).toEqual({ status: 200, name: 'first' })
    copyFileSync(file('second.crt'), file('tls.crt'))
    copyFileSync(file('second.key'), file('tls.key'))
    await until(
      'the new one is used',
      async () => (await askTls(service.port, '/v1/quota')).name === 'second',
    )
    copyFileSync(file('first.crt'), file('tls.crt'))
    await until('a pair that does not fit is refused', () =>
      service.log.some(({ msg }) => String(msg).startsWith('new certificates are refused')),
    )
    expect((await askTls(service.port, '/v1/quota')).name).toBe('second')
  })

  it('asks callers for a certificate where it is told to', async () => {
    certificate('server')
    certificate('client')
    certificate('stranger')
    const service = await start({
      flags: {
        'tls-cert': file('server.crt'),
        'tls-key': file('server.key'),
        'tls-client-ca': file('client.crt'),
      },
    })
    const by = (name: string) => ({
      cert: readFileSync(file(`${name}.crt`)),
      key: readFileSync(file(`${name}.key`)),
    })
    expect((await askTls(service.port, '/v1/check', by('client'))).status).toBe(200)
    await expect(askTls(service.port, '/v1/check', by('stranger'))).rejects.toThrow()
    await expect(askTls(service.port, '/v1/check')).rejects.toThrow()
  })

  it('keeps its authorities where the new list is empty or damaged, and says so', async () => {
    certificate('host')
    certificate('one')
    certificate('two')
    const list = file('authorities.pem')
    const [one, two] = [readFileSync(file('one.crt')), readFileSync(file('two.crt'))]
    writeFileSync(list, Buffer.concat([one, two]))
    const flags = { 'tls-cert': file('host.crt'), 'tls-key': file('host.key') }
    const service = await start({ flags: { ...flags, 'tls-client-ca': list } })
    const lets = async (name: string) => {
      const by = { cert: readFileSync(file(`${name}.crt`)), key: readFileSync(file(`${name}.key`)) }
      return (await askTls(service.port, '/v1/quota', by)).status === 200
    }
    const damaged = ['', 'hello', Buffer.concat([one, two.subarray(0, 200)])]
    for (const [i, content] of damaged.entries()) {
      writeFileSync(list, content)
      await until('it is refused', () => {
        const said = service.log.filter(({ msg }) => String(msg).includes('are refused'))
        return said.length > i
      })
      expect([await lets('one'), await lets('two')]).toEqual([true, true])
    }
    expect(service.log.some(({ msg }) => msg === 'new certificates are in use')).toBe(false)
    writeFileSync(list, two)
    await until('the shorter list is used', () =>
      service.log.some(({ msg }) => msg === 'new certificates are in use'),
    )
    expect(await lets('two')).toBe(true)
    await expect(lets('one')).rejects.toThrow()
  })

  it('goes on where its files cannot be looked at', async () => {
    certificate('lost')
    const [crt, key] = [file('lost.crt'), file('lost.key')]
    const service = await start({ flags: { 'tls-cert': crt, 'tls-key': key } })
    rmSync(crt)
    symlinkSync('lost.crt', crt)
    await until('it says so', () =>
      service.log.some(({ error }) => String(error).startsWith('ELOOP')),
    )
    expect(await askTls(service.port, '/v1/quota')).toEqual({ status: 200, name: 'lost' })
  })

  it('notices certificates that were copied with their times', async () => {
    const [crt, key] = [file('copy.crt'), file('copy.key')]
    const put = (name: string) => {
      for (const [ending, to] of [
        ['crt', crt],
        ['key', key],
      ] as const) {
        writeFileSync(to, readFileSync(file(`${name}.${ending}`), 'utf8').padEnd(4096, '\n'))
        utimesSync(to, 1_700_000_000, 1_700_000_000)
      }
    }
    certificate('early')
    certificate('later')
    put('early')
    const service = await start({ flags: { 'tls-cert': crt, 'tls-key': key } })
    expect((await askTls(service.port, '/v1/quota')).name).toBe('early')
    put('later')
    await until(
      'the new one is used',
      async () => (await askTls(service.port, '/v1/quota')).name === 'later',
    )
  })

  it('answers pipelines in order, also where they go the other way', async () => {
    certificate('piped')
    const service = await start({
      rules: 'rules:\n  hello: { scope: user, resource: /hello, limits: 10000/d fixed }\n',
      flags: { 'tls-cert': file('piped.crt'), 'tls-key': file('piped.key') },
    })
    for (let round = 0; round < 5; round++) {
      const one = new RawCaller(
        connectTls({ port: service.port, host: service.host, rejectUnauthorized: false }),
      )
      const health = 'GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n'
      one.send(
        checkBytes(`tls-${round}`).repeat(300) + health + checkBytes(`tls-${round}`).repeat(300),
      )
      for (let n = 1; n <= 300; n++)
        expect(JSON.parse((await one.next())!.body).remaining).toBe(10_000 - n)
      expect((await one.next())!.body).toBe('{"status":"ok"}')
      for (let n = 301; n <= 600; n++)
        expect(JSON.parse((await one.next())!.body).remaining).toBe(10_000 - n)
      one.socket.destroy()
    }
  })

  it('frees connections that never finish the handshake, and stops in spite of them', async () => {
    certificate('strict')
    const service = await startService({
      flags: {
        'tls-cert': file('strict.crt'),
        'tls-key': file('strict.key'),
        'max-connections': '10',
      },
    })
    for (let i = 0; i < 30; i++)
      service
        .connect()
        .on('error', () => {})
        .end()
    await until(
      'there is room',
      async () => (await askTls(service.port, '/v1/quota')).status === 200,
    )
    const silent = Array.from({ length: 5 }, () => service.connect().on('error', () => {}))
    await until('they are connected', () => silent.every((socket) => !socket.connecting))
    await service.stop()
  })

  it('says what does not go together', async () => {
    await expect(startService({ flags: { 'tls-cert': file('first.crt') } })).rejects.toThrow(
      /go together/,
    )
  })
})
