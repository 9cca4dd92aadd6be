/** Hot rows of a service as it runs: what it lists, what it measures, and what `sluice doctor` makes of it. */
import { spawnSync } from 'node:child_process'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { RedisServer, until } from '../../../limiter/test/redis/servers.js'
import { run } from '../cli/command.js'
import { untruths } from '../rest/true-to-openapi.js'
import { startService, type TestService } from '../service.js'

const RULES = `
rules:
  per-user: { scope: user, limits: 1M/s }
  per-org: { scope: org, limits: 1M/s }
`
const TOKEN = 'a-token-of-more-than-sixteen-letters'

let redis: RedisServer
beforeAll(async () => {
  redis = await RedisServer.start()
})
afterAll(() => redis.stop())

async function askMuch(service: TestService, user: string): Promise<void> {
  const checks = Array.from({ length: 1000 }, () => ({ subject: { user } }))
  const { status } = await service.post('/v1/check/batch', { checks })
  expect(status).toBe(200)
}

async function hotRows(service: TestService) {
  const answer = await service.get('/v1/hot')
  expect(untruths('GET', '/v1/hot', answer)).toEqual([])
  return answer.body.items
}

describe('a service', () => {
  it('over memory lists its rows, asks nobody for them, and so advises nothing', async () => {
    const service = await startService({ rules: RULES })
    expect(await hotRows(service)).toEqual([])
    for (let i = 0; i < 20; i++) await askMuch(service, 'ada')
    expect(await hotRows(service)).toMatchObject([
      { rule: 'per-user', value: 'ada', share: 1, leased: false, advice: null },
    ])
    await service.stop()
  })

  it('over Redis is advised to lease what it asks for often, and doctor says so', async () => {
    const service = await startService({
      rules: RULES,
      flags: { redis: redis.url, 'redis-deadline': '5000' },
    })
    await until('it is advised', async () => {
      await askMuch(service, 'ada')
      const [row] = await hotRows(service)
      return row.advice?.code === 'lease'
    })
    const { out } = await run(`doctor --server localhost:${service.port}`, { isTerminal: false })
    expect(out).toMatch(/^ok\thottest row: user:ada of per-user, [\d,]+ a second, 100 % of all$/m)
    expect(out).toMatch(/^warn\tuser:ada of per-user is hot: it is asked of Redis .* --leases on/m)
    const { text } = await service.get('/metrics')
    expect(text).toMatch(
      /^sluice_hottest_row_per_second\{namespace="default",rule="per-user"\} [\d.]+$/m,
    )
    expect(text).not.toContain('ada')
    await service.stop()
  })

  it('with leases has rows that are leased, and measures what became of the tokens', async () => {
    const service = await startService({
      rules: RULES,
      flags: { redis: redis.url, leases: 'on', 'redis-deadline': '5000' },
    })
    for (let i = 0; i < 5; i++) await askMuch(service, 'eve')
    expect(await hotRows(service)).toMatchObject([{ value: 'eve', leased: true, advice: null }])
    const { text } = await service.get('/metrics')
    const said = spawnSync('promtool', ['check', 'metrics'], { input: text, encoding: 'utf8' })
    expect([said.status, said.stdout, said.stderr]).toEqual([0, '', ''])
    const names = [...text.matchAll(/^sluice_((?:lease|store_calls)\w*(?:\{.*\})?) \d+$/gm)].map(
      ([, name]) => name,
    )
    expect(new Set(names)).toEqual(
      new Set([
        'lease_decisions_total{from="memory"}',
        'lease_decisions_total{from="store"}',
        'lease_empty_total',
        'lease_rows',
        'lease_tokens_total{event="granted"}',
        'lease_tokens_total{event="lost"}',
        'lease_tokens_total{event="returned"}',
        'lease_tokens_total{event="spent"}',
        'store_calls_total',
      ]),
    )
    await service.stop()
  })

  it('shows its rows to nobody without a token', async () => {
    const service = await startService({ rules: RULES, token: TOKEN })
    const refused = await service.get('/v1/hot')
    expect([refused.status, refused.body.error.code]).toEqual([401, 'unauthorized'])
    const answer = await service.get('/v1/hot', { Authorization: `Bearer ${TOKEN}` })
    expect(answer.status).toBe(200)
    await service.stop()
  })
})
