import { Redis } from 'ioredis'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { RedisServer, until } from '../../../limiter/test/redis/servers.js'
import type { FeedSource } from '../../src/feed/change.js'
import { FeedKeys } from '../../src/feed/feed-redis.js'
import type { FeedState } from '../../src/feed/feed-state.js'
import { Follower } from '../../src/feed/follower.js'
import { Planes } from '../../src/feed/planes.js'
import { RedisPublisher } from '../../src/feed/redis-publisher.js'
import { RedisSource } from '../../src/feed/redis-source.js'
import { Log } from '../../src/telemetry/log.js'
import { History, namespaceEdit, ruleEdit } from './history.js'

let server: RedisServer
beforeAll(async () => {
  server = await RedisServer.start()
})
afterAll(() => server.stop())

const ends: (() => Promise<void> | void)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).toReversed()) await end()
})

let count = 0
const newKeys = () => new FeedKeys(`feed-test-${++count}`)

function client(): Redis {
  const redis = new Redis(server.port, '127.0.0.1', {
    enableOfflineQueue: true,
    maxRetriesPerRequest: 0,
    retryStrategy: () => 50,
  })
  redis.on('error', () => undefined)
  ends.push(() => redis.disconnect())
  return redis
}

async function plane(keys: FeedKeys) {
  const source = new RedisSource(client(), client(), keys)
  let state: FeedState | null = null
  let since: number | undefined
  const follower = new Follower({
    source,
    enforce: async (next, _touched, at) => {
      state = next
      since = at
    },
    file: null,
    log: new Log({ write: () => undefined }),
    pollMs: 100,
  })
  await follower.start()
  ends.push(() => follower.close())
  const rules = () => [...(state?.namespaces.get('default')?.rules.keys() ?? [])]
  return { follower, source, rules, since: () => since }
}

function historyOf(count: number): History {
  const history = new History()
  history.commit([namespaceEdit()])
  for (let i = 0; i < count; i++) history.commit([ruleEdit(`r${i}`, '1/s')])
  return history
}

const rulesOf = (history: History) => [...history.state.namespaces.get('default')!.rules.keys()]

describe('the feed in Redis', () => {
  it('brings a data plane from the snapshot to the newest change', async () => {
    const keys = newKeys()
    const history = historyOf(3)
    const publisher = new RedisPublisher(client(), keys)
    expect(await publisher.publish(history)).toBe('snapshot')
    const { follower, rules, since } = await plane(keys)
    expect(rules()).toEqual(rulesOf(history))
    history.commit([ruleEdit('more', '1/s')])
    const before = Date.now()
    expect(await publisher.publish(history)).toBe(1)
    await follower.reached(5, 5000)
    expect(follower.head).toEqual(history.state.head)
    expect(rules()).toEqual(rulesOf(history))
    expect(since()).toBeGreaterThanOrEqual(before - 1)
    expect(since()).toBeLessThanOrEqual(Date.now() + 1)
  })

  it('has nothing for a data plane that comes before anything was published', async () => {
    const keys = newKeys()
    const { follower, rules } = await plane(keys)
    expect([follower.head.revision, follower.reading.isAway]).toEqual([0, false])
    const history = historyOf(1)
    await new RedisPublisher(client(), keys).publish(history)
    await follower.reached(2, 5000)
    expect(rules()).toEqual(['r0'])
  })

  it('is given again where Redis was emptied, and data planes keep their rules meanwhile', async () => {
    const keys = newKeys()
    const history = historyOf(3)
    const redis = client()
    const publisher = new RedisPublisher(redis, keys)
    await publisher.publish(history)
    const { follower, rules } = await plane(keys)
    await redis.flushall()
    await until('it has noticed', () => follower.reading.isAway)
    expect(rules()).toHaveLength(3)
    history.commit([ruleEdit('after', '1/s')])
    expect(await publisher.publish(history)).toBe('snapshot')
    await follower.reached(5, 5000)
    expect(rules()).toEqual(rulesOf(history))
    await until('it has noticed', () => !follower.reading.isAway)
  })

  it('is brought up to date by changes where Redis lost the last ones', async () => {
    const keys = newKeys()
    const history = historyOf(3)
    const redis = client()
    const publisher = new RedisPublisher(redis, keys)
    await publisher.publish(history)
    const before = await redis.hgetall(keys.head)
    history.commit([ruleEdit('lost', '1/s')])
    await publisher.publish(history)
    const { follower, rules } = await plane(keys)
    await redis.hset(keys.head, before)
    await redis.xtrim(keys.log, 'MAXLEN', 0)
    expect(await publisher.publish(history)).toBe(1)
    history.commit([ruleEdit('next', '1/s')])
    expect(await publisher.publish(history)).toBe(1)
    await follower.reached(6, 5000)
    expect(rules()).toEqual(rulesOf(history))
  })

  it('brings a data plane that was off while the log went on without it', async () => {
    const keys = newKeys()
    const history = historyOf(2)
    const redis = client()
    const publisher = new RedisPublisher(redis, keys)
    await publisher.publish(history)
    const first = await plane(keys)
    await first.follower.close()
    for (let i = 0; i < 40; i++) {
      history.commit([ruleEdit(`later${i}`, '1/s')])
      await publisher.publish(history)
    }
    const kept: FeedSource = first.source
    expect((await kept.changesAfter(3))?.length).toBe(40)
    const second = await plane(keys)
    expect(second.rules()).toEqual(rulesOf(history))
    // What is left of the log does not continue the snapshot, until the publisher has seen it.
    await redis.xtrim(keys.log, 'MAXLEN', 5)
    const again = await plane(keys)
    expect([again.rules(), again.follower.reading.isAway]).toEqual([['r0', 'r1'], true])
    await publisher.publish(history)
    await again.follower.reached(43, 5000)
    expect(again.rules()).toEqual(rulesOf(history))
  })

  it('follows a database that was restored from an earlier time, and another one in its place', async () => {
    const keys = newKeys()
    const publisher = new RedisPublisher(client(), keys)
    /** The first `count` changes of another, and then its own. */
    const restored = (from: History, count: number) => {
      const history = new History()
      for (const { edits } of from.changes.slice(0, count)) history.commit(JSON.parse(edits))
      return history
    }
    const first = historyOf(1)
    await publisher.publish(first)
    first.commit([ruleEdit('abandoned-1', '1/s')])
    await publisher.publish(first)
    first.commit([ruleEdit('abandoned-2', '1/s')])
    await publisher.publish(first)
    const { follower, rules } = await plane(keys)
    expect(rules()).toEqual(['r0', 'abandoned-1', 'abandoned-2'])
    const second = restored(first, 2)
    expect(await publisher.publish(second)).toBe('replaced')
    second.commit([ruleEdit('new-1', '1/s')])
    expect(await publisher.publish(second)).toBe(1)
    await until('it has the restored one', () => follower.head.digest === second.state.head.digest)
    expect(rules()).toEqual(['r0', 'new-1'])
    for (let i = 2; i < 6; i++) {
      second.commit([ruleEdit(`new-${i}`, '1/s')])
      await publisher.publish(second)
    }
    await until('it goes on', () => follower.head.digest === second.state.head.digest)
    expect(rules()).toEqual(rulesOf(second))
    const fresh = await plane(keys)
    expect(fresh.rules()).toEqual(rulesOf(second))
    // The same revision, and a longer history, of something else altogether.
    const third = historyOf(9)
    expect(await publisher.publish(third)).toBe('replaced')
    await until('it has the other', () => follower.head.digest === third.state.head.digest)
    expect(rules()).toEqual(rulesOf(third))
  })

  it('makes a new snapshot when the log has become long, and lets the old one go', async () => {
    const keys = newKeys()
    const history = historyOf(2)
    const redis = client()
    const publisher = new RedisPublisher(redis, keys)
    await publisher.publish(history)
    const old = (await redis.hgetall(keys.head))['snapshot']!
    for (let i = 0; i < 1000; i++) history.commit([ruleEdit('r0', i % 2 === 0 ? '1/s' : '2/s')])
    expect(await publisher.publish(history)).toBe(1000)
    const head = await redis.hgetall(keys.head)
    expect([head['snapshot_revision'], head['revision']]).toEqual(['1003', '1003'])
    expect(await redis.ttl(old)).toBeGreaterThan(0)
    expect(await redis.ttl(head['snapshot']!)).toBe(-1)
    const { rules, follower } = await plane(keys)
    expect([rules(), follower.head.revision]).toEqual([['r0', 'r1'], 1003])
  })

  it('carries a change that is too large for the log by a snapshot', async () => {
    const keys = newKeys()
    const history = historyOf(1)
    const publisher = new RedisPublisher(client(), keys)
    await publisher.publish(history)
    const { follower, rules } = await plane(keys)
    history.commit(Array.from({ length: 20_000 }, (_, i) => ruleEdit(`many-${i}`, '1/s')))
    expect(await publisher.publish(history)).toBe('snapshot')
    await follower.reached(3, 10_000)
    expect(rules()).toHaveLength(20_001)
    history.commit([ruleEdit('one', '1/s')])
    expect(await publisher.publish(history)).toBe(1)
    await follower.reached(4, 5000)
    expect(rules()).toHaveLength(20_002)
  })

  it('leaves a bounded number of snapshots in Redis, however many are made', async () => {
    const keys = newKeys()
    const history = historyOf(1)
    const redis = client()
    const publishers = [new RedisPublisher(redis, keys), new RedisPublisher(redis, keys)]
    const reader = new RedisSource(client(), client(), keys)
    for (let i = 0; i < 12; i++) {
      const many = Array.from({ length: 4000 }, (_, j) => ruleEdit(`many-${j}`, `${i + 1}/s`))
      history.commit(many)
      expect(await publishers[i % 2]!.publish(history)).toBe('snapshot')
      expect((await reader.snapshot())?.revision).toBe(history.state.head.revision)
    }
    const kept = await redis.keys(`${keys.snapshot(0, '').split(':0:')[0]}:*`)
    expect(kept).toHaveLength(4)
    const { snapshot } = await redis.hgetall(keys.head)
    for (const key of kept) expect((await redis.ttl(key)) === -1).toBe(key === snapshot)
  })

  it('is the same however many publish it', async () => {
    const keys = newKeys()
    const history = historyOf(1)
    const publishers = Array.from({ length: 4 }, () => new RedisPublisher(client(), keys))
    await publishers[0]!.publish(history)
    const { follower, rules } = await plane(keys)
    for (let i = 0; i < 30; i++) {
      history.commit([ruleEdit(`c${i}`, '1/s')])
      await Promise.all(publishers.map((publisher) => publisher.publish(history)))
    }
    await follower.reached(32, 5000)
    expect(follower.head).toEqual(history.state.head)
    expect(rules()).toEqual(rulesOf(history))
  })

  it('is not taken back by one that stood still while another published', async () => {
    const many = (limits: '1/s' | '2/s') =>
      Array.from({ length: 4000 }, (_, i) => ruleEdit(`many-${i}`, limits))
    for (const begin of [
      // Too large for the log; nothing there yet; the log has become long.
      (history: History) => history.commit(many('1/s')),
      (_history: History, redis: Redis, keys: FeedKeys) => redis.del(keys.head),
      (history: History) => {
        for (let i = 0; i < 1000; i++) history.commit([ruleEdit('r0', i % 2 === 0 ? '1/s' : '2/s')])
      },
    ]) {
      const keys = newKeys()
      const history = historyOf(1)
      const redis = client()
      const [slow, quick] = [new RedisPublisher(client(), keys), new RedisPublisher(client(), keys)]
      await quick.publish(history)
      await begin(history, redis, keys)
      let goOn = () => {}
      const waiting = new Promise<void>((resolve) => {
        goOn = resolve
      })
      let hasRead = false
      const late = slow.publish({
        head: () => history.head(),
        changesAfter: (revision) => history.changesAfter(revision),
        watch: (perhaps) => history.watch(perhaps),
        snapshot: async () => {
          const snapshot = await history.snapshot()
          hasRead = true
          await waiting
          return snapshot
        },
      })
      await until('it has read what it will publish', () => hasRead)
      await quick.publish(history)
      history.commit(many('2/s'))
      await quick.publish(history)
      history.commit([ruleEdit('after', '1/s')])
      expect(await quick.publish(history)).toBe(1)
      const published = await redis.hgetall(keys.head)
      goOn()
      await late
      expect(await redis.hgetall(keys.head)).toEqual(published)
      expect((await plane(keys)).rules()).toEqual(rulesOf(history))
    }
  })

  it('goes on where Redis was away for a while', async () => {
    const own = await RedisServer.start()
    const redis = () => {
      const made = new Redis(own.port, '127.0.0.1', {
        enableOfflineQueue: false,
        retryStrategy: () => 50,
        maxRetriesPerRequest: 0,
      })
      made.on('error', () => undefined)
      ends.push(() => made.disconnect())
      return made
    }
    const keys = newKeys()
    const history = historyOf(1)
    const [one, two, three] = [redis(), redis(), redis()]
    await until('they are connected', () => [one, two, three].every((r) => r.status === 'ready'))
    const publisher = new RedisPublisher(one, keys)
    await publisher.publish(history)
    let state: FeedState | null = null
    const follower = new Follower({
      source: new RedisSource(two, three, keys),
      enforce: async (next) => {
        state = next
      },
      file: null,
      log: new Log({ write: () => undefined }),
      pollMs: 100,
    })
    await follower.start()
    ends.push(() => follower.close())
    await own.kill()
    await until('it has noticed', () => follower.reading.isAway)
    history.commit([ruleEdit('meanwhile', '1/s')])
    await expect(publisher.publish(history)).rejects.toThrow()
    await own.start()
    await until('it got through', async () => (await publisher.publish(history)) !== undefined)
    await follower.reached(3, 10_000)
    expect([...state!.namespaces.get('default')!.rules.keys()]).toEqual(rulesOf(history))
    await own.stop()
  })
})

describe('data planes', () => {
  it('say how far they have come, and are forgotten when they are gone', async () => {
    const keys = newKeys()
    const redis = client()
    const said = (revision: number, lag = 0) => ({ host: 'here', revision, lag })
    const [one, two] = [
      new Planes(redis, keys, 'one', () => said(7)),
      new Planes(redis, keys, 'two', () => said(5, 1.5)),
    ]
    await one.beat()
    await two.beat()
    expect(two.all).toMatchObject([
      { instance: 'one', revision: 7, lag: 0 },
      { instance: 'two', revision: 5, lag: 1.5 },
    ])
    // One went silent, the other before Redis's clock stepped back.
    for (const [name, ms] of [
      ['dead', -60_000],
      ['ahead', 60_000],
    ] as const) {
      await redis.hset(keys.planes, name, `${Date.now() + ms} {"host":"x","revision":1,"lag":0}`)
      await one.beat()
      expect(one.all.map(({ instance }) => instance)).toEqual(['one', 'two'])
    }
    await two.close()
    await one.beat()
    expect(one.all.map(({ instance }) => instance)).toEqual(['one'])
  })
})
