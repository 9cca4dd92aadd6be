import { ioredisOptions } from '@sluice/limiter/redis'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { RedisServer, until } from '../../../limiter/test/redis/servers.js'
import { Meter } from '../../src/telemetry/meter.js'
import { metricsOf } from '../../src/telemetry/metrics.js'
import { UsageSender } from '../../src/usage/sender.js'
import { StreamReader } from '../../src/usage/stream-reader.js'
import { Tally } from '../../src/usage/tally.js'
import { addToStream } from '../../src/usage/usage-stream.js'
import { DATABASES } from '../control/databases.js'
import { Deciding } from './deciding.js'
import { QUIET, Stored } from './stored.js'

let server: RedisServer
let stored: Stored
beforeAll(async () => {
  server = await RedisServer.start()
  stored = await Stored.start(DATABASES[0]!)
}, 120_000)
afterAll(async () => {
  await server.stop()
  await stored.stop()
})

describe('a decision', () => {
  it('is seen by itself, with everything at its own pace', async () => {
    stored.now = Date.now()
    await stored.keeper.tend()
    const redis = new Redis(server.url, ioredisOptions)
    redis.on('error', () => {})
    await until('the client to be connected', () => redis.status === 'ready')
    const tally = new Tally(Date.now())
    const deliver = addToStream(redis, { prefix: 'seen' })
    const sender = new UsageSender({ tally, now: Date.now, deliver })
    const { recorder, reader } = stored
    const reading = new StreamReader({
      redis,
      prefix: 'seen',
      log: QUIET,
      record: (batches) => recorder.record(batches),
    })
    sender.start()
    reading.start()
    const deciding = new Deciding({ rules: { one: { scope: 'user', limits: '1/d fixed' } } })
    deciding.now = Date.now()
    for (let i = 0; i < 3; i++)
      deciding.ask({ subject: { user: 'ada' }, resource: '/v1/search' }, tally)
    const whom = { namespace: 'default', scope: 'user', values: ['ada'] }
    const span = { from: deciding.now - 1000, to: deciding.now + 60_000 }
    await until('the denials to be seen', async () => {
      const { items } = await reader.violations(whom, span, null, 10)
      return items[0]?.count === 2 && items[0].rule === 'one'
    })
    const { totals } = await reader.usage(whom, reader.spanOf(span), null, 10)
    expect(totals).toEqual({ allowed: 1, denied: 2, cost: 1 })
    await sender.close()
    await reading.close()
    redis.disconnect()

    const registry = metricsOf({
      meter: new Meter(),
      version: '0',
      revision: () => 1,
      connections: () => 0,
      store: () => null,
      memory: () => null,
      clockStepsBack: () => 0,
      hot: () => [],
      authErrors: () => new Map(),
      supply: () => ({
        feed: null,
        planes: [],
        isDatabaseAway: false,
        usage: { instance: sender, control: recorder },
      }),
    })
    const metrics = await registry.metrics()
    expect(metrics).toMatch(/^sluice_usage_lost_total\{where="instance"\} 0$/m)
    expect(metrics).toMatch(/^sluice_usage_lost_total\{where="control"\} 0$/m)
    expect(metrics).toMatch(/^sluice_usage_lag_seconds\{where="instance"\} 0$/m)
    expect(metrics).toMatch(/^sluice_usage_lag_seconds\{where="control"\} \d/m)
  })
})
