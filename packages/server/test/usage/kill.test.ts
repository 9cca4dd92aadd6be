import { ioredisOptions } from '@sluice/limiter/redis'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { RedisServer, until } from '../../../limiter/test/redis/servers.js'
import { openPostgres } from '../../src/control/postgres.js'
import { UsageSender } from '../../src/usage/sender.js'
import { Tally } from '../../src/usage/tally.js'
import { addToStream, streamKey } from '../../src/usage/usage-stream.js'
import { PostgresServer } from '../control/databases.js'
import { Script } from '../control/processes.js'
import { Deciding, START } from './deciding.js'
import { Stored } from './stored.js'

const prefix = 'kill'

let redis: RedisServer
let postgres: PostgresServer
let stored: Stored
let url: string
const script = new Script('recording-process')
beforeAll(async () => {
  redis = await RedisServer.start()
  postgres = await PostgresServer.start()
  url = await postgres.createDatabase()
  stored = await Stored.start({
    kind: 'postgres',
    start: async () => ({ open: () => openPostgres(url), stop: () => postgres.stop() }),
  })
}, 120_000)
afterAll(async () => {
  script.remove()
  await redis.stop()
  await stored.stop()
})

describe('a recorder that is killed', () => {
  it('loses nothing and counts nothing twice, wherever it was', async () => {
    const client = new Redis(redis.url, ioredisOptions)
    client.on('error', () => {})
    await until('the client to be connected', () => client.status === 'ready')
    const deciding = new Deciding({ rules: { all: { scope: 'user', limits: '1000000/s' } } })
    const tally = new Tally(START)
    const now = () => deciding.now
    const sender = new UsageSender({ tally, now, deliver: addToStream(client, { prefix }) })
    let decisions = 0
    const start = () => script.start(redis.url, url, prefix, String(START))
    let recording = start()
    for (let kill = 0; kill < 8; kill++) {
      for (let i = 0; i < 40; i++) {
        for (let j = 0; j <= i % 5; j++) {
          deciding.ask({ subject: { user: `u${i}` } }, tally)
          decisions++
        }
        deciding.now += 100
        sender.take()
        await sender.send()
      }
      // It is storing, or has just stored, or is about to say so.
      await until('something to be stored', () => recording.lines.length > 0)
      recording.child.kill('SIGKILL')
      await recording.ended
      recording = start()
    }
    await until('all to be stored', async () => (await redis.admin.xlen(streamKey(prefix))) === 0)
    recording.child.kill('SIGKILL')
    await recording.ended
    client.disconnect()
    const sums = Object.values(await stored.sums())
    expect(sums.reduce((all, [allowed]) => all + allowed!, 0)).toBe(decisions)
    expect(await stored.recorder.lostNow()).toBe(0)
    expect(sender.lost).toBe(0)
  })
})
