import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { trace } from '@opentelemetry/api'
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { RedisServer, until } from '../../limiter/test/redis/servers.js'
import { startService, type TestService } from './service.js'

const RULES = `
rules:
  few: { scope: user, resource: /few, limits: 4/d fixed }
  trial: { scope: user, resource: /few, additive: true, shadow: true, limits: 1/d fixed }
  keys: { scope: api_key, limits: 1/d fixed }
exemptions: [user:healthcheck]
blocks: [user:mallory]
`

let service: TestService
beforeAll(async () => {
  service = await startService({ rules: RULES })
})
afterAll(async () => {
  await service.stop()
})

const check = (user: string) => service.post('/v1/check', { subject: { user }, resource: '/few' })

describe('metrics', () => {
  it('count decisions by what decided, and pass the check of Prometheus', async () => {
    for (let i = 0; i < 6; i++) await check('ada')
    await service.post('/v1/check/batch', {
      checks: Array.from({ length: 3 }, () => ({ subject: { user: 'bob' }, resource: '/few' })),
    })
    await check('healthcheck')
    await check('mallory')
    const { text, headers } = await service.get('/metrics')
    expect(headers['content-type']).toContain('text/plain')
    const counted = [...text.matchAll(/^sluice_decisions_total\{(.*)\} (\d+)$/gm)].map(
      ([, labels, count]) => [labels, Number(count)],
    )
    expect(Object.fromEntries(counted)).toEqual({
      'namespace="default",rule="few",scope="user",outcome="allowed"': 7,
      'namespace="default",rule="few",scope="user",outcome="limited"': 2,
      'namespace="default",rule="trial",scope="user",outcome="shadow_limited"': 7,
      'namespace="default",rule="",scope="",outcome="exempt"': 1,
      'namespace="default",rule="",scope="",outcome="blocked"': 1,
    })
    expect(text).toMatch(/^sluice_rule_peak_use_ratio\{namespace="default",rule="few"\} 1$/m)
    expect(text).toMatch(/^sluice_decision_duration_seconds_count\{transport="rest"\} 11$/m)
    expect(text).toMatch(/^sluice_rules_revision 1$/m)
    const said = spawnSync('promtool', ['check', 'metrics'], { input: text, encoding: 'utf8' })
    expect([said.status, said.stdout, said.stderr]).toEqual([0, '', ''])
  })

  it('never have a subject in a label, however many there are', async () => {
    const lines = (text: string) => text.split('\n').filter((line) => line.startsWith('sluice_'))
    const before = lines((await service.get('/metrics')).text)
    for (let i = 0; i < 50; i++) await check(`subject-${i}`)
    // The page is computed at most once a second.
    await wait(1100)
    const { text } = await service.get('/metrics')
    expect(text).not.toContain('subject-')
    expect(lines(text)).toHaveLength(before.length)
  })

  it('have two hundred rules at most', async () => {
    const rules = Array.from(
      { length: 250 },
      (_, i) => `  r${i}: { scope: user, resource: /r${i}, limits: 10/s }\n`,
    )
    const many = await startService({ rules: `rules:\n${rules.join('')}` })
    for (let i = 0; i < 250; i++)
      await many.post('/v1/check', { subject: { user: 'ada' }, resource: `/r${i}` })
    const { text } = await many.get('/metrics')
    const labels = [...text.matchAll(/^sluice_decisions_total\{.*rule="([^"]*)".*\} (\d+)$/gm)]
    expect(labels).toHaveLength(201)
    expect(labels.find(([, rule]) => rule === '_other')![2]).toBe('50')
    await many.stop()
  })
})

describe('metrics of rules that change', () => {
  it('name each rule once, and give the place of one that is gone to another', async () => {
    const rulesOf = (generation: number, scope: string) =>
      `rules:\n  same: { scope: ${scope}, resource: /same, limits: 10/d fixed }\n${Array.from(
        { length: 120 },
        (_, i) => `  g${generation}-${i}: { scope: user, resource: /r${i}, limits: 10/s }\n`,
      ).join('')}`
    const own = await startService({ rules: rulesOf(0, 'user') })
    const subject = { user: 'ada', org: 'acme' }
    for (let generation = 0; generation < 3; generation++) {
      const { revision } = own.service.tenants
      if (generation > 0) {
        writeFileSync(join(own.folder, 'sluice.yaml'), rulesOf(generation, 'org'))
        await until('they are in force', () => own.service.tenants.revision > revision)
      }
      await own.post('/v1/check', { subject, resource: '/same' })
      for (let i = 0; i < 120; i++) await own.post('/v1/check', { subject, resource: `/r${i}` })
    }
    const { text } = await own.get('/metrics')
    expect(
      text.match(/^sluice_rule_peak_use_ratio\{namespace="default",rule="same"\}/gm),
    ).toHaveLength(1)
    expect(text).not.toContain('_other')
    expect(text).toContain('rule="g2-119"')
    const said = spawnSync('promtool', ['check', 'metrics'], { input: text, encoding: 'utf8' })
    expect([said.status, said.stderr]).toEqual([0, ''])
    await own.stop()
  })
})

describe('the log', () => {
  it('tells of a denial once, and counts the others', async () => {
    const own = await startService({ rules: RULES })
    for (let i = 0; i < 9; i++)
      await own.post('/v1/check', { subject: { user: 'eve' }, resource: '/few' })
    for (let i = 0; i < 3; i++)
      await own.post('/v1/check', { subject: { api_key: 'sk_live_0123456789abcdef' } })
    await own.stop()
    const denials = own.log.filter(({ code }) => code === 'limited')
    const seen = denials.map(({ rule, scope, subject, count }) => [rule, scope, subject, count])
    expect(seen).toEqual([
      ['few', 'user', 'eve', 1],
      ['keys', 'api_key', 'sk_l…cdef', 1],
      ['few', 'user', 'eve', 4],
      ['keys', 'api_key', 'sk_l…cdef', 1],
    ])
    expect(JSON.stringify(own.log)).not.toContain('sk_live_0123456789abcdef')
  })
})

describe('spans', () => {
  it("are made under the caller's, where an SDK is there to take them", async () => {
    const exporter = new InMemorySpanExporter()
    const provider = new BasicTracerProvider({
      spanProcessors: [new SimpleSpanProcessor(exporter)],
    })
    trace.setGlobalTracerProvider(provider)
    const traced = await startService({ rules: RULES })
    const body = { subject: { user: 'ada' }, resource: '/few' }
    for (let i = 0; i < 5; i++) await traced.post('/v1/check', body)
    const spans = exporter.getFinishedSpans()
    expect(spans.map(({ name }) => name)).toEqual(Array(5).fill('sluice.check'))
    expect(spans.at(-1)!.attributes).toEqual({
      'sluice.rule': 'few',
      'sluice.scope': 'user',
      'sluice.outcome': 'limited',
      'sluice.degraded': false,
    })
    expect(spans.at(-1)!.status.code).toBe(0)
    await traced.stop()
    exporter.reset()
    const redis = await RedisServer.start()
    const shared = await startService({ rules: RULES, flags: { redis: redis.url } })
    await shared.post('/v1/check', body)
    const call = exporter.getFinishedSpans().find(({ name }) => name.startsWith('EVAL'))!
    expect(call.attributes).toMatchObject({ 'db.system.name': 'redis' })
    await shared.stop()
    await redis.stop()
    trace.disable()
  })
})
