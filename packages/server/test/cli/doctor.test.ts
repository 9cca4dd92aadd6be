import { once } from 'node:events'
import { mkdirSync } from 'node:fs'
import { createServer } from 'node:http'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { freePort, RedisServer, until } from '../../../limiter/test/redis/servers.js'
import { serverFindings } from '../../src/cli/doctor/server-findings.js'
import { VERSION } from '../../src/version.js'
import { startService } from '../service.js'
import { inOwnFolder, run, shown } from './command.js'
import { FakeRedis } from './fake-redis.js'

const folder = inOwnFolder()
const READY = { ready: true, rules: { revision: 41, count: 10 } }

const steady = (text: string) =>
  text
    .replace(/node v\S+/, 'node vN')
    .replace(/localhost:\d+|127\.0\.0\.1:\d+/g, 'HOST:PORT')
    .replace(/redis \d+\.\d+\.\d+, [\d.]+ ms/, 'redis N, N ms')
    .replace(/pid \d+/, 'pid N')
/** One that is well, where a test is not about the server. */
let well: { port: number; stop(): void }
beforeAll(async () => {
  well = await pretend(READY, `sluice_build_info{version="${VERSION}"} 1`)
})
afterAll(() => well.stop())

const doctor = async (line = '', environment: Record<string, string> = {}) => {
  const standard = { SLUICE_SERVER: `localhost:${well.port}` }
  const options = { environment: { ...standard, ...environment } }
  return steady(shown(await run(`doctor ${line}`.trim(), options)))
}
/** Only what concerns the server, or Redis. */
const about = (what: RegExp, text: string) =>
  text
    .split(/\n(?=ok|warn|FAIL|\[)/)
    .filter((finding) => what.test(finding) || finding.startsWith('['))
    .join('\n')

/** A server that says these things of itself. */
async function pretend(
  ready: object,
  metrics: string,
  hot: Record<string, object[]> = {},
): Promise<{ port: number; stop(): void }> {
  const server = createServer((request, answer) => {
    const isMetrics = request.url === '/metrics'
    const namespace = /^\/v1\/hot\?namespace=(\w+)/.exec(request.url!)?.[1]
    const items = hot[namespace ?? '']?.map((row) => ({ leased: false, shards: 1, ...row }))
    const body = namespace === undefined ? ready : { items, sampled: 1, window_seconds: 10 }
    answer.setHeader('content-type', isMetrics ? 'text/plain' : 'application/json')
    answer.end(isMetrics ? metrics : JSON.stringify(body))
  }).listen(0)
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  return { port, stop: () => server.close() }
}

describe('doctor', () => {
  it('finds nothing wrong before a start, and says what is to be done', async () => {
    expect(await doctor()).toMatchInlineSnapshot(`
      "
      ok    node vN
      ok    sluice.yaml is not here: serve takes its rules from a database
      ok    .sluice/ is not here yet; serve makes it
      ok    http://HOST:PORT is ready: 0.1.0, 10 rules, revision 41
      [0]
      "
    `)
    const server = `http://localhost:${await freePort()}`
    const stated = { server, token: undefined, namespace: undefined, isServerStated: false }
    const [silent] = await serverFindings({ ...stated, json: false, yes: false, input: true })
    expect(silent).toEqual({
      level: 'warn',
      what: `Nothing answers at ${server} (ECONNREFUSED)`,
      fix: 'sluice serve',
    })
  })

  it('finds faulty rules and warnings', async () => {
    folder.write('sluice.yaml', 'rules:\n  a: { scope: user, limits: 10/mon }\n  b: { scope: x }\n')
    expect(about(/yaml/, await doctor())).toMatchInlineSnapshot(`
      "FAIL  sluice.yaml has 2 faults; the first at 2:32: unknown unit "mon"
            fix: sluice rules validate sluice.yaml
      [6]
      "
    `)
    folder.write('sluice.yaml', 'rules:\n  a: { scope: user, limits: 10/s, reach: global }\n')
    expect(about(/yaml/, await doctor())).toMatchInlineSnapshot(`
      "ok    sluice.yaml, 1 rule
      warn  sluice.yaml: rules.a.reach is not in force yet
      [0]
      "
    `)
    expect(about(/yaml/, await doctor('--rules none.yaml'))).toMatchInlineSnapshot(`
      "FAIL  none.yaml is not here
            fix: --rules FILE
      [6]
      "
    `)
  })

  it('is satisfied with a server that is well, and says who has its folder', async () => {
    const service = await startService()
    await run('init')
    const line = `--server localhost:${service.port} --data ${service.folder}/data`
    expect((await doctor(line)).replaceAll(service.folder, 'DIR')).toMatchInlineSnapshot(`
      "
      ok    node vN
      ok    sluice.yaml, 5 rules
      ok    DIR/data/ can be written, in use by pid N
      ok    http://HOST:PORT is ready: 0.1.0, 1 rule, revision 1
      [0]
      "
    `)
    const { out, words } = await run(`doctor ${line} --json`)
    expect(words).toBe('')
    expect(JSON.parse(out)).toMatchObject({ ok: true, findings: [{ level: 'ok' }, {}, {}, {}] })
    const piped = await run(`doctor ${line}`, { isTerminal: false })
    expect(piped.out.split('\n')[1]).toBe('ok\tsluice.yaml, 5 rules')
    await service.stop()
  })

  it('tells how far each data plane has come, what is away and what was lost', async () => {
    const gauge = (name: string, ...lines: string[]) =>
      [`# TYPE sluice_${name} gauge`, ...lines.map((line) => `sluice_${name}${line}`)].join('\n')
    const metrics = (away: number, revisions: readonly number[], lags: readonly number[]) =>
      [
        gauge('build_info', '{version="0.1.0",node="v20"} 1'),
        gauge('database_away', ` ${away}`),
        gauge('feed_away', ` ${away}`),
        gauge(
          'plane_revision',
          ...revisions.map((n, i) => `{instance="i${i}",host="api-${i}"} ${n}`),
        ),
        gauge(
          'plane_lag_seconds',
          ...lags.map((n, i) => `{instance="i${i}",host="api-${i}"} ${n}`),
        ),
        gauge(
          'plane_older',
          ...revisions.map((n, i) => `{instance="i${i}",host="api-${i}"} ${n === 40 ? 1 : 0}`),
        ),
        gauge('usage_lost_total', `{where="instance"} ${away * 7}`),
      ].join('\n')
    const said: string[] = []
    for (const text of [metrics(0, [41, 41], [0, 0]), metrics(1, [41, 38, 40], [0, 9.5, 0.2])]) {
      const server = await pretend(READY, text)
      const all = await doctor(`--server localhost:${server.port}`)
      said.push(about(/database (answers|does)|data plane|api-|source|usage/, all))
      server.stop()
    }
    expect(said.join('\n')).toMatchInlineSnapshot(`
      "ok    its database answers
      ok    2 data planes at revision 41
      [0]

      FAIL  its database does not answer: rules cannot be changed
            fix: is PostgreSQL running?
      warn  the source of its rules does not answer: the last known ones are in force
      FAIL  api-1 (i1) is at revision 38 of 41 for 9.5 s
            fix: see its log
      warn  api-2 (i2) is at revision 40 of 41 for 0.2 s
      warn  api-2 (i2) is of an older release: rules with new fields are not in force there
            fix: replace it, or take these fields out (docs: Upgrading)
      warn  usage of 7 decisions was lost: it could not be sent
      [6]
      "
    `)
  })

  it('finds a folder that cannot keep counters', async () => {
    folder.write('file', '')
    mkdirSync('there')
    const said: string[] = []
    for (const data of ['file', 'file/below', 'there'])
      said.push(about(/^(\n)?\w+ +(file|there)/, await doctor(`--data ${data}`)))
    expect(said.join('\n')).toMatchInlineSnapshot(`
      "FAIL  file is no folder
            fix: --data DIR
      [6]

      FAIL  file/below/ cannot be written (EACCES): serve would not start
            fix: --data DIR
      [6]

      ok    there/ can be written, in use by nobody
      [0]
      "
    `)
  })

  it('finds that a named server is away, strange, not ready, or wants a token', async () => {
    const said: string[] = []
    const port = await freePort()
    said.push(await doctor(`--server localhost:${port}`))
    const odd = await pretend({ hello: 'world' }, '')
    said.push(await doctor(`--server localhost:${odd.port}`))
    odd.stop()
    const unready = await pretend({ ready: false, reason: 'stopping' }, '')
    said.push(await doctor(`--server localhost:${unready.port}`))
    unready.stop()
    const guarded = await startService({ token: 'a-token-of-more-than-sixteen-letters' })
    said.push(await doctor(`--server localhost:${guarded.port}`))
    said.push(await doctor(`--server localhost:${guarded.port} --token wrong-wrong-wrong-wrong`))
    await guarded.stop()
    expect(said.map((text) => about(/HOST/, text)).join('\n')).toMatchInlineSnapshot(`
      "FAIL  Nothing answers at http://HOST:PORT (ECONNREFUSED)
            fix: sluice serve
      [6]

      FAIL  http://HOST:PORT answers, but not as Sluice does
            fix: --server URL
      [6]

      FAIL  http://HOST:PORT is not ready: stopping
            fix: wait, or see its log
      [6]

      ok    http://HOST:PORT is ready
      FAIL  http://HOST:PORT wants a token
            fix: SLUICE_TOKEN=…
      [6]

      ok    http://HOST:PORT is ready
      FAIL  http://HOST:PORT does not know this token
            fix: SLUICE_TOKEN=…
      [6]
      "
    `)
  })

  it('reads what a server counts', async () => {
    const unwell = await pretend(
      READY,
      `# HELP x
sluice_build_info{version="0.0.9",node="v20"} 1
sluice_breaker_state{state="closed"} 0
sluice_breaker_state{state="open"} 1
sluice_clock_offset_seconds -0.612
sluice_clock_steps_back_total 2
sluice_degraded_decisions_total{reason="timeout"} 8000
sluice_degraded_decisions_total{reason="breaker"} 112
sluice_memory_evicted_total 3
`,
    )
    const text = await doctor(`--server localhost:${unwell.port}`)
    unwell.stop()
    expect(text.slice(text.indexOf('warn  http'))).toMatchInlineSnapshot(`
      "warn  http://HOST:PORT is ready: 0.0.9, 10 rules, revision 41; this command is 0.1.0
            fix: use the same version
      FAIL  its Redis does not answer (breaker open)
            fix: sluice doctor --redis URL, from there
      warn  its clock is 612 ms off from Redis's, which decides
            fix: chrony or another NTP client on both
      warn  the clock that decides has stepped back by more than a minute since its start
            fix: chrony or another NTP client, which does not step
      warn  8,112 decisions without the store since its start
      warn  3 counters had to go before their time: their subjects started unused
            fix: --max-keys N
      [6]
      "
    `)
    const fine = await pretend(
      READY,
      'sluice_breaker_state{state="closed"} 1\nsluice_clock_offset_seconds 0.4\nsluice_clock_steps_back_total 0\nsluice_memory_evicted_total 0\n',
    )
    const good = await doctor(`--server localhost:${fine.port}`)
    fine.stop()
    expect(good).toContain('ok    its Redis answers (breaker closed)')
    expect(good).not.toMatch(/clock|evicted|without the store/)
  })

  it('tells the hottest row of all namespaces, and what would help', async () => {
    const row = { rule: 'search', scope: 'user', value: '42', denied_share: 0.254, advice: null }
    const busy = await pretend(
      READY,
      `sluice_hottest_row_per_second{namespace="default",rule="search"} 812
sluice_hottest_row_per_second{namespace="default",rule="all"} 700
sluice_hottest_row_per_second{namespace="shop",rule="all"} 12040.4
`,
      {
        default: [{ ...row, namespace: 'default', per_second: 812, share: 0.31 }],
        shop: [
          {
            namespace: 'shop',
            rule: 'all',
            scope: 'global',
            value: null,
            per_second: 12_040.4,
            share: 0.004,
            denied_share: 0,
            advice: { code: 'shard', message: 'it is asked much\u001b[2J; split it' },
          },
        ],
      },
    )
    const text = await doctor(`--server localhost:${busy.port}`)
    busy.stop()
    expect(about(/hot/, text)).toMatchInlineSnapshot(`
      "ok    hottest row: global of all in shop, 12,040 a second, 0.4 % of all
      warn  global of all in shop is hot: it is asked much\\u001b[2J; split it
      [0]
      "
    `)
    const calm = await pretend(
      READY,
      'sluice_hottest_row_per_second{namespace="default",rule="search"} 812\n',
      { default: [{ ...row, namespace: 'default', per_second: 812, share: 0.31 }] },
    )
    expect(about(/hot/, await doctor(`--server localhost:${calm.port}`))).toMatchInlineSnapshot(`
      "ok    hottest row: user:42 of search, 812 a second, 31 % of all, 25 % of them denied
      [0]
      "
    `)
    calm.stop()
  })

  it('finds what a real server found out about its Redis', async () => {
    const port = await freePort()
    const degraded = await startService({ flags: { redis: `redis://127.0.0.1:${port}` } })
    await until('the breaker is open', async () => {
      await degraded.post('/v1/check', { subject: { user: 'ada' }, resource: '/hello' })
      return (await doctor(`--server localhost:${degraded.port}`)).includes('breaker open')
    })
    const text = await doctor(`--server localhost:${degraded.port}`)
    await degraded.stop()
    expect(text).toMatch(/warn {2}\d+ decisions without the store since its start/)
    expect(text).toContain('[6]')
  })
})

describe('a Redis', () => {
  it('that is well is said to be', async () => {
    const redis = await RedisServer.start()
    expect(about(/redis/, await doctor(`--redis ${redis.url}`))).toMatchInlineSnapshot(`
      "ok    redis N, N ms, noeviction
      ok    redis: after its restart counters are as old as its last snapshot, or unused; no replicas
      [0]
      "
    `)
    expect(await doctor('', { REDIS_URL: redis.url })).toContain('ok    redis N, N ms, noeviction')
    await redis.admin.config('SET', 'maxmemory-policy', 'allkeys-lru')
    await redis.admin.config('SET', 'appendonly', 'yes')
    expect(about(/redis/, await doctor(`--redis ${redis.url}`))).toMatchInlineSnapshot(`
      "FAIL  redis drops keys when it is full (maxmemory-policy allkeys-lru): limits would start unused
            fix: redis-cli config set maxmemory-policy noeviction
      ok    redis: counters outlive its restart (AOF); no replicas
      [6]
      "
    `)
    await redis.stop()
  })

  it('that wants a password, or is not there, is found out', async () => {
    const redis = await RedisServer.start()
    await redis.admin.config('SET', 'requirepass', 'hunter2')
    const none = await doctor(`--redis ${redis.url}`)
    expect(about(/redis/, none)).toMatchInlineSnapshot(`
      "FAIL  redis HOST:PORT lets nobody in so (NOAUTH)
            fix: redis://user:password@host:6379
      [6]
      "
    `)
    const right = await doctor(`--redis ${redis.url.replace('//', '//:hunter2@')}`)
    expect(right).toContain('ok    redis N')
    const wrong = await doctor(`--redis ${redis.url.replace('//', '//:hunter3@')}`)
    expect(wrong).not.toMatch(/hunter/)
    await redis.stop()
    const port = await freePort()
    expect(
      about(/redis/, await doctor(`--redis redis://127.0.0.1:${port}`)),
    ).toMatchInlineSnapshot(`
      "FAIL  redis HOST:PORT does not answer (ECONNREFUSED)
            fix: start it, or correct --redis
      [6]
      "
    `)
    expect((await run('doctor --redis http://x')).code).toBe(2)
  })

  it('that refuses every key while one node of its cluster is gone is found out', async () => {
    const bus = String(await freePort())
    const args = ['--cluster-enabled', 'yes', '--cluster-port', bus]
    const server = await RedisServer.start({ args })
    await server.admin.cluster('ADDSLOTSRANGE', 0, 16_383)
    // It does not know its own address yet, and so no client finds it.
    expect(
      about(/redis/, await doctor(`--redis redis+cluster://127.0.0.1:${server.port}`)),
    ).toMatch(/FAIL {2}redis .* does not answer/)
    await server.admin.config('SET', 'cluster-announce-ip', '127.0.0.1')
    await until('it serves', async () =>
      (await server.admin.cluster('INFO')).includes('cluster_state:ok'),
    )
    const line = `--redis redis+cluster://127.0.0.1:${server.port}`
    expect(about(/cluster-require/, await doctor(line))).toContain(
      'warn  the cluster refuses every key while one node fails over (cluster-require-full-coverage yes)',
    )
    await server.admin.config('SET', 'cluster-require-full-coverage', 'no')
    expect(about(/cluster-require/, await doctor(line))).not.toContain('full-coverage')
    await server.stop()
  })

  it('that is too old, a replica, or a cluster is found out', async () => {
    const old = await FakeRedis.start({
      redis_version: '6.0.16',
      role: 'slave',
      maxmemory_policy: 'volatile-lru',
      cluster_enabled: '1',
      connected_slaves: '2',
    })
    expect(about(/redis/, await doctor(`--redis ${old.url}`))).toMatchInlineSnapshot(`
      "FAIL  redis 6.0.16 is too old
            fix: Redis 6.2 or newer
      FAIL  redis drops keys when it is full (maxmemory-policy volatile-lru): limits would start unused
            fix: redis-cli config set maxmemory-policy noeviction
      FAIL  redis is a replica: nothing can be counted in it
            fix: --redis the primary's
      FAIL  redis is a cluster
            fix: --redis redis+cluster://host:6379
      ok    redis: after its restart counters are as old as its last snapshot, or unused; 2 replicas
      [6]
      "
    `)
    old.stop()
    const young = await FakeRedis.start({
      redis_version: '6.2.0',
      role: 'master',
      maxmemory_policy: 'noeviction',
    })
    expect(await doctor(`--redis ${young.url}`)).toContain('ok    redis N, N ms, noeviction')
    young.stop()
  })
})
