/** What a report of leased tokens changes in a real Redis, and that a row which does not know the lease is left alone. */
import { once } from 'node:events'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { RuleSet } from '../../src/index.js'
import { ioredisOptions } from '../../src/redis.js'
import type { CompiledRule } from '../../src/rules/compiled-rule.js'
import type { Answer } from '../../src/stores/answer.js'
import type { LeaseReply, LeaseReport } from '../../src/stores/leasing.js'
import type { RedisStore } from '../../src/stores/redis/redis-store.js'
import { newTransaction } from '../../src/stores/transaction.js'
import { bareStore } from './bare-store.js'
import { RedisServer, until } from './servers.js'

const START = 1_700_000_000_100_000
const HOUR = 3_600_000_000
const rule = RuleSet.compile({ rules: { r: { scope: 'user', limits: '400/h' } } }).all[0]!

let primary: RedisServer
let replica: RedisServer
let now = START
const clients: Redis[] = []

beforeAll(async () => {
  primary = await RedisServer.start({ args: ['--repl-diskless-sync-delay', '0'] })
  replica = await RedisServer.start({ args: ['--replicaof', '127.0.0.1', String(primary.port)] })
  await until('the replica is linked', async () =>
    (await replica.admin.info('replication')).includes('master_link_status:up'),
  )
})
afterAll(async () => {
  for (const client of clients) client.disconnect()
  await Promise.all([primary.stop(), replica.stop()])
})
beforeEach(async () => {
  now += HOUR
  await primary.admin.flushall()
})

async function storeOn({ port }: RedisServer): Promise<RedisStore> {
  const client = new Redis({ ...ioredisOptions, port, host: '127.0.0.1' })
  clients.push(client)
  await once(client, 'ready')
  return bareStore(client, 'reports', () => now)
}

function moment() {
  return { now, deadline: performance.now() + 10_000 }
}

function ask(
  store: RedisStore,
  want: number,
  reports: readonly LeaseReport[] = [],
  of: CompiledRule = rule,
): Promise<LeaseReply> {
  return new Promise((resolve, reject) =>
    store.lease({ rule: of, value: 'x', want, reports, ...moment() }, resolve, reject),
  )
}

/** What is leased out, and what is left. */
function state({ out, answer }: LeaseReply): [out: number, left: number] {
  return [out, answer.remaining(0)]
}

/** Half was spent, half is given back. */
function halves({ lease, granted }: LeaseReply): LeaseReport {
  return { lease, spent: granted / 2, back: granted / 2 }
}

describe('a report', () => {
  it('lowers what is out, and gives back what was not spent', async () => {
    const store = await storeOn(primary)
    const lease = await ask(store, 40)
    expect(state(await ask(store, 0))).toEqual([40, 360])
    expect(state(await ask(store, 0, [halves(lease)]))).toEqual([0, 380])
  })

  it('leaves as taken what was spent: other instances compute their part from it', async () => {
    const store = await storeOn(primary)
    await ask(store, 0, [halves(await ask(store, 40))])
    const row = (await primary.admin.getBuffer('reports:{default|user|x}:r'))!
    // Behind the names and the mark: when it expires, its birth, its last write, what was taken.
    expect(row.readDoubleLE(row.indexOf(';') + 2 + 3 * 8)).toBe(20)
  })

  it('changes nothing of a row that was made anew since', async () => {
    const store = await storeOn(primary)
    const lost = await ask(store, 40)
    await primary.admin.flushall()
    now += 1000
    await ask(store, 40)
    expect(state(await ask(store, 0, [halves(lost)]))).toEqual([40, 360])
  })

  it('changes nothing of a row that is not there any more', async () => {
    const store = await storeOn(primary)
    const lost = await ask(store, 40)
    await primary.admin.flushall()
    expect(state(await ask(store, 0, [halves(lost)]))).toEqual([0, 400])
    expect(await primary.admin.dbsize()).toBe(0)
  })

  it('changes nothing once the lease has ended: it was spent', async () => {
    const store = await storeOn(primary)
    const lease = await ask(store, 40)
    now += 1_000_000
    expect(state(await ask(store, 0, [halves(lease)]))).toEqual([0, 360])
  })

  it('changes nothing on a replica that has become the primary: it may not know of the lease', async () => {
    const lost = await ask(await storeOn(primary), 40)
    await primary.admin.wait(1, 0)
    await replica.admin.replicaof('NO', 'ONE')
    const store = await storeOn(replica)
    expect(state(await ask(store, 0, [halves(lost)]))).toEqual([40, 360])
  })
})

it('nothing is leased where the user may not call INFO, which says which run of the server grants', async () => {
  const { admin } = primary
  await admin.acl('SETUSER', 'uninformed', 'on', 'nopass', '~*', '&*', '+@all', '-info')
  const client = new Redis({ ...ioredisOptions, port: primary.port, host: '127.0.0.1' })
  clients.push(client)
  await once(client, 'ready')
  await client.auth('uninformed', '')
  const uninformed = bareStore(client, 'reports', () => now)
  await ask(await storeOn(primary), 40)
  await expect(ask(uninformed, 40)).rejects.toMatchObject({ undone: 'not_done' })
  expect(state(await ask(await storeOn(primary), 0))).toEqual([40, 360])
})

it('what is leased of a bucket stays out when its row is reset', async () => {
  const store = await storeOn(primary)
  const lease = await ask(store, 40)
  await store.change([{ kind: 'reset', family: rule.family, value: 'x' }], moment())
  expect(state(await ask(store, 0))).toEqual([40, 360])
  expect(state(await ask(store, 0, [halves(lease)]))).toEqual([0, 380])
})

it('fewer than two are not leased', async () => {
  const store = await storeOn(primary)
  await store.decide(newTransaction([rule], ['x'], 385, now, moment()))
  expect((await ask(store, 40)).granted).toBe(0)
  expect((await ask(store, 1)).granted).toBe(0)
})

it('a calendar window is leased also by an instance whose clock is weeks ahead', async () => {
  const client = new Redis({ ...ioredisOptions, port: primary.port, host: '127.0.0.1' })
  clients.push(client)
  await once(client, 'ready')
  const [daily] = RuleSet.compile({
    rules: { d: { scope: 'user', limits: '400 per calendar day' } },
  }).all
  const ahead = bareStore(client, 'ahead', null)
  now = 1000 * (Date.now() + 40 * 86_400_000)
  expect((await ask(ahead, 40, [], daily)).granted).toBe(40)
  now = START
})

describe('variants of a rule, which share its row', () => {
  const variants = RuleSet.compile({
    rules: {
      r: {
        scope: 'user',
        limits: '100000/h',
        tiers: { pro: '1000/s burst 4000', log: '1000 per 60s exact' },
      },
    },
  })
  const [base, pro, log] = ['r', 'r@pro', 'r@log'].map((name) => variants.named(name)!)

  async function take(store: RedisStore, of: CompiledRule, cost: number): Promise<Answer> {
    return store.decide(newTransaction([of], ['x'], cost, now))
  }

  it('do not refill what is leased of another while they are asked for themselves', async () => {
    const store = await storeOn(primary)
    const { granted, lease } = await ask(store, 500, [], pro)
    expect(granted).toBe(500)
    // All of it is spent at the last moment, and nobody says so.
    now = lease.endsAt + 1000
    await take(store, base!, 1)
    const { answer } = await ask(store, 0, [], pro)
    expect(answer.remaining(0)).toBe(4000 - 500 + 1)
  })

  it('leave the log of another in order', async () => {
    const store = await storeOn(primary)
    await ask(store, 50, [], log)
    await take(store, base!, 1)
    now += 400_000
    await take(store, log!, 1)
    const [key] = await primary.admin.keys('*:e*')
    const entries = await primary.admin.lrangeBuffer(key!, 0, -1)
    const stamps = entries.map((entry) => entry.readDoubleLE(0))
    expect(stamps).toHaveLength(2)
    expect(stamps).toEqual(stamps.toSorted((a, b) => a - b))
  })
})
