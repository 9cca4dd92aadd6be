import { once } from 'node:events'
import { appendFileSync, rmSync, writeFileSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { RedisServer, until } from '../../limiter/test/redis/servers.js'
import { admin } from './faults/fleet.js'
import { SluiceProcess } from './process.js'

const RULES = `rules:
  daily: { scope: user, limits: 1M/d fixed }
`
const CHECK = { subject: { user: 'ada' }, resource: '/x', include: ['receipt'] }

describe('a process', () => {
  it('keeps its counters over a stop, which ends with 0', async () => {
    const first = await SluiceProcess.serve(RULES, ['--drain-delay', '0'])
    for (let i = 0; i < 4; i++) await first.post('/v1/check', CHECK)
    const [{ receipt }, { receipt: used }] = [
      (await first.post('/v1/check', CHECK)).body,
      (await first.post('/v1/check', CHECK)).body,
    ]
    await first.post('/v1/refund', { receipt: used })
    expect(await first.stop()).toEqual({ code: 0, signal: null })
    const second = await SluiceProcess.serve(RULES, [], first.folder)
    expect((await second.post('/v1/check', CHECK)).body.remaining).toBe(999_994)
    for (const one of [receipt, used])
      expect((await second.post('/v1/refund', { receipt: one })).body.refunded).toEqual({
        requests: 1,
      })
    expect((await second.post('/v1/quota', CHECK)).body.remaining).toBe(999_995)
    await second.stop('SIGINT')
  })

  it('keeps its counters where the embedded database has its rules, also while these are not known yet', async () => {
    const serve = async (folder?: string) => {
      const args = ['serve', '--port', '0', '--drain-delay', '0']
      const sluice = new SluiceProcess(args, folder === undefined ? {} : { folder })
      await until('it is ready', async () => (await sluice.get('/readyz')).status === 200)
      return sluice
    }
    const first = await serve()
    const rule = { name: 'daily', scope: 'user', limits: ['1M/d fixed'] }
    expect((await admin(first, 'POST', '/v1/rules', rule)).status).toBe(201)
    for (let i = 0; i < 4; i++) await first.post('/v1/check', CHECK)
    await first.stop()
    const second = await serve(first.folder)
    expect((await second.post('/v1/check', CHECK)).body.remaining).toBe(999_995)
    await second.stop()
    rmSync(join(first.folder, '.sluice/rules.ndjson'))
    const third = await serve(first.folder)
    await until(
      'its rules are known',
      async () => (await third.post('/v1/quota', CHECK)).body.limit === 1_000_000,
    )
    expect((await third.post('/v1/quota', CHECK)).body.remaining).toBe(999_995)
    await third.stop()
  })

  it('loses at most what it counted last when it is killed', async () => {
    const first = await SluiceProcess.serve(RULES)
    for (let i = 0; i < 5; i++) await first.post('/v1/check', CHECK)
    await wait(1200)
    await first.post('/v1/check', CHECK)
    await first.stop('SIGKILL')
    const second = await SluiceProcess.serve(RULES, [], first.folder)
    const { remaining } = (await second.post('/v1/quota', CHECK)).body
    expect(remaining).toBeLessThanOrEqual(999_995)
    expect(remaining).toBeGreaterThanOrEqual(999_994)
    await second.stop('SIGKILL')
  })

  it('is not ready while it stops, and answers what it is asked', async () => {
    const sluice = await SluiceProcess.serve(RULES, ['--drain-delay', '1500'])
    sluice.child.kill('SIGTERM')
    await until('it says that it stops', async () => (await sluice.get('/readyz')).status === 503)
    expect((await sluice.get('/readyz')).body).toEqual({ ready: false, reason: 'stopping' })
    const answer = await sluice.post('/v1/check', CHECK)
    expect([answer.status, answer.headers['connection']]).toEqual([200, 'close'])
    expect(await sluice.ended).toEqual({ code: 0, signal: null })
  })

  it('ends at once at the second signal', async () => {
    const sluice = await SluiceProcess.serve(RULES, ['--drain-delay', '8000'])
    sluice.child.kill('SIGTERM')
    await until('it stops', async () => (await sluice.get('/readyz')).status === 503)
    const started = performance.now()
    expect((await sluice.stop()).code).toBe(1)
    expect(performance.now() - started).toBeLessThan(5000)
  })

  it('says who has its port', async () => {
    const holder = createServer().listen(0, '127.0.0.1')
    await once(holder, 'listening')
    const { port } = holder.address() as { port: number }
    const sluice = new SluiceProcess(['serve', '--port', String(port)])
    expect((await sluice.ended).code).toBe(1)
    expect(sluice.words).toContain(`Port ${port} is taken by `)
    expect(sluice.words).toContain(`(pid ${process.pid}). Try: PORT=${port + 10} npm start\n`)
    expect(sluice.words).not.toContain('    at ')
    holder.close()
    const first = await SluiceProcess.serve(RULES)
    const second = new SluiceProcess(['serve', '--port', String(first.port)])
    expect((await second.ended).code).toBe(1)
    expect(second.words).toContain(
      `(pid ${first.child.pid}): Sluice runs there already, http://localhost:${first.port}. Try: `,
    )
    const third = new SluiceProcess(['serve', '--port', '0'], { folder: first.folder })
    expect((await third.ended).code).toBe(1)
    expect(third.words).toContain(`in use by pid ${first.child.pid}`)
    await first.stop('SIGKILL')
  })

  it('says what does not go together, with exit code 2', async () => {
    for (const [args, words] of [
      [['--host', '0.0.0.0'], 'SLUICE_TOKEN'],
      [['--redis', 'redis://127.0.0.1:1'], '--rules FILE'],
      [['--redis', 'redis://127.0.0.1:1'], '--database URL'],
      [['--redis', 'redis://127.0.0.1:1'], '--rules feed'],
      [['--rules', 'feed'], 'give --redis URL'],
      [
        ['--rules', 'feed', '--redis', 'redis://127.0.0.1:1', '--database', 'postgres://x/y'],
        'opens no database',
      ],
      [['--port', 'x'], '--port is "x"; expected a whole number from 0 to 65535'],
      [['--database', 'mysql://x/y'], 'postgres://user:password@host:5432/sluice'],
    ] as const) {
      const sluice = new SluiceProcess(['serve', ...args])
      expect((await sluice.ended).code).toBe(2)
      expect(sluice.words).toContain(words)
    }
  })

  it('starts without rules, and says so', async () => {
    const sluice = new SluiceProcess(['serve', '--port', '0'])
    await until('it is ready', async () => (await sluice.get('/readyz')).status === 200)
    expect(sluice.words).toContain('everything is allowed')
    const check = { ...CHECK, include: ['limits'] }
    expect((await sluice.post('/v1/check', check)).body).toMatchObject({
      allowed: true,
      limits: [],
    })
    await sluice.stop('SIGKILL')
  })

  it('does not start with faulty rules, and follows them once it runs', async () => {
    const bad = new SluiceProcess(['serve', '--port', '0'])
    await bad.stop('SIGKILL')
    writeFileSync(join(bad.folder, 'sluice.yaml'), 'rules:\n  a: { scope: user, limits: 10/mon }\n')
    const refused = new SluiceProcess(['serve', '--port', '0'], { folder: bad.folder })
    expect((await refused.ended).code).toBe(3)
    expect(refused.words).toContain('sluice.yaml:2:')
    const sluice = await SluiceProcess.serve(RULES)
    appendFileSync(
      join(sluice.folder, 'sluice.yaml'),
      '  more: { scope: org, limits: 5/d fixed }\n',
    )
    const asked = { subject: { org: 'acme' }, resource: '/x' }
    await until(
      'the new rule holds',
      async () => (await sluice.post('/v1/quota', asked)).body.limit === 5,
    )
    appendFileSync(join(sluice.folder, 'sluice.yaml'), '  worse: { scope: org, limits: 5/month }\n')
    await until('the fault is told', () => sluice.words.includes('is refused'))
    expect((await sluice.post('/v1/quota', asked)).body.limit).toBe(5)
    await sluice.stop('SIGKILL')
  })
})

describe('instances over one Redis', () => {
  let redis: RedisServer
  beforeAll(async () => {
    redis = await RedisServer.start()
  })
  afterAll(async () => {
    await redis.stop()
  })

  it('are exact together, and honour what the other gave', async () => {
    const rules =
      'rules:\n  few: { scope: user, limits: 500/d fixed }\n  jobs: { scope: org, limits: 1 concurrent for 60s }\n'
    const [one, two] = await Promise.all(
      [0, 1].map(() =>
        SluiceProcess.serve(rules, [
          '--redis',
          redis.url,
          '--redis-deadline',
          '5000',
          '--drain-delay',
          '0',
        ]),
      ),
    )
    const answers = await Promise.all(
      Array.from({ length: 800 }, (_, i) => (i % 2 === 0 ? one! : two!).post('/v1/check', CHECK)),
    )
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(500)
    expect(answers.filter(({ body }) => body.degraded)).toHaveLength(0)

    const taken = answers.find(({ status }) => status === 200)!
    const refunds = await Promise.all(
      [one!, two!, one!, two!].map((at) => at.post('/v1/refund', { receipt: taken.body.receipt })),
    )
    for (const refund of refunds)
      expect(refund.status === 200 ? refund.body.refunded : refund.body.error.code).toEqual(
        refund.status === 200 ? { requests: 1 } : 'idempotency_in_progress',
      )
    expect((await one!.post('/v1/quota', CHECK)).body.remaining).toBe(1)

    const { reservation } = (await one!.post('/v1/reserve', CHECK)).body
    expect((await two!.post('/v1/settle', { reservation, cost: 0 })).body.given_back).toEqual({
      requests: 1,
    })
    const job = { subject: { org: 'acme' }, resource: '/jobs' }
    const { hold } = (await one!.post('/v1/check', job)).body
    expect((await two!.post('/v1/check', job)).status).toBe(429)
    expect((await two!.post('/v1/renew', { hold })).status).toBe(200)
    expect((await two!.post('/v1/release', { hold })).body).toEqual({ released: true })
    expect((await one!.post('/v1/check', job)).status).toBe(200)
    await Promise.all([one!.stop(), two!.stop()])
  })

  it('start degraded where Redis does not answer, and are exact when it does', async () => {
    const rules =
      'rules:\n  few: { scope: user, limits: 1M/d fixed }\n  shut: { scope: org, failure_mode: closed, limits: 10/d fixed }\n'
    const late = await RedisServer.start()
    await late.kill()
    const sluice = await SluiceProcess.serve(rules, ['--redis', late.url, '--drain-delay', '0'])
    expect(sluice.words).toContain(`Redis 127.0.0.1:${late.port} does not answer (ECONNREFUSED)`)
    const local = await sluice.post('/v1/check', CHECK)
    expect([local.status, local.body.degraded]).toEqual([200, true])
    const shut = await sluice.post('/v1/check', { subject: { org: 'acme' } })
    expect([shut.status, shut.body.error.code]).toEqual([503, 'store_down'])
    await late.start()
    await until(
      'it is exact again',
      async () => !(await sluice.post('/v1/check', CHECK)).body.degraded,
    )
    const { body } = await sluice.post('/v1/check', CHECK)
    expect((await sluice.post('/v1/refund', { receipt: body.receipt })).status).toBe(200)
    await sluice.stop()
    await late.stop()
  })

  it('lose no request in a rolling restart, of callers who follow Connection: close', async () => {
    const args = ['--redis', redis.url, '--drain-delay', '400']
    const instances = await Promise.all([0, 1].map(() => SluiceProcess.serve(RULES, args)))
    const ports = instances.map(({ port }) => port)
    const ready = new Set(ports)
    let asked = 0
    let failures = 0
    const over = new AbortController()
    const agents = new Map(
      ports.map((port) => [port, new Agent({ keepAlive: true, maxSockets: 4 })]),
    )
    /** As a load balancer does: asks who is ready, and sends to those. */
    const watch = async () => {
      while (!over.signal.aborted) {
        for (const port of ports) {
          const status = await send(port, 'GET', '/readyz', new Agent()).catch(() => 0)
          if (status === 200) ready.add(port)
          else ready.delete(port)
        }
        await wait(50)
      }
    }
    const client = async () => {
      for (let i = 0; !over.signal.aborted; i++) {
        const [port] = [...ready].slice(i % Math.max(1, ready.size))
        if (port === undefined) {
          await wait(5)
          continue
        }
        asked++
        const status = await send(port, 'POST', '/v1/check', agents.get(port)!).catch(() => 0)
        if (status !== 200) failures++
      }
    }
    const load = Promise.all([watch(), ...Array.from({ length: 8 }, client)])
    for (const [i, old] of instances.entries()) {
      const before = asked
      await until('there is load', () => asked > before + 100)
      expect(await old.stop()).toEqual({ code: 0, signal: null })
      const again = new SluiceProcess(['serve', '--port', String(ports[i]), ...args], {
        folder: old.folder,
      })
      await until('it is back', async () => (await again.get('/readyz')).status === 200)
      instances[i] = again
      await until('it is used again', () => ready.has(ports[i]!))
    }
    over.abort()
    await load
    for (const agent of agents.values()) agent.destroy()
    expect(failures).toBe(0)
    expect(asked).toBeGreaterThan(300)
    await Promise.all(instances.map((one) => one.stop('SIGKILL')))
  })
})

function send(port: number, method: string, path: string, agent: Agent): Promise<number> {
  return new Promise((resolve, reject) => {
    const sent = request({ host: '127.0.0.1', port, method, path, agent }, (response) => {
      response.resume()
      response.on('end', () => resolve(response.statusCode!))
      response.on('error', reject)
    })
    sent.on('error', reject)
    sent.end(
      method === 'POST' ? JSON.stringify({ subject: { user: 'many' }, resource: '/x' }) : undefined,
    )
  })
}
