// One instance of a service under load: asks a limiter over Redis until it is told to stop, and writes down
// every answer. Its argument says which client, where, which rules and what to ask; see drill.ts.
// It is JavaScript, and takes the library as it is published: built, by its name.
import { appendFileSync } from 'node:fs'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { createLimiter } from '@sluice/limiter'
import {
  ioredisClusterOptions,
  ioredisOptions,
  nodeRedisClusterOptions,
  nodeRedisOptions,
  redisStore,
} from '@sluice/limiter/redis'
import { slotOf } from '../../../dist/stores/redis/keys.js'
import { redisPort } from '../../../dist/stores/redis/redis-client.js'

const config = JSON.parse(process.argv[2])
const WITNESS_MS = 40
const TICK_MS = 10
/** From here on a pause of the event loop is written down, and one of Redis, as the witness sees it. */
const LOOP_STALL_MS = 5
const STORE_STALL_MS = 20

const lines = []
function record(is, what) {
  lines.push(JSON.stringify({ is, ...what }))
}
function fault(what, error) {
  record('error', { what: `${what}: ${error?.stack ?? error}` })
}
function flush() {
  if (lines.length > 0) appendFileSync(config.file, `${lines.join('\n')}\n`)
  lines.length = 0
}

process.on('unhandledRejection', (error) => fault('unhandled rejection', error))
process.on('uncaughtException', (error) => fault('uncaught', error))
process.on('warning', (warning) => fault('warning', warning))
process.on('exit', flush)
const orphaned = () => process.exit(1)
process.on('disconnect', orphaned)

async function makeClient({ kind, url, nodes, sentinels, name }) {
  if (kind.startsWith('ioredis')) {
    const { Redis } = await import('ioredis')
    let client
    if (kind === 'ioredis') client = new Redis(url, ioredisOptions)
    else if (kind === 'ioredis-sentinel') client = new Redis({ sentinels, name, ...ioredisOptions })
    else client = new Redis.Cluster(nodes, ioredisClusterOptions)
    client.on('error', () => {})
    await new Promise((resolve) => client.once('ready', resolve))
    return { client, end: () => client.disconnect() }
  }
  const { createClient, createCluster } = await import('redis')
  const client =
    kind === 'node-redis'
      ? createClient({ url, ...nodeRedisOptions })
      : createCluster({
          rootNodes: nodes.map(({ host, port }) => ({ url: `redis://${host}:${port}` })),
          ...nodeRedisClusterOptions,
        })
  client.on('error', () => {})
  await client.connect()
  return { client, end: () => client.destroy() }
}

/** Pings over a connection of its own, and writes down when there was no answer at once. */
function witness({ host, port }) {
  let socket
  let sent = 0
  let isOver = false
  const open = () => {
    sent = 0
    const own = connect(port, host)
    socket = own
    own.setNoDelay(true)
    own.on('data', () => answered())
    own.on('error', () => {})
    own.on('close', () => {
      missed()
      if (!isOver && socket === own) setTimeout(open, WITNESS_MS).unref()
    })
  }
  const note = (from) => record('stall', { of: 'store', from, to: performance.now() })
  const answered = () => {
    if (sent > 0 && performance.now() - sent > STORE_STALL_MS) note(sent)
    sent = 0
  }
  const missed = () => note(sent > 0 ? sent : performance.now() - WITNESS_MS)
  const timer = setInterval(() => {
    const now = performance.now()
    if (sent > 0 && now - sent > 500) {
      // Silent for too long: what there was of it is noted when it closes.
      socket.destroy()
    } else if (sent === 0 && socket.readyState === 'open') {
      sent = now
      socket.write('PING\r\n')
    }
  }, WITNESS_MS)
  open()
  return () => {
    isOver = true
    clearInterval(timer)
    socket.destroy()
  }
}

/** How late a short timer is says whether this process had the processor. */
let lastTick = performance.now()
const ticker = setInterval(() => {
  const now = performance.now()
  if (now - lastTick > TICK_MS + LOOP_STALL_MS)
    record('stall', { of: 'loop', from: lastTick, to: now })
  lastTick = now
}, TICK_MS)

function memory(when) {
  globalThis.gc()
  const { heapUsed, external, rss } = process.memoryUsage()
  record('memory', { when, bytes: heapUsed + external, rss })
}

let state = config.seed
function random() {
  state = (Math.imul(state, 1664525) + 1013904223) >>> 0
  return state / 2 ** 32
}

const { client, end } = await makeClient(config.client)
const store = redisStore(client, { deadlineMs: config.deadlineMs, instances: config.instances })
const limiter = createLimiter({
  rules: config.rules,
  store,
  clock: () => Date.now() + config.skewMs,
})
/** Says which node has a slot. */
const port = redisPort(client)
const endWitnesses = config.witnessed.map(witness)

const pending = new Set()
const recent = { degraded: 0, exact: 0 }

/** The nodes that have the request's rows, with the state of each one's breaker. */
function breakersOf(subject) {
  const { nodesAway } = store.health
  const rows = Object.entries(subject).map(([scope, value]) => `default|${scope}|${value}`)
  const nodes = new Set(rows.map((row) => port.nodeOf(slotOf(row))))
  const states = [...nodes].map((node) => {
    const away = nodesAway.find((each) => each.node === node)
    return [node, away?.breaker ?? 'closed']
  })
  return Object.fromEntries(states)
}

async function ask(resource, subject) {
  const [asked, askedWall] = [performance.now(), Date.now()]
  const before = breakersOf(subject)
  try {
    const deciding = limiter.check({ subject, resource })
    const breakers = { before, after: breakersOf(subject) }
    const decision = await deciding
    const times = { asked, answered: performance.now(), askedWall, answeredWall: Date.now() }
    const { allowed, degradedReason: degraded, decidedAt, reason, rule } = decision
    recent[degraded === null ? 'exact' : 'degraded']++
    const said = { allowed, degraded, decidedAt, reason, rule }
    record('answer', { ...times, resource, key: Object.values(subject)[0], breakers, ...said })
  } catch (error) {
    fault('rejected', error)
  }
}

let turn = Math.floor(random() * config.asks.length)
function askSome() {
  for (let i = 0; i < config.perTurn; i++) {
    turn = (turn + 1) % config.asks.length
    const { resource, scopes } = config.asks[turn]
    const isHot = random() < 0.75
    const key = isHot ? 'hot' : `cold${Math.floor(random() * 4)}`
    const asked = ask(resource, Object.fromEntries(scopes.map((scope) => [scope, key])))
    pending.add(asked)
    void asked.then(() => pending.delete(asked))
  }
}

const timers = []
process.on('message', (message) => {
  if (message === 'start') {
    timers.push(setInterval(askSome, config.everyMs), setInterval(flush, 200))
    timers.push(setInterval(report, 250))
    setTimeout(() => memory('start'), 1000)
  } else if (message === 'stop') void stop()
})

function report() {
  process.send({ ...recent, breaker: store.health.breaker })
  recent.degraded = 0
  recent.exact = 0
}

async function stop() {
  for (const timer of timers) clearInterval(timer)
  await Promise.race([Promise.all(pending), sleep(3000, null, { ref: false })])
  if (pending.size > 0) fault('unanswered', pending.size)
  memory('end')
  for (const endWitness of endWitnesses) endWitness()
  clearInterval(ticker)
  await limiter.close()
  end()
  flush()
  // Nothing of the limiter's keeps the process: it ends now, by itself.
  process.off('disconnect', orphaned)
  process.disconnect()
}

process.send('ready')
