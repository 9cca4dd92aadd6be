import { ioredisClusterOptions, ioredisOptions } from '@sluice/limiter/redis'
import { Cluster, Redis } from 'ioredis'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { RedisServer, startCluster, until } from '../../../limiter/test/redis/servers.js'
import { openPostgres } from '../../src/control/postgres.js'
import type { UsageBatch } from '../../src/usage/batch.js'
import { UsageSender } from '../../src/usage/sender.js'
import { StreamReader } from '../../src/usage/stream-reader.js'
import { Tally } from '../../src/usage/tally.js'
import { addToStream, type StreamRedis, streamKey } from '../../src/usage/usage-stream.js'
import { DATABASES, PostgresServer } from '../control/databases.js'
import { Deciding, START } from './deciding.js'
import { QUIET, Stored } from './stored.js'

const prefix = 'test'
const key = streamKey(prefix)

/** An instance that decides and sends when the test says so. */
class Instance {
  readonly deciding = new Deciding({ rules: { all: { scope: 'user', limits: '1000000/s' } } })
  readonly tally = new Tally(START)
  readonly sender: UsageSender
  decisions = 0

  constructor(
    deliver: (batch: UsageBatch) => Promise<void>,
    options: { readonly mostBytes?: number } = {},
  ) {
    const now = () => this.deciding.now
    this.sender = new UsageSender({ tally: this.tally, now, deliver, ...options })
  }

  /** So many decisions, and two seconds pass. */
  decide(count: number, user = 'ada'): void {
    for (let i = 0; i < count; i++) this.deciding.ask({ subject: { user } }, this.tally)
    this.decisions += count
    this.deciding.now += 2000
    this.sender.take()
  }
}

let server: RedisServer
let stored: Stored
let clients: Redis[] = []
beforeAll(async () => {
  server = await RedisServer.start()
  stored = await Stored.start(DATABASES[0]!)
}, 120_000)
beforeEach(async () => {
  await stored.empty()
  await server.admin.flushall()
})
afterEach(() => {
  for (const client of clients) client.disconnect()
  clients = []
})
afterAll(async () => {
  await server.stop()
  await stored.stop()
})

async function connected(): Promise<Redis> {
  const client = new Redis(server.url, ioredisOptions)
  client.on('error', () => {})
  clients.push(client)
  await until('the client to be connected', () => client.status === 'ready')
  return client
}

function readerOf(redis: StreamRedis, options: { readonly claimAfterMs?: number } = {}) {
  const record = (batches: readonly UsageBatch[]) => stored.recorder.record(batches)
  return new StreamReader({ redis, prefix, record, log: QUIET, ...options })
}

/** Rounds until there is nothing in the stream any more. */
async function readAll(reader: StreamReader): Promise<void> {
  await until('the stream to be empty', async () => {
    await reader.round()
    return (await server.admin.xlen(key)) === 0
  })
}

const allowed = async () => Object.values(await stored.sums()).reduce((sum, [one]) => sum + one!, 0)

describe('usage over Redis', () => {
  it('is stored once, and leaves the stream', async () => {
    const redis = await connected()
    const instance = new Instance(addToStream(redis, { prefix }))
    for (const count of [3, 1, 4]) {
      instance.decide(count)
      await instance.sender.send()
    }
    expect(await server.admin.xlen(key)).toBe(3)
    const reader = readerOf(redis)
    // The first round makes the group.
    for (const _ of [1, 2]) await reader.round()
    expect(await server.admin.xlen(key)).toBe(0)
    expect(await allowed()).toBe(8)
    expect(await server.admin.xpending(key, 'recorders')).toEqual([0, null, null, null])
    expect(stored.recorder.lagMs).toBe(0)
  })

  it('is carried by a cluster', async () => {
    const cluster = await startCluster()
    const redis = new Cluster([...cluster.nodes], ioredisClusterOptions)
    try {
      await until('the client to be connected', () => redis.status === 'ready')
      const instance = new Instance(addToStream(redis, { prefix }))
      instance.decide(6)
      await until('the batch to be sent', async () => {
        await instance.sender.send()
        return instance.sender.lagMs === 0
      })
      const reader = readerOf(redis)
      await until('all to be stored', async () => {
        await reader.round()
        return (await allowed()) === 6 && (await redis.xlen(key)) === 0
      })
    } finally {
      redis.disconnect()
      await cluster.stop()
    }
  })

  it('sends nothing where nothing was decided', async () => {
    const redis = await connected()
    const instance = new Instance(addToStream(redis, { prefix }))
    instance.decide(0)
    await instance.sender.send()
    expect(await server.admin.exists(key)).toBe(0)
  })

  it('is read by several at once, each batch by one', async () => {
    const redis = await connected()
    const instance = new Instance(addToStream(redis, { prefix }))
    for (let i = 0; i < 100; i++) {
      instance.decide(i)
      await instance.sender.send()
    }
    const readers = [readerOf(await connected()), readerOf(await connected()), readerOf(redis)]
    await Promise.all(readers.map(readAll))
    expect(await allowed()).toBe(4950)
  })

  it('is stored once though a reader dies between the commit and its word', async () => {
    const redis = await connected()
    const instance = new Instance(addToStream(redis, { prefix }))
    for (const count of [3, 1, 4]) {
      instance.decide(count)
      await instance.sender.send()
    }
    const dying: StreamRedis = {
      call: async (command, ...args) => {
        if (['XACK', 'XDEL'].includes(command)) throw new Error('killed')
        return redis.call(command, ...args)
      },
    }
    const dead = readerOf(dying)
    await until('all to be stored', async () => {
      await dead.round()
      return (await allowed()) === 8
    })
    expect(await server.admin.xlen(key)).toBe(3)
    await readAll(readerOf(redis, { claimAfterMs: 50 }))
    expect(await allowed()).toBe(8)
    expect(await stored.recorder.lostNow()).toBe(0)
  })

  it('is stored though a reader dies before the commit', async () => {
    const redis = await connected()
    const instance = new Instance(addToStream(redis, { prefix }))
    instance.decide(5)
    await instance.sender.send()
    const dead = new StreamReader({
      redis,
      prefix,
      log: QUIET,
      record: () => Promise.reject(new Error('killed')),
    })
    await until('the batch to be taken', async () => {
      await dead.round()
      return (await server.admin.xpending(key, 'recorders'))[0] === 1
    })
    await readAll(readerOf(redis, { claimAfterMs: 50 }))
    expect(await allowed()).toBe(5)
  })

  it('is not lost while Redis is away', async () => {
    const redis = await connected()
    const instance = new Instance(addToStream(redis, { prefix, deadlineMs: 200 }))
    instance.decide(1)
    await instance.sender.send()
    await readAll(readerOf(redis))
    await server.kill()
    for (let i = 0; i < 60; i++) {
      instance.decide(i, `user-${i % 3}`)
      await instance.sender.send()
    }
    expect(instance.sender.lagMs).toBeGreaterThan(100_000)
    await server.start()
    await until('all to be sent', async () => {
      await instance.sender.send()
      return instance.sender.lagMs === 0
    })
    await readAll(readerOf(redis))
    expect(await allowed()).toBe(instance.decisions)
    expect(instance.sender.lost).toBe(0)
    expect(await stored.recorder.lostNow()).toBe(0)
  })

  it('is counted once though nobody heard that it had arrived', async () => {
    const redis = await connected()
    const add = addToStream(redis, { prefix })
    let failures = 3
    const instance = new Instance(async (batch) => {
      await add(batch)
      if (failures-- > 0) throw new Error('no answer in time')
    })
    for (const count of [3, 1, 4, 1]) {
      instance.decide(count)
      await instance.sender.send()
    }
    await instance.sender.send()
    expect(await server.admin.xlen(key)).toBeGreaterThan(4)
    await readAll(readerOf(redis))
    expect(await allowed()).toBe(9)
    expect(await stored.recorder.lostNow()).toBe(0)
  })

  it('loses the oldest where the stream is full, and knows exactly how much', async () => {
    const redis = await connected()
    const instance = new Instance(addToStream(redis, { prefix, mostBatches: 3 }))
    for (const count of [10, 20, 30, 40, 50]) {
      instance.decide(count)
      await instance.sender.send()
    }
    await readAll(readerOf(redis))
    expect(await allowed()).toBe(120)
    expect(await stored.recorder.lostNow()).toBe(30)
  })

  it('keeps the stream small in bytes too', async () => {
    const redis = await connected()
    const instance = new Instance(addToStream(redis, { prefix, mostBytes: 20_000 }))
    for (let i = 0; i < 30; i++) {
      instance.decide(1, 'x'.repeat(1000))
      await instance.sender.send()
    }
    expect(await server.admin.xlen(key)).toBeLessThan(20)
    expect(await server.admin.xlen(key)).toBeGreaterThan(5)
  })

  it('goes on after the stream has vanished', async () => {
    const redis = await connected()
    const instance = new Instance(addToStream(redis, { prefix }))
    const reader = readerOf(redis)
    instance.decide(1)
    await instance.sender.send()
    await readAll(reader)
    instance.decide(7)
    await instance.sender.send()
    await server.admin.flushall()
    instance.decide(2)
    await instance.sender.send()
    await readAll(reader)
    expect(await allowed()).toBe(3)
    expect(await stored.recorder.lostNow()).toBe(7)
  })

  it('is not stopped by what is no batch', async () => {
    const redis = await connected()
    await server.admin.xadd(key, '*', 'batch', '{"instance": 1}')
    await server.admin.xadd(key, '*', 'other', 'thing')
    const instance = new Instance(addToStream(redis, { prefix }))
    instance.decide(2)
    await instance.sender.send()
    await readAll(readerOf(redis))
    expect(await allowed()).toBe(2)
  })
})

describe('a sender whose batches wait', () => {
  it('loses the oldest beyond its buffer, and counts exactly what it lost', async () => {
    const delivered: UsageBatch[] = []
    let isAway = true
    const instance = new Instance(
      async (batch) => {
        if (isAway) throw new Error('away')
        delivered.push(batch)
      },
      { mostBytes: 30_000 },
    )
    for (let i = 0; i < 300; i++) {
      for (let user = 0; user < 5; user++)
        instance.deciding.ask({ subject: { user: `${i}-${user}` } }, instance.tally)
      instance.decisions += 5
      instance.decide(1)
      await instance.sender.send()
    }
    isAway = false
    await instance.sender.send()
    const { lost } = instance.sender
    expect(lost).toBeGreaterThan(0)
    const sum = delivered.reduce((all, { decisions }) => all + decisions, 0)
    expect(sum + lost).toBe(instance.decisions)
    await stored.recorder.record(delivered)
    expect(await allowed()).toBe(sum)
    // What the instance gave up it tells itself: nothing is missing besides.
    expect(await stored.recorder.lostNow()).toBe(0)
    expect(delivered.at(-1)).toMatchObject({ total: instance.decisions, dropped: lost })
  })

  it('merges what is of one minute first, and loses nothing by it', async () => {
    const delivered: UsageBatch[] = []
    let isAway = true
    const instance = new Instance(async (batch) => {
      if (isAway) throw new Error('away')
      delivered.push(batch)
    })
    for (let i = 0; i < 90; i++) {
      instance.decide(3)
      await instance.sender.send()
    }
    isAway = false
    await instance.sender.send()
    expect(instance.sender.lost).toBe(0)
    expect(delivered.length).toBeLessThan(15)
    for (const { from, to } of delivered.slice(0, 3)) expect(to - from).toBeLessThanOrEqual(60_000)
    expect(delivered.map(({ sequence }) => sequence)).toEqual(delivered.map((_, i) => i + 1))
    expect(delivered.reduce((all, { decisions }) => all + decisions, 0)).toBe(270)
  })

  it('sends by its clock, and the rest when it is closed', async () => {
    const delivered: UsageBatch[] = []
    const tally = new Tally(Date.now())
    const sender = new UsageSender({
      tally,
      now: Date.now,
      deliver: async (batch) => void delivered.push(batch),
      everyMs: 50,
    })
    const deciding = new Deciding({ rules: { all: { scope: 'user', limits: '1000/s' } } })
    sender.start()
    deciding.ask({ subject: { user: 'ada' } }, tally)
    await until('the first batch', () => delivered.length === 1)
    deciding.ask({ subject: { user: 'ada' } }, tally)
    await until('the second batch', () => delivered.length === 2)
    deciding.ask({ subject: { user: 'ada' } }, tally)
    await sender.close()
    expect(delivered.map(({ decisions }) => decisions)).toEqual([1, 1, 1])
  })

  it('ends soon though nothing answers', async () => {
    const instance = new Instance(() => new Promise(() => {}))
    instance.decide(1)
    await instance.sender.close()
  })
})

describe('usage whose database is away', () => {
  let postgres: PostgresServer
  let away: Stored
  beforeAll(async () => {
    postgres = await PostgresServer.start()
    const url = await postgres.createDatabase()
    away = await Stored.start({
      kind: 'postgres',
      start: async () => ({
        open: () => openPostgres(url, { patienceMs: 1000 }),
        stop: () => postgres.stop(),
      }),
    })
  }, 120_000)
  beforeEach(() => away.empty())
  afterAll(() => away.stop())

  const sum = async () => Object.values(await away.sums()).reduce((all, [one]) => all + one!, 0)

  it('waits in the process that decides, where there is no other', async () => {
    const instance = new Instance((batch) => away.recorder.record([batch]))
    instance.decide(3)
    await instance.sender.send()
    await postgres.kill()
    for (let i = 0; i < 5; i++) {
      instance.decide(2)
      await instance.sender.send()
    }
    await postgres.start()
    await until('all to be stored', async () => {
      await instance.sender.send()
      return instance.sender.lagMs === 0
    })
    expect(await sum()).toBe(13)
    expect(await away.recorder.lostNow()).toBe(0)
  })

  it('waits in the stream', async () => {
    const redis = await connected()
    const instance = new Instance(addToStream(redis, { prefix }))
    const record = (batches: readonly UsageBatch[]) => away.recorder.record(batches)
    const reader = new StreamReader({ redis, prefix, record, log: QUIET, claimAfterMs: 100 })
    await postgres.kill()
    for (let i = 0; i < 5; i++) {
      instance.decide(2)
      await instance.sender.send()
      await reader.round()
    }
    expect(await server.admin.xlen(key)).toBe(5)
    await postgres.start()
    await readAll(reader)
    expect(await sum()).toBe(10)
  })
})
