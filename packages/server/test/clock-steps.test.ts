/** What operators learn of a clock that jumped ahead and stepped back, and what happens meanwhile. */
import { once } from 'node:events'
import { createLimiter } from '@sluice/limiter'
import { ioredisOptions, redisStore } from '@sluice/limiter/redis'
import { Redis } from 'ioredis'
import { afterEach, expect, it, vi } from 'vitest'
import { RedisServer } from '../../limiter/test/redis/servers.js'
import { startService } from './service.js'

const DAY_MS = 86_400_000
const CHECK = { subject: { user: 'ada' }, resource: '/hello' }

afterEach(() => vi.useRealTimers())

it('is logged once and counted, and nobody is denied for a day', async () => {
  vi.useFakeTimers({ toFake: ['Date'] })
  const start = Date.now()
  const service = await startService()
  const isAllowed = async () => (await service.post('/v1/check', CHECK)).status === 200
  for (let i = 0; i < 2; i++) {
    vi.setSystemTime(start + DAY_MS)
    while (await isAllowed());
    vi.setSystemTime(start)
    expect(await isAllowed()).toBe(false)
  }
  const { body } = await service.post('/v1/check', CHECK)
  expect(body.retry_after).toBeLessThanOrEqual(10)
  const said = service.log.filter(({ code }) => code === 'clock_stepped_back')
  expect(said.map(({ level }) => level)).toEqual(['warn'])
  expect((await service.get('/metrics')).text).toMatch(/^sluice_clock_steps_back_total 2$/m)
  await service.stop()
})

it('of Redis is logged once and counted too', async () => {
  const server = await RedisServer.start()
  const limits = '3 per 10s'
  const rules = { hello: { scope: 'user', resource: '/hello', limits } } as const
  // Rows as Redis wrote them while its clock was a day ahead.
  const ahead = () => Date.now() + DAY_MS
  const client = new Redis(server.url, ioredisOptions)
  await once(client, 'ready')
  const limiter = createLimiter({
    rules,
    store: redisStore(client, { testClock: ahead, deadlineMs: 10_000 }),
    clock: ahead,
  })
  for (const user of ['ada', 'bob']) await limiter.check({ subject: { user }, resource: '/hello' })
  const service = await startService({
    rules: JSON.stringify({ rules }),
    flags: { redis: server.url, 'redis-deadline': '10000' },
  })
  for (const user of ['ada', 'bob', 'ada'])
    expect((await service.post('/v1/check', { ...CHECK, subject: { user } })).status).toBe(200)
  const said = service.log.filter(({ code }) => code === 'clock_stepped_back')
  expect(said.map(({ level }) => level)).toEqual(['warn'])
  expect((await service.get('/metrics')).text).toMatch(/^sluice_clock_steps_back_total 2$/m)
  await service.stop()
  await limiter.close()
  client.disconnect()
  await server.stop()
})
