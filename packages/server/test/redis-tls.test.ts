/** Redis over TLS: alone, as a cluster, behind Sentinel; encrypted to every one of them, or not connected. */
import { type ChildProcess, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Duplex } from 'node:stream'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { freePort, RedisServer, spawnSentinel, until } from '../../limiter/test/redis/servers.js'
import { readRedisAddress } from '../src/counters/redis-address.js'
import { connectRedis } from '../src/counters/redis-connection.js'
import { SluiceProcess } from './process.js'

const PASSWORD = 'open-sesame'
const folder = mkdtempSync(join(tmpdir(), 'sluice-redis-tls-'))
const certificate = join(folder, 'redis.crt')
const key = join(folder, 'redis.key')
const TLS = {
  'tls-cert-file': certificate,
  'tls-key-file': key,
  'tls-ca-cert-file': certificate,
  'tls-auth-clients': 'no',
  'tls-replication': 'yes',
}

let redis: RedisServer
let sentinel: ChildProcess
let ports: { redis: number; sentinel: number; plainSentinel: number }

beforeAll(async () => {
  const kind = ['-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes']
  const name = ['-days', '2', '-subj', '/CN=redis', '-addext', 'subjectAltName=IP:127.0.0.1']
  const made = spawnSync('openssl', ['req', ...kind, ...name, '-keyout', key, '-out', certificate])
  if (made.status !== 0) throw new Error(made.stderr.toString())
  ports = { redis: await freePort(), sentinel: await freePort(), plainSentinel: await freePort() }
  const tls = Object.entries(TLS).flatMap(([option, value]) => [`--${option}`, value])
  redis = await RedisServer.start({ args: ['--tls-port', String(ports.redis), ...tls] })
  await redis.admin.config('SET', 'requirepass', PASSWORD)
  const file = join(folder, 'sentinel.conf')
  writeFileSync(
    file,
    [
      `port ${ports.plainSentinel}`,
      `tls-port ${ports.sentinel}`,
      `dir ${folder}`,
      ...Object.entries(TLS).map(([option, value]) => `${option} ${value}`),
      `sentinel monitor main 127.0.0.1 ${ports.redis} 1`,
      `sentinel auth-pass main ${PASSWORD}`,
    ].join('\n'),
  )
  sentinel = spawnSentinel(file)
})

afterAll(async () => {
  sentinel.kill('SIGKILL')
  await redis.stop()
  rmSync(folder, { recursive: true, force: true })
})

/** Whether a service that trusts the certificate, or does not, counts in the Redis of this address. */
async function counts(address: string, isTrusting: boolean): Promise<boolean> {
  const trust = { NODE_EXTRA_CA_CERTS: certificate }
  writeFileSync(join(folder, 'sluice.yaml'), 'rules:\n  all: { scope: user, limits: 1000/h }\n')
  const args = ['serve', '--port', '0', '--data', mkdtempSync(join(folder, 'data-'))]
  const sluice = new SluiceProcess([...args, '--redis', address, '--drain-delay', '0'], {
    folder,
    environment: isTrusting ? trust : {},
  })
  await until('it is ready', async () => (await sluice.get('/readyz')).status === 200)
  const check = () => sluice.post('/v1/check', { subject: { user: 'ada' }, resource: '/' })
  if (isTrusting) await until('it counts there', async () => isExact((await check()).body))
  else await until('it says so', () => sluice.words.includes('does not answer'))
  const { body } = await check()
  expect(sluice.words).not.toContain(PASSWORD)
  await sluice.stop()
  return isExact(body)
}

function isExact({ allowed, degraded }: { allowed?: boolean; degraded?: boolean }): boolean {
  return allowed === true && degraded === undefined
}

describe('Redis over TLS', () => {
  it('is used where its certificate is trusted, and never where it is not', async () => {
    const address = `rediss://:${PASSWORD}@127.0.0.1:${ports.redis}`
    expect(await counts(address, true)).toBe(true)
    expect(await counts(address, false)).toBe(false)
  })

  it('is so to sentinels, and to the server that they name', async () => {
    const at = (port: number) => `rediss+sentinel://:${PASSWORD}@127.0.0.1:${port}/main`
    expect(await counts(at(ports.sentinel), true)).toBe(true)
    expect(await counts(at(ports.sentinel), false)).toBe(false)
  })

  it.each(['rediss', 'rediss+cluster', 'rediss+sentinel'])(
    'says nothing in the clear: %s',
    async (scheme) => {
      const heard: Buffer[] = []
      const listener = createServer((socket) => {
        socket.on('error', () => {})
        socket.on('data', (bytes) => heard.push(bytes))
      }).listen(0, '127.0.0.1')
      await once(listener, 'listening')
      const { port } = listener.address() as { port: number }
      const client = connectRedis(readRedisAddress(`${scheme}://ada:${PASSWORD}@127.0.0.1:${port}`))
      client.on('error', () => {})
      await until('it speaks', () => heard.length > 0)
      // A handshake's record, of which the first is the hello.
      expect(heard[0]!.subarray(0, 2)).toEqual(Buffer.from([0x16, 0x03]))
      expect(Buffer.concat(heard).includes(PASSWORD)).toBe(false)
      client.disconnect()
      listener.close()
    },
  )

  it('survives a handshake that fails again after it was given up', async () => {
    const sockets: Socket[] = []
    const silent = createServer((socket) => sockets.push(socket)).listen(0, '127.0.0.1')
    await once(silent, 'listening')
    const { port } = silent.address() as { port: number }
    const client = connectRedis(readRedisAddress(`rediss://127.0.0.1:${port}`))
    client.on('error', () => {})
    await until('it has begun', () => sockets.length > 0)
    const { stream } = client as unknown as { stream: Duplex }
    client.disconnect()
    for (const why of ['the certificate', 'the alert of the other end'])
      expect(stream.emit('error', new Error(why))).toBe(true)
    for (const socket of sockets) socket.destroy()
    silent.close()
  })
})
