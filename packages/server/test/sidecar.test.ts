/** `sluice sidecar` as an operator runs it beside a gateway: a process of its own over a real Redis. */
import { existsSync, mkdtempSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { RedisServer, until } from '../../limiter/test/redis/servers.js'
import { SluiceProcess } from './process.js'
import { type Answer, ask } from './service.js'

const RULES = 'rules:\n  few: { scope: user, limits: 10/d fixed }\n'
const CHECK = { subject: { user: 'ada' }, resource: '/x' }

let redis: RedisServer
beforeAll(async () => {
  redis = await RedisServer.start()
})
afterAll(() => redis.stop())

function folderWith(rules: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-sidecar-'))
  writeFileSync(join(folder, 'rules.yaml'), rules)
  return folder
}

/** A busy machine does not decide whether it is exact. */
const overRedis = () => ['--redis', redis.url, '--redis-deadline', '5000', '--drain-delay', '0']

async function start(
  folder: string,
  args: readonly string[],
  environment: Record<string, string> = {},
): Promise<SluiceProcess> {
  const command = ['sidecar', '--port', '0', ...overRedis(), ...args]
  const sidecar = new SluiceProcess(command, { folder, environment })
  await until('it is ready', async () => (await sidecar.get('/readyz')).status === 200)
  return sidecar
}

const overSocket = (socketPath: string, path: string, body: unknown = null): Promise<Answer> =>
  ask(
    { socketPath, method: body === null ? 'GET' : 'POST', path, headers: {} },
    body === null ? null : JSON.stringify(body),
  )

describe('a sidecar', () => {
  it('says what it is, and decides by the file that it is given', async () => {
    const folder = folderWith(RULES)
    const sidecar = await start(folder, ['--rules', 'rules.yaml', '--socket', 'gateway.sock'])
    const banner = sidecar.words
      .replace(/after [\d.]+ s/, 'after N s')
      .replace(/(localhost|127\.0\.0\.1):\d+/g, 'HOST:PORT')
    expect(banner).toMatchInlineSnapshot(`
      "Sluice 0.1.0 sidecar decides after N s
        REST      http://HOST:PORT
        socket    gateway.sock
        rules     rules.yaml, 1 rule; saving applies
        counters  Redis HOST:PORT, shared; leases on
        access    this machine, no token; any other --host needs one
      "
    `)
    expect((await sidecar.post('/v1/check', CHECK)).body).toMatchObject({ rule: 'few', limit: 10 })
    expect((await sidecar.get('/v1/violations')).body.error.code).toBe('not_a_control_plane')
    expect(existsSync(join(folder, '.sluice', 'database'))).toBe(false)
    await sidecar.stop()
  })

  it('is asked over its socket as over its port, by who may open that and without a token', async () => {
    const folder = folderWith(RULES)
    const socket = join(folder, 'gateway.sock')
    const token = 'a-token-of-more-than-sixteen-letters'
    const args = ['--rules', 'rules.yaml', '--socket', socket, '--redis-prefix', 'socket']
    const sidecar = await start(folder, args, { SLUICE_TOKEN: token })
    expect(statSync(socket).mode & 0o777).toBe(0o660)
    expect((await sidecar.post('/v1/check', CHECK)).status).toBe(401)
    const answers: Answer[] = []
    for (let i = 0; i < 11; i++) answers.push(await overSocket(socket, '/v1/check', CHECK))
    expect(answers.map(({ status }) => status)).toEqual([...Array(10).fill(200), 429])
    expect((await overSocket(socket, '/readyz')).body).toMatchObject({
      ready: true,
      store: { kind: 'redis' },
    })
    expect(await sidecar.stop()).toEqual({ code: 0, signal: null })
    expect(existsSync(socket)).toBe(false)
  })

  it('starts at any moment after kill -9, where its socket still lies', async () => {
    const folder = folderWith(RULES)
    const socket = join(folder, 'gateway.sock')
    const args = ['--rules', 'rules.yaml', '--socket', socket, '--redis-prefix', 'killed']
    let allowed = 0
    for (let i = 0; i < 3; i++) {
      const sidecar = await start(folder, args)
      for (let j = 0; j < 5; j++)
        if ((await overSocket(socket, '/v1/check', CHECK)).status === 200) allowed++
      await sidecar.stop('SIGKILL')
      expect(existsSync(socket)).toBe(true)
    }
    // What was counted is in Redis: nothing starts anew with the process.
    expect(allowed).toBe(10)
  })

  it('leaves the socket to who listens on it', async () => {
    const folder = folderWith(RULES)
    const args = ['--rules', 'rules.yaml', '--socket', 'gateway.sock']
    const first = await start(folder, args)
    const second = new SluiceProcess(['sidecar', '--redis', redis.url, '--port', '0', ...args], {
      folder,
    })
    expect((await second.ended).code).toBe(2)
    expect(second.words).toContain('--socket gateway.sock is in use by another process')
    const answer = await overSocket(join(folder, 'gateway.sock'), '/v1/quota', CHECK)
    expect(answer.status).toBe(200)
    await first.stop('SIGKILL')
  })

  it('counts with the services over the same Redis', async () => {
    const service = await SluiceProcess.serve(RULES, [...overRedis(), '--redis-prefix', 'together'])
    const own = ['--rules', 'sluice.yaml', '--data', 'other', '--redis-prefix', 'together']
    const sidecar = await start(service.folder, own)
    let allowed = 0
    for (let i = 0; i < 30; i++)
      if ((await [service, sidecar][i % 2]!.post('/v1/check', CHECK)).status === 200) allowed++
    expect(allowed).toBe(10)
    await Promise.all([service.stop('SIGKILL'), sidecar.stop('SIGKILL')])
  })

  it('says what does not go together, with exit code 2', async () => {
    const address = 'redis://127.0.0.1:1'
    for (const [args, environment, words] of [
      [[], {}, 'over Redis: give --redis URL'],
      [['--rules', 'rules.yaml'], {}, 'give --redis URL'],
      [['--redis', address, '--database', 'postgres://x/y'], {}, 'opens no database'],
      [['--redis', address], { DATABASE_URL: 'postgres://x/y' }, 'DATABASE_URL'],
      [['--redis', address, '--leases', 'maybe'], {}, '--leases is "maybe"; expected on or off'],
      [['--redis', address, '--host', '0.0.0.0'], {}, 'SLUICE_TOKEN'],
      [['--redis', address, '--dev'], {}, "Unknown option '--dev'"],
      [['--redis', address, '--token', 'x'], {}, 'The one that sidecar demands comes from'],
      [['--redis', address, '--server', 'x'], {}, '--server says nothing to sidecar'],
    ] as const) {
      const folder = folderWith(RULES)
      const sidecar = new SluiceProcess(['sidecar', ...args], { folder, environment })
      expect([args, (await sidecar.ended).code]).toEqual([args, 2])
      expect(sidecar.words).toContain(words)
    }
    const service = new SluiceProcess(['serve', '--leases', 'on', '--rules', 'rules.yaml'], {
      folder: folderWith(RULES),
    })
    expect((await service.ended).code).toBe(2)
    expect(service.words).toContain('--leases on takes tokens from Redis ahead of time')
  })
})
