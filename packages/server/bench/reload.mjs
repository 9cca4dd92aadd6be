// A rules file is loaded into a limiter that is being asked: the longest that anyone waits meanwhile.
import { mkdirSync, mkdtempSync, openSync, readSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { build } from 'esbuild'

export const title = 'a rules file loaded while the limiter is being asked'
export const cases = [1_000, 10_000, 100_000].map((count) => ({
  row: `${count.toLocaleString('en')} rules`,
  count,
}))
export const goals = [{ row: '100,000 rules', column: 'longest pause ms', most: 50 }]

/** How many of the rules are asked for: their counters are not what is measured. */
const MOST_ASKED = 1_000

const server = fileURLToPath(new URL('../', import.meta.url))
const cache = fileURLToPath(new URL('../../../.cache/', import.meta.url))

/** The sources as the bundle has them: beside the thread that reads. */
async function sources() {
  mkdirSync(cache, { recursive: true })
  const outfile = join(cache, 'bench-rules-file.mjs')
  const here = JSON.stringify(pathToFileURL(join(server, 'dist/sluice.cjs')).href)
  await build({
    stdin: {
      contents: `export { loadRules } from './src/rules-file/load-rules.ts'
export { describeChanges } from './src/rules-file/describe-changes.ts'
export { createLimiter } from '@sluice/limiter'`,
      resolveDir: server,
    },
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    banner: {
      js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);",
    },
    plugins: [hereIs(here)],
    logLevel: 'error',
  })
  return import(pathToFileURL(outfile).href)
}

function hereIs(here) {
  return {
    name: 'here',
    setup(bundle) {
      bundle.initialOptions.define = { __here: here }
      bundle.onLoad({ filter: /load-rules\.ts$/ }, async ({ path }) => {
        const { readFile } = await import('node:fs/promises')
        const text = await readFile(path, 'utf8')
        return { contents: text.replaceAll('import.meta.url', '__here'), loader: 'ts' }
      })
    },
  }
}

/** Exact paths, paths with parameters, and rules for single values, a third each; two limits each. */
function fileOf(count, amount) {
  const lines = ['rules:']
  for (let i = 0; i < count; i++) {
    const kind = i % 3
    lines.push(`  rule-${i}:`, `    scope: ${kind === 2 ? 'org' : 'user'}`)
    if (kind === 0) lines.push(`    resource: /v1/things-${i}`)
    if (kind === 1) lines.push(`    resource: /v1/things-${i}/:id/parts/*`)
    if (kind === 2) lines.push(`    value: org-${i}`)
    lines.push(`    limits: [${amount}/s, 1000/h burst 2000]`)
  }
  return `${lines.join('\n')}\n`
}

/** How long this thread has waited for a processor so far; 0 where the system does not say. */
const schedule = openOrNull('/proc/thread-self/schedstat')
const scheduled = Buffer.alloc(128)
function queuedMs() {
  if (schedule === null) return 0
  const length = readSync(schedule, scheduled, 0, scheduled.length, 0)
  return Number(scheduled.latin1Slice(0, length).split(' ')[1]) / 1e6
}

function openOrNull(file) {
  try {
    return openSync(file)
  } catch {
    return null
  }
}

/** Asks without end, a little at each turn of the event loop, and keeps the longest time between two turns. */
class Asking {
  longest = 0
  /** Less what the thread waited for a processor: on a busy machine that is not the load's doing. */
  longestOwn = 0
  #last = performance.now()
  #queued = queuedMs()
  #over = false
  #asked = 0

  constructor(limiter, count) {
    const turn = () => {
      this.#look()
      for (let i = 0; i < 20; i++) {
        const id = (this.#asked++ * 7919) % count
        limiter.checkSync({
          subject: { user: `u${id % 1000}`, org: `org-${id}` },
          resource: `/v1/things-${id}`,
        })
      }
      if (!this.#over) setImmediate(turn)
    }
    turn()
  }

  #look() {
    const [now, queued] = [performance.now(), queuedMs()]
    const pause = now - this.#last
    this.longest = Math.max(this.longest, pause)
    this.longestOwn = Math.max(this.longestOwn, pause - (queued - this.#queued))
    this.#last = now
    this.#queued = queued
  }

  /** The longest pause while `work` runs, in milliseconds. */
  async during(work) {
    this.#look()
    this.longest = 0
    const result = await work()
    await new Promise((resolve) => setImmediate(resolve))
    return [this.longest, result]
  }

  end() {
    this.#over = true
  }
}

const seconds = (n) => new Promise((resolve) => setTimeout(resolve, n * 1000))

export async function run({ count }) {
  const { loadRules, describeChanges, createLimiter } = await sources()
  const folder = mkdtempSync(join(tmpdir(), 'sluice-bench-'))
  const paths = [10, 20, 30].map((amount) => join(folder, `${amount}.yaml`))
  for (const path of paths) writeFileSync(path, fileOf(count, Number(basename(path, '.yaml'))))
  const limiter = createLimiter({ rules: { small: { scope: 'user', limits: '10/s' } } })
  const asking = new Asking(limiter, Math.min(count, MOST_ASKED))
  const worst = { loading: 0, comparing: 0, changing: 0, after: 0 }
  const keep = (phase, pause) => {
    worst[phase] = Math.max(worst[phase], pause)
  }
  let took = 0
  try {
    await seconds(1)
    const [idle] = await asking.during(() => seconds(2))
    asking.longestOwn = 0
    // From the second on, a load replaces as many rules as it brings, and the old ones become garbage.
    for (const path of paths) {
      const started = performance.now()
      const [loading, loaded] = await asking.during(() => loadRules(path))
      const [comparing] = await asking.during(() => describeChanges(limiter.rules, loaded.rules))
      const [changing] = await asking.during(() => limiter.changeRules(loaded.rules))
      took = performance.now() - started
      const [after] = await asking.during(() => seconds(2))
      for (const [phase, pause] of Object.entries({ loading, comparing, changing, after }))
        keep(phase, pause)
    }
    return {
      'longest pause ms': asking.longestOwn,
      'and waiting for a processor ms': Math.max(...Object.values(worst)),
      'loading ms': worst.loading,
      'comparing ms': worst.comparing,
      'changing ms': worst.changing,
      'after ms': worst.after,
      'without a load ms': idle,
      'takes s': took / 1000,
    }
  } finally {
    asking.end()
    rmSync(folder, { recursive: true })
  }
}
