/** Instances that ask Sentinel for the primary, which dies or is replaced. */
import { once } from 'node:events'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createLimiter, type Limiter } from '../../../src/index.js'
import { ioredisOptions, redisStore } from '../../../src/redis.js'
import { type RedisServer, type Sentinels, startSentinels, until } from '../servers.js'
import { build, type Drilled, drill } from './drill.js'
import { type Expected, findings } from './findings.js'

let sentinels: Sentinels
let drilled: Drilled
let expected: Expected

/**
 * The primary dies, and a replica takes over with what it had heard of; the dead one comes back. The sentinel
 * that every instance asks first hangs.
 */
async function failOver([hanging, ...others]: Sentinels['watchers']): Promise<Expected> {
  const first = await hanging!.primary()
  hanging!.pause()
  await first.kill()
  const lost = Date.now()
  // A sentinel that still named the dead one when it comes back would lead instances to two primaries.
  await until('the others have replaced it', () => haveReplaced(others, first))
  await first.start()
  return { cuts: [lost] }
}

/** Whether each of them names another server, and has nothing more to say of it. */
async function haveReplaced(
  watchers: Sentinels['watchers'],
  before: RedisServer,
): Promise<boolean> {
  for (const watcher of watchers)
    if ((await watcher.primary()) === before || (await watcher.isReplacing())) return false
  return true
}

beforeAll(async () => {
  build()
  sentinels = await startSentinels()
  const { name } = sentinels
  drilled = await drill({
    clients: [0, 1, 2].map(() => ({
      kind: 'ioredis-sentinel',
      sentinels: sentinels.sentinels,
      name,
    })),
    witnessed: sentinels.servers.map(({ port }) => ({ host: '127.0.0.1', port })),
    fault: async () => {
      expected = await failOver(sentinels.watchers)
    },
  })
  sentinels.watchers[0]!.resume()
}, 120_000)
afterAll(() => sentinels.stop())

describe('Sentinel', () => {
  it('fails over while one sentinel hangs', () => {
    expect(findings(drilled, expected)).toEqual({})
  })

  it('tells of a new primary while an instance is asking for it', async () => {
    const [asked, second, third] = sentinels.watchers
    await until('they agree', async () => (await asked!.primary()) === (await second!.primary()))
    const client = new Redis({
      ...ioredisOptions,
      sentinels: [...sentinels.sentinels],
      name: sentinels.name,
      sentinelCommandTimeout: 60_000,
    })
    client.on('error', () => {})
    const store = redisStore(client)
    const limiter: Limiter = createLimiter({
      rules: { a: { scope: 'user', limits: '1000/s' } },
      store,
    })
    const check = () => limiter.check({ subject: { user: 'ada' } })
    try {
      await once(client, 'ready')
      expect((await check()).degraded).toBe(false)
      for (const { admin } of [second!, third!])
        await until('it listens to the sentinels', async () =>
          String(await admin.call('CLIENT', 'LIST', 'TYPE', 'pubsub')).includes('sub=1'),
        )
      const primary = await second!.primary()
      asked!.pause()
      await primary.admin.call('CLIENT', 'KILL', 'TYPE', 'normal')
      await until('it asks for the primary', () => client.status === 'connecting')
      await second!.admin.call('SENTINEL', 'FAILOVER', sentinels.name)
      const { connector } = client as unknown as { connector: { connecting: boolean } }
      await until('it is told of another', () => !connector.connecting, 30_000)
      asked!.resume()
      await until('it is answered', async () => !(await check()).degraded)
    } finally {
      asked!.resume()
      await limiter.close()
      client.disconnect()
    }
  })
})
