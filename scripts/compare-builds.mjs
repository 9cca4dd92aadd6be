// `npm run bench:compare -- FOLDER [path …]`: whether this build is slower than the one in FOLDER, a checkout
// that was built (`npm ci && npm run build`). Both are measured in turns, in the order A B B A, each time in a
// fresh process: the CPU time per decision, and the time until it is done, which shows the throughput and, over
// Redis, what the script costs there. A path is slower if the lower quartile of its ratios (this build's time / the
// other's) is above 1.05. Exit 6: some path is slower.
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { batches, checks, load, odd } from '../packages/server/bench/http-load.mjs'
import { ensureCommand } from './ensure.mjs'
import { ROOT } from './run.mjs'

const PAIRS = 20
const SLOWER = 1.05
/** How much longer a start may take, in milliseconds. */
const MOST_MS_MORE = 10
const RULES = 'rules:\n  per-user: { scope: user, limits: [1M/s, 100M/h, 1000M/d] }\n'

const FULL = { SLUICE_ANSWERS: 'full' }
const one = { script: checks(8), decisions: 1 }
const hundred = { script: batches(100), decisions: 100 }

/** A path of the library runs `compare-case.mjs`; one of the server is loaded over HTTP. */
const CASES = {
  'library, 1 limit': { library: 'plain' },
  'library, 3 limits, 100,000 keys': { library: 'wide' },
  'library, denied': { library: 'denied' },
  'library, reading what a decision says': { library: 'read' },
  'library, compiling 5,000 rules': { library: 'compile' },
  'over Redis': { library: 'redis' },
  'over Redis, leased': { library: 'leased' },
  'leases, spending of 1 key': { library: 'spend' },
  'leases, spending of 1,000 keys': { library: 'spendMany' },
  'HTTP check': one,
  'HTTP batch of 100': hundred,
  'HTTP check, full answers': { ...one, environment: FULL },
  'HTTP batch of 100, full answers': { ...hundred, environment: FULL },
  'HTTP check, ordinary path': { script: odd(), decisions: 1 },
  'sidecar with leases, check': { ...one, isSidecar: true },
  'sidecar with leases, batch of 100': {
    script: batches(100, 100),
    decisions: 100,
    isSidecar: true,
  },
  start: { isStart: true },
}

const [folder, ...wanted] = process.argv.slice(2)
if (folder === undefined) {
  console.error('Which build? npm run bench:compare -- FOLDER')
  process.exit(2)
}
ensureCommand('wrk', 'wrk')
ensureCommand('redis-server', 'redis-server')
const BUILDS = { A: resolve(folder), B: ROOT }

/** Milliseconds of CPU that a process has used; the system counts in hundredths of a second. */
function cpuOf(pid) {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /, '')
    .split(' ')
  return (Number(fields[11]) + Number(fields[12])) * 10
}

/** A sidecar has a Redis of its own, on the core of the load. */
async function startServer(build, { environment = {}, isSidecar = false }) {
  const redis = isSidecar ? await startRedis() : null
  const cwd = mkdtempSync(join(tmpdir(), 'sluice-compare-'))
  writeFileSync(join(cwd, 'sluice.yaml'), RULES)
  const command = join(build, 'packages/server/bin/sluice.cjs')
  const args = [
    '-c',
    '0',
    process.execPath,
    command,
    ...(redis === null ? ['serve'] : ['sidecar', '--rules', 'sluice.yaml', ...redis.options]),
    '--port',
    '0',
    '--log-level',
    'error',
  ]
  const env = { ...process.env, ...environment }
  const started = performance.now()
  const child = spawn('taskset', args, { cwd, env, stdio: ['ignore', 'ignore', 'pipe'] })
  const stop = async () => {
    if (child.exitCode === null) {
      child.kill('SIGKILL')
      await once(child, 'exit')
    }
    redis?.stop()
    rmSync(cwd, { recursive: true, force: true })
  }
  let said = ''
  while (!/localhost:(\d+)/.test(said)) {
    const [chunk] = await Promise.race([once(child.stderr, 'data'), once(child, 'exit')])
    if (child.exitCode !== null) {
      await stop()
      throw new Error(`it did not start: ${said}`)
    }
    said += chunk
  }
  const startMs = performance.now() - started
  return { port: Number(/localhost:(\d+)/.exec(said)[1]), pid: child.pid, startMs, stop }
}

async function startRedis() {
  const port = await freePort()
  const args = ['--port', String(port), '--bind', '127.0.0.1', '--save', '']
  const child = spawn('taskset', ['-c', '1', 'redis-server', ...args], { stdio: 'ignore' })
  while (!(await answers(port))) await wait(20)
  return { options: ['--redis', `redis://127.0.0.1:${port}`], stop: () => child.kill('SIGKILL') }
}

async function answers(port) {
  const socket = connect(port, '127.0.0.1')
  const isOpen = await once(socket, 'connect').then(
    () => true,
    () => false,
  )
  socket.destroy()
  return isOpen
}

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address()
  server.close()
  await once(server, 'close')
  return port
}

async function measure(name, build) {
  const { library, isStart, script, decisions } = CASES[name]
  if (library !== undefined) {
    const file = fileURLToPath(new URL('compare-case.mjs', import.meta.url))
    const args = ['-c', '0', process.execPath, '--expose-gc', file, build, library]
    const { stdout, stderr, status } = spawnSync('taskset', args, { encoding: 'utf8' })
    if (status !== 0) throw new Error(`${name}: ${stderr}`)
    return JSON.parse(stdout)
  }
  const server = await startServer(build, CASES[name])
  try {
    if (isStart) return { wall: server.startMs }
    load(server.port, script, { connections: 32, seconds: 1 })
    const before = cpuOf(server.pid)
    const rate = load(server.port, script, { connections: 32, seconds: 1 })
    return {
      cpu: (cpuOf(server.pid) - before) / (rate * decisions),
      wall: 1000 / (rate * decisions),
    }
  } finally {
    await server.stop()
  }
}

const quantile = (sorted, part) =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))]

let isSlower = false
for (const name of Object.keys(CASES)) {
  if (wanted.length > 0 && !wanted.some((word) => name.includes(word))) continue
  const times = { A: [], B: [] }
  for (let pair = 0; pair < PAIRS; pair++) {
    process.stderr.write(`\r\x1b[K${name}: pair ${pair + 1} of ${PAIRS} ...`)
    for (const build of pair % 2 === 0 ? ['A', 'B'] : ['B', 'A'])
      times[build].push(await measure(name, BUILDS[build]))
  }
  process.stderr.write('\r\x1b[K')
  for (const kind of Object.keys(times.A[0])) judge(name, kind, times)
}

/** Prints the quartiles of one kind of time's ratios. */
function judge(name, kind, { A, B }) {
  const ratios = A.map((time, i) => B[i][kind] / time[kind]).sort((a, b) => a - b)
  const [lower, median, upper] = [0.25, 0.5, 0.75].map((part) => quantile(ratios, part).toFixed(3))
  const middle = (times) =>
    quantile(
      times.map((time) => time[kind]).sort((a, b) => a - b),
      0.5,
    )
  const { isStart } = CASES[name]
  const difference = middle(B) - middle(A)
  const slower = Number(lower) > SLOWER || (isStart && difference > MOST_MS_MORE)
  isSlower ||= slower
  const more = isStart ? `, ${difference.toFixed(1)} ms more` : ''
  const row = `${slower ? 'SLOWER' : 'ok    '}  ${name.padEnd(40)} ${kind.padEnd(4)}`
  console.log(`${row}  ${lower}  ${median}  ${upper}${more}`)
}

process.exit(isSlower ? 6 : 0)
