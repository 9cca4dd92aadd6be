// Decisions over one redis-server, beside the bare commands over the same connection and other limiters'
// Redis stores. Contenders take turns; the best round of each counts.
import { createLimiter } from '@sluice/limiter'
import { redisStore } from '@sluice/limiter/redis'
import { RedisStore as CountingStore } from 'rate-limit-redis'
import { RateLimiterRedis } from 'rate-limiter-flexible'
import { Deadlines } from '../dist/stores/deadlines.js'
import { LIMITS, randomBelow } from './measure.mjs'
import { flood, startServer } from './redis-server.mjs'

export const title = 'decisions over Redis'
export const goals = [
  { row: 'k=3 batched, 100k keys', column: '× raw pairs', least: 0.9 },
  { row: 'k=5 batched, 100k keys', column: '× k=1', least: 0.7 },
  { row: 'k=3 single, 100k keys', column: '× k=1', least: 0.8 },
  { row: 'k=1, 200 in flight', column: '× rate-limiter-flexible', least: 2.5 },
  { row: 'k=1, 200 in flight', column: '× rate-limit-redis', least: 1.8 },
  { row: 'k=3, 200 in flight', column: '× rate-limiter-flexible', least: 5 },
  { row: 'paced 5000/s', column: 'p50 × bare', most: 1.3 },
  { row: 'paced 5000/s', column: 'p99 × bare', most: 1.3 },
]
export const cases = [{ row: 'everything' }]

const ROUNDS = 5
const MANY = 100_000
const WIDE = 512
const IN_FLIGHT = 200

const users = Array.from({ length: MANY }, (_, i) => `user-${i}`)
const someone = { 'one hot key': () => 'user-0', '100k keys': () => users[randomBelow(MANY)] }

let prefixes = 0
/** To be closed after each part: limiters that are open say every 2 s that they are there. */
const open = []
function limiterOver(client, k) {
  const store = redisStore(client, { prefix: `b${prefixes++}`, deadlineMs: 5000 })
  const limits = LIMITS.divides.slice(0, k)
  const limiter = createLimiter({ rules: { r: { scope: 'user', limits } }, store })
  open.push(limiter)
  return limiter
}

/** A call for each decision: as many limiters as are under way, and none waits for another. */
function single(client, k) {
  const limiters = Array.from({ length: IN_FLIGHT }, () => limiterOver(client, k))
  return (user, i) => limiters[i % IN_FLIGHT].check({ subject: { user } })
}

function batched(client, k) {
  const limiter = limiterOver(client, k)
  return (user) => limiter.check({ subject: { user } })
}

const VALUE = 'x'.repeat(64)

export async function run() {
  const { client, stop } = await startServer()
  const rows = []
  for (const part of [latency, peers, throughput, deadlines]) {
    rows.push(...(await part(client)))
    for (const limiter of open.splice(0)) await limiter.close()
  }
  stop()
  return rows
}

async function throughput(client) {
  const contenders = {}
  for (const [keys, user] of Object.entries(someone)) {
    contenders[`raw pairs, ${keys}`] = {
      width: WIDE,
      run: async () => {
        const key = `raw:${user()}`
        client.get(key)
        await client.set(key, VALUE, 'PX', 120_000)
      },
    }
    for (const k of [1, 3, 5]) {
      const one = single(client, k)
      contenders[`k=${k} single, ${keys}`] = { width: IN_FLIGHT, run: (i) => one(user(), i) }
      const many = batched(client, k)
      contenders[`k=${k} batched, ${keys}`] = { width: WIDE, run: () => many(user()) }
    }
  }
  const best = await turns(contenders, 60_000)
  return Object.entries(best).map(([row, { perSecond, cpuUs }]) => {
    const keys = row.slice(row.indexOf(',') + 2)
    const first = row.replace(/^k=\d/, 'k=1')
    const raw = best[`raw pairs, ${keys}`]
    return {
      row,
      'k decisions/s': perSecond / 1000,
      'client µs': cpuUs,
      '× raw pairs': perSecond / raw.perSecond,
      '× k=1': perSecond / best[first].perSecond,
    }
  })
}

async function peers(client) {
  const flexible = (name) =>
    new RateLimiterRedis({ storeClient: client, keyPrefix: name, points: 1e9, duration: 3600 })
  const counting = async (name) => {
    const store = new CountingStore({
      prefix: name,
      sendCommand: (command, ...args) => client.call(command, ...args),
    })
    await store.init({ windowMs: 3_600_000 })
    return store
  }
  const user = someone['100k keys']
  const rows = []
  for (const k of [1, 3]) {
    const names = Array.from({ length: k }, (_, i) => `p${k}${i}`)
    const flexibles = names.map((name) => flexible(`f${name}`))
    const countings = await Promise.all(names.map((name) => counting(`c${name}`)))
    const sluice = batched(client, k)
    const best = await turns(
      {
        sluice: { width: IN_FLIGHT, run: () => sluice(user()) },
        flexible: {
          width: IN_FLIGHT,
          run: () => {
            const key = user()
            return Promise.all(flexibles.map((limiter) => limiter.consume(key, 1)))
          },
        },
        counting: {
          width: IN_FLIGHT,
          run: () => {
            const key = user()
            return Promise.all(countings.map((store) => store.increment(key)))
          },
        },
      },
      20_000,
    )
    rows.push({
      row: `k=${k}, 200 in flight`,
      'k decisions/s': best.sluice.perSecond / 1000,
      'client µs': best.sluice.cpuUs,
      '× rate-limiter-flexible': best.sluice.perSecond / best.flexible.perSecond,
      '× rate-limit-redis': best.sluice.perSecond / best.counting.perSecond,
      'CPU × rate-limiter-flexible': best.flexible.cpuUs / best.sluice.cpuUs,
    })
  }
  return rows
}

/** A limit in its shortest script: one GET, one SET PX, the server's time. */
const BARE = `local t = redis.call('TIME') local now = t[1] * 1000000 + t[2]
local tat = tonumber(redis.call('GET', KEYS[1]) or 0) if tat < now then tat = now end
if tat + 1 > now + 1000000 then return 0 end
redis.call('SET', KEYS[1], string.format('%.0f', tat + 1), 'PX', 60000) return 1`

/** p50 and p99 of requests that arrive one after the other, 5000 a second, whether or not the last was answered. */
async function latency(client) {
  const sha = await client.script('LOAD', BARE)
  const limiter = limiterOver(client, 3)
  const user = someone['100k keys']
  const contenders = {
    bare: () => client.evalsha(sha, 1, `bare:${user()}`),
    sluice: () => limiter.check({ subject: { user: user() } }),
  }
  const times = { bare: [], sluice: [] }
  for (let round = 0; round < 2 * ROUNDS; round++) {
    for (const [name, ask] of Object.entries(contenders)) {
      const round = await paced(5000, 1, ask)
      times[name].push(round)
    }
  }
  const at = (name, part) =>
    Math.min(...times[name].map((all) => all[Math.floor(all.length * part)]))
  return [
    {
      row: 'paced 5000/s',
      'p50 ms': at('sluice', 0.5),
      'p99 ms': at('sluice', 0.99),
      'p50 × bare': at('sluice', 0.5) / at('bare', 0.5),
      'p99 × bare': at('sluice', 0.99) / at('bare', 0.99),
    },
  ]
}

async function paced(perSecond, seconds, ask) {
  const times = []
  const under = []
  const started = performance.now()
  const total = perSecond * seconds
  for (let sent = 0; sent < total; ) {
    const due = Math.min(total, Math.floor(((performance.now() - started) / 1000) * perSecond))
    for (; sent < due; sent++) {
      const at = performance.now()
      under.push(ask().then(() => times.push(performance.now() - at)))
    }
    await new Promise((resolve) => setImmediate(resolve))
  }
  await Promise.all(under)
  return times.sort((a, b) => a - b)
}

/** What a call's deadline costs: one timer for all of them, beside a timer for each. */
async function deadlines() {
  const shared = new Deadlines()
  const calls = 200_000
  const ways = {
    shared: () => {
      shared.deadline(shared.now() + 100, () => {}).meet()
    },
    each: () => clearTimeout(setTimeout(() => {}, 100)),
  }
  const best = { shared: Number.POSITIVE_INFINITY, each: Number.POSITIVE_INFINITY }
  for (let round = 0; round < 2 * ROUNDS; round++) {
    for (const [name, way] of Object.entries(ways)) {
      const started = performance.now()
      for (let i = 0; i < calls; i++) way()
      best[name] = Math.min(best[name], ((performance.now() - started) * 1e6) / calls)
      await new Promise((resolve) => setTimeout(resolve, 150))
    }
  }
  return [{ row: 'a deadline', 'ns a call': best.shared, 'ns with a timer each': best.each }]
}

async function turns(contenders, total) {
  const best = {}
  for (let round = 0; round < ROUNDS; round++) {
    for (const [name, { width, run: ask }] of Object.entries(contenders)) {
      const result = await flood(total, width, ask)
      if (!(best[name]?.perSecond > result.perSecond)) best[name] = result
    }
  }
  return best
}
