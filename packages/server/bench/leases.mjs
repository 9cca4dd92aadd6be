// Leases: what a decision from memory costs, how rarely Redis is asked, and whether the limit was kept in
// that same run; then the sidecar, beside servers that do nothing.
import { createLimiter } from '@sluice/limiter'
import { freshKey, race } from '../../limiter/bench/measure.mjs'
import { startServer } from '../../limiter/bench/redis-server.mjs'
import { batches, load } from './http-load.mjs'
import { start } from './http-servers.mjs'
import { latencies } from './lease-latency.mjs'
import { instancesOver, paced } from './lease-load.mjs'

export const title = 'leases: deciding from memory, never one too many'

const RATES = { '1k/s': 1000, '10k/s': 10_000, '100k/s': 100_000 }

export const cases = [
  { row: 'spend, one key', part: spend, keys: 1 },
  { row: 'spend, 1000 keys', part: spend, keys: 1000 },
  ...Object.entries(RATES).map(([name, perSecond]) => ({
    row: `one hot key, ${name}`,
    part: hotKey,
    perSecond,
    instances: 1,
    load: 0.8,
  })),
  {
    row: 'one hot key, 10k/s, 4 instances',
    part: hotKey,
    perSecond: 10_000,
    instances: 4,
    load: 0.8,
  },
  {
    row: 'half too much, 10k/s, 4 instances',
    part: hotKey,
    perSecond: 10_000,
    instances: 4,
    load: 1.5,
  },
  { row: '100k keys, Zipf, 20k/s', part: zipf, perSecond: 20_000 },
  { row: 'sidecar, batches of 100', part: sidecarBatches },
  { row: 'sidecar, one check over its socket', part: sidecarLatency },
]

export const goals = [
  { row: 'spend, one key', column: '× memory', least: 0.8 },
  { row: 'spend, one key', column: 'M decisions/s', least: 3 },
  { row: 'one hot key, 1k/s', column: 'calls per 1000', most: 45 },
  { row: 'one hot key, 10k/s', column: 'calls per 1000', most: 4.5 },
  { row: 'one hot key, 100k/s', column: 'calls per 1000', most: 0.5 },
  { row: 'one hot key, 100k/s', column: 'waited, %', most: 0.2 },
  ...['one hot key, 10k/s, 4 instances', 'half too much, 10k/s, 4 instances'].flatMap((row) => [
    { row, column: 'over-admitted', most: 0 },
    { row, column: 'under-admitted, %', most: 1 },
  ]),
  { row: 'sidecar, batches of 100', column: '× echo', least: 0.6 },
]

export const run = (one) => one.part(one)

async function spend({ keys }) {
  const { port, stop } = await startServer()
  const rules = { r: { scope: 'user', limits: '100M/s' } }
  const instances = await instancesOver(port, rules, 1)
  const [{ limiter: leased, store }] = instances.all
  const memory = createLimiter({ rules })
  let sink = 0
  const decide = (limiter) => async (texts) => {
    for (let i = 0; i < texts.length; i++) {
      const d = limiter.decide({ subject: { user: texts[i] } })
      if (d.allowed === true) sink += d.remaining & 1
    }
    await new Promise((resolve) => setImmediate(resolve))
  }
  // More and more, as a load would grow: the first lease is as small as the first moment's need.
  for (let i = 1; i <= 400; i++) {
    const texts = Array.from({ length: 25 * i }, (_, n) => freshKey(n % keys))
    await decide(leased)(texts)
    await new Promise((resolve) => setTimeout(resolve, 2))
  }
  const before = store.health.leases
  // A turn of the event loop as a busy server has them: answers of Redis are read between two.
  const turns = { keys, rounds: 400, batch: 4000 }
  const times = await race({ memory: decide(memory), leased: decide(leased) }, turns)
  const { local, asked } = store.health.leases
  await instances.close()
  stop()
  return {
    'memory ns': times.memory.best,
    'leased ns': times.leased.best,
    '× memory': times.memory.best / times.leased.best,
    'M decisions/s': 1000 / times.leased.best,
    'from memory, %':
      (100 * (local - before.local)) / (local - before.local + asked - before.asked),
    kept: sink,
  }
}

async function hotKey({ perSecond, instances, load: part }) {
  const { port, stop } = await startServer()
  const limit = Math.round(perSecond / part)
  const result = await paced(port, {
    limit: `${limit}/s`,
    burst: limit,
    instances,
    perSecond,
    seconds: 6,
    users: () => 'ada',
  })
  stop()
  return result
}

/** The n-th most frequent of 100,000 keys is asked for 1/n as often as the first. */
async function zipf({ perSecond }) {
  const { port, stop } = await startServer()
  const KEYS = 100_000
  const sums = new Float64Array(KEYS)
  for (let i = 0, sum = 0; i < KEYS; i++) sums[i] = sum += 1 / (i + 1)
  const users = () => {
    const lot = Math.random() * sums[KEYS - 1]
    let [low, high] = [0, KEYS - 1]
    while (low < high) {
      const middle = (low + high) >> 1
      if (sums[middle] < lot) low = middle + 1
      else high = middle
    }
    return `user-${low}`
  }
  const result = await paced(port, { limit: '5000/s', instances: 1, perSecond, seconds: 4, users })
  stop()
  return result
}

const ROUNDS = 4
const SIZE = 100

async function sidecarBatches() {
  const { port, stop } = await startServer()
  const sidecar = await start('sidecar', { redis: port })
  const script = batches(SIZE, 100)
  const connections = { connections: 16, seconds: 2 }
  load(sidecar.port, script, connections)
  const bytes = await answerSize(sidecar.port)
  const echo = await start('echo', { bytes })
  const best = { sidecar: 0, echo: 0 }
  for (let round = 0; round < ROUNDS; round++) {
    best.echo = Math.max(best.echo, load(echo.port, script, connections))
    best.sidecar = Math.max(best.sidecar, load(sidecar.port, script, connections))
  }
  await sidecar.stop()
  await echo.stop()
  stop()
  return {
    'k decisions/s': (best.sidecar * SIZE) / 1000,
    'echo, batches/s': best.echo,
    'sidecar, batches/s': best.sidecar,
    '× echo': best.sidecar / best.echo,
  }
}

async function answerSize(port) {
  const checks = Array.from({ length: SIZE }, (_, i) => ({
    subject: { user: `user-${i}` },
    resource: '/v1/search',
    method: 'GET',
  }))
  const answer = await fetch(`http://127.0.0.1:${port}/v1/check/batch`, {
    method: 'POST',
    body: JSON.stringify({ checks }),
  })
  return (await answer.arrayBuffer()).byteLength
}

async function sidecarLatency() {
  const { port, stop } = await startServer()
  const sidecar = await start('sidecar', { redis: port })
  const empty = await start('empty', { isSocket: true })
  const times = await latencies({ sidecar: sidecar.socket, empty: empty.socket })
  await sidecar.stop()
  await empty.stop()
  stop()
  return {
    'p50 µs': times.sidecar.p50,
    'p99 µs': times.sidecar.p99,
    'empty, p50 µs': times.empty.p50,
    'empty, p99 µs': times.empty.p99,
    'p50 × empty': times.sidecar.p50 / times.empty.p50,
    'p99 × empty': times.sidecar.p99 / times.empty.p99,
  }
}
