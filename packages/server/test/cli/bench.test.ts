import { once } from 'node:events'
import { createServer } from 'node:http'
import { setTimeout as wait } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Latencies } from '../../src/cli/bench-load.js'
import { startService, type TestService } from '../service.js'
import { run, shown } from './command.js'

let service: TestService
beforeAll(async () => {
  service = await startService({ rules: 'rules:\n  all: { scope: user, limits: 1M/s }\n' })
})
afterAll(() => service.stop())

const bench = (line: string, options = {}) =>
  run(`bench --duration 0.5 --server localhost:${service.port} ${line}`.trim(), options)

describe('bench', () => {
  it('says how fast it was, and that both shared the machine', async () => {
    const ran = await bench('', { isTerminal: false })
    const steady = (text: string) => text.replace(/\d[\d,]*(\.\d+)?/g, 'N').replace('cores', 'core')
    expect(steady(shown(ran))).toMatchInlineSnapshot(`
      "
      requests/s	decisions/s	pN	pN	max
      N	N	N ms	N ms	N ms
      --- words
      Client and server share this machine (N core), so neither had all of it.
      [N]
      "
    `)
    expect([ran.code, ran.words.includes('\r')]).toEqual([0, false])
  })

  it('counts what the server counted', async () => {
    const decided = async () => {
      // Metrics may be a second old.
      await wait(1100)
      return Number(
        /^sluice_decisions_total\{.*\} (\d+)$/m.exec((await service.get('/metrics')).text)?.[1],
      )
    }
    const before = await decided()
    const { out, code } = await bench('--batch 10 --connections 3 --json')
    const numbers = JSON.parse(out)
    const made = numbers.decisions_per_second * numbers.seconds
    expect([code, numbers.lost_connections, numbers.refused]).toEqual([0, 0, {}])
    const counted = (await decided()) - before
    // Each connection may have had one request under way at the end.
    expect(counted - made).toBeGreaterThanOrEqual(-0.01)
    expect(counted - made).toBeLessThanOrEqual(30.01)
    expect(numbers.requests_per_second * 10).toBeCloseTo(numbers.decisions_per_second, 3)
    expect(numbers.p50_ms).toBeLessThanOrEqual(numbers.p99_ms)
    expect(numbers.p99_ms).toBeLessThanOrEqual(numbers.max_ms)
  })

  it('shows where it is on a terminal', async () => {
    const { words } = await bench('')
    const shownThere = words.split('\r\u001b[K')
    expect(shownThere[1]).toMatch(/^\d+ %, [\d,]+ requests$/)
    expect(shownThere.at(-1)).toMatch(/^Client and server share/)
  })

  it('wants to hear that a load on another machine is meant', async () => {
    expect(shown(await run('bench --server http://192.0.2.1:4290'))).toMatchInlineSnapshot(`
      "
      --- words
      http://192.0.2.1:4290 is not this machine, and a bench takes all that it can give and uses up limits that are shared. If that is meant, add --yes
      [2]
      "
    `)
  })

  it('refuses numbers that make no sense', async () => {
    for (const [line, words] of [
      ['--duration x', '--duration is "x"; expected seconds from 0.1 to 3600'],
      ['--connections 0', '--connections is "0"; expected a whole number from 1 to 10000'],
      ['--batch 1001', '--batch is "1001"; expected a whole number from 1 to 1000'],
    ] as const)
      expect(await run(`bench ${line}`)).toEqual({ code: 2, out: '', words: `${words}\n` })
  })

  it('says what it cannot measure', async () => {
    expect((await run('bench --server localhost:1')).code).toBe(5)
    const other = createServer((_, answer) => answer.end('hello')).listen(0)
    await once(other, 'listening')
    const { port } = other.address() as { port: number }
    const ran = await run(`bench --server localhost:${port}`)
    expect(ran.words).toContain('not as Sluice does')
    other.close()
  })
})

describe('latencies', () => {
  it('are within a percent', () => {
    const latencies = new Latencies()
    for (let i = 1; i <= 10_000; i++) latencies.add(i / 100)
    expect(latencies.percentileMs(0.5) / 50).toBeCloseTo(1, 1)
    expect(Math.abs(latencies.percentileMs(0.99) / 99 - 1)).toBeLessThan(0.011)
    expect([latencies.maxMs, latencies.percentileMs(1)]).toEqual([100, 100])
    expect(new Latencies().percentileMs(0.5)).toBe(0)
  })
})
