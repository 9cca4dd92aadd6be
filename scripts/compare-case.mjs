// One measurement of `compare-builds.mjs`: a build's folder and a path; prints milliseconds per operation: of CPU, and until it was done.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createRequire } from 'node:module'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'

const [build, path] = process.argv.slice(2)
const load = (name) => import(pathToFileURL(join(build, 'packages/limiter/dist', `${name}.js`)))
const { createLimiter, RuleSet } = await load('index')

const THREE = { all: { scope: 'user', limits: ['1M/s', '100M/h', '1000M/d'] } }
const requests = (count) =>
  Array.from({ length: count }, (_, i) => ({
    subject: { user: `user-${(i * 7919) % count}` },
    resource: '/v1/search',
  }))

/** Each answers what runs once, and how many operations that are. */
const PATHS = {
  plain: () => checking({ all: { scope: 'user', limits: '1M/s' } }, 1000),
  wide: () => checking(THREE, 100_000),
  denied: () => checking({ all: { scope: 'user', limits: '1/d' } }, 1000),
  read: () => checking(THREE, 1000, (decision) => JSON.stringify(decision)),
  compile: () => {
    const rules = Object.fromEntries(
      Array.from({ length: 5000 }, (_, i) => [
        `rule-${i}`,
        { scope: 'user', resource: `/v1/r${i}`, limits: ['10/s', '100/min'], description: 'x' },
      ]),
    )
    return { run: () => RuleSet.compile({ rules }), operations: 5000, rounds: 6 }
  },
  redis: () => overRedis({ deadlineMs: 20_000 }, 20_000, 40),
  leased: () => overRedis({ deadlineMs: 20_000, leases: true }, 20, 160),
  spend: () => spending(1),
  spendMany: () => spending(1000),
}

function checking(rules, keys, use = () => undefined) {
  const limiter = createLimiter({ rules })
  const all = requests(keys)
  const run = () => {
    for (let i = 0; i < all.length; i++) use(limiter.checkSync(all[i]))
  }
  return { run, operations: keys, rounds: Math.max(4, Math.round(400_000 / keys)) }
}

async function overRedis(options, keys, rounds) {
  const limiter = await limiterOverRedis(THREE, options)
  const all = requests(keys)
  let next = 0
  const run = async () => {
    for (let round = 0; round < 100; round++) {
      await Promise.all(Array.from({ length: 64 }, () => limiter.check(all[next++ % all.length])))
    }
  }
  return { run, operations: 6400, rounds, done: () => process.exit(0) }
}

/** As `npm run bench leases` spends tokens: from memory, in turns of the event loop as a busy server has them. */
async function spending(keys) {
  const rules = { r: { scope: 'user', limits: '100M/s' } }
  const limiter = await limiterOverRedis(rules, { deadlineMs: 20_000, leases: true })
  const all = requests(keys)
  const batch = 4000
  const spend = async (count) => {
    for (let i = 0; i < count; i++) limiter.decide(all[i % keys])
    await new Promise((resolve) => setImmediate(resolve))
  }
  // More and more, as a load would grow: the first lease is as small as the first moment's need.
  for (let i = 1; i <= 400; i++) {
    await spend(25 * i)
    await wait(2)
  }
  const run = async () => {
    for (let turn = 0; turn < 50; turn++) await spend(batch)
  }
  return { run, operations: 50 * batch, rounds: 8, done: () => process.exit(0) }
}

async function limiterOverRedis(rules, options) {
  const { ioredisOptions, redisStore } = await load('redis')
  const { Redis } = createRequire(join(build, 'packages/limiter/package.json'))('ioredis')
  const port = await freePort()
  const server = spawn(
    'taskset',
    ['-c', '1', 'redis-server', '--port', String(port), '--save', ''],
    {
      stdio: 'ignore',
    },
  )
  process.on('exit', () => server.kill('SIGKILL'))
  const client = new Redis(port, { ...ioredisOptions })
  client.on('error', () => undefined)
  await new Promise((resolve) => client.once('ready', resolve))
  return createLimiter({ rules, store: redisStore(client, options) })
}

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address()
  server.close()
  await wait(10)
  return port
}

const { run, operations, rounds, done } = await PATHS[path]()
for (let i = 0; i < Math.ceil(rounds / 2); i++) await run()
globalThis.gc()
const started = performance.now()
const before = process.cpuUsage()
for (let i = 0; i < rounds; i++) await run()
const { user, system } = process.cpuUsage(before)
const all = operations * rounds
const cpu = (user + system) / 1000 / all
console.log(JSON.stringify({ cpu, wall: (performance.now() - started) / all }))
done?.()
