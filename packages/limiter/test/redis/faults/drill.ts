/**
 * A drill: several instances ask one Redis while something happens to it, and what they wrote down is
 * looked at afterwards. They begin while all is well, go on until they have been answered by the store
 * again for a while, and a little longer.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { until } from '../servers.js'
import { type History, readHistory, type Span } from './history.js'
import { ASKS, RULES } from './load.js'

const root = fileURLToPath(new URL('../../../../../', import.meta.url))
const workerFile = fileURLToPath(new URL('./worker.mjs', import.meta.url))

/** Longer than two beats of an instance: they have counted each other. */
const BEFORE_MS = 4500
const AFTER_MS = 2500
/** The breaker lets a probe through after a second, then after two, four, … up to thirty. */
const LONGEST_RETURN_MS = 45_000
/** Reports of 250 ms in a row that make an instance well. */
const WELL_REPORTS = 3
export const DEADLINE_MS = 100
export const INSTANCES = 3

interface Address {
  readonly host: string
  readonly port: number
}

export type ClientOfDrill =
  | { readonly kind: 'ioredis' | 'node-redis'; readonly url: string }
  | { readonly kind: 'ioredis-cluster' | 'node-redis-cluster'; readonly nodes: readonly Address[] }
  | {
      readonly kind: 'ioredis-sentinel'
      readonly sentinels: readonly Address[]
      readonly name: string
    }

export interface DrillOptions {
  /** One for each instance. */
  readonly clients: readonly ClientOfDrill[]
  /** Redis servers, or what stands before them, that are pinged to know whether they are well. */
  readonly witnessed: readonly Address[]
  /** What happens; it is over when this resolves. */
  readonly fault: () => Promise<void>
}

export interface Drilled {
  readonly history: History
  readonly before: Span
  readonly fault: Span
  /** From when every instance was answered by the store again. */
  readonly after: Span
}

interface Report {
  readonly degraded: number
  readonly exact: number
  readonly breaker: string
}

/** Builds the library, which the instances take as it is published. */
export function build(): void {
  const built = spawnSync('npx', ['tsc', '-b', 'packages/limiter'], { cwd: root, encoding: 'utf8' })
  if (built.status !== 0) throw new Error(built.stdout)
}

const running = new Set<ChildProcess>()
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL')
})

class Instance {
  readonly #child: ChildProcess
  readonly #gone: Promise<number | null>
  #stderr = ''
  isReady = false
  /** For how many reports in a row the store has answered everything. */
  wellFor = 0
  report: Report | null = null

  constructor(config: unknown) {
    const child = spawn(process.execPath, ['--expose-gc', workerFile, JSON.stringify(config)], {
      cwd: root,
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    })
    this.#child = child
    running.add(child)
    child.stderr!.on('data', (data: Buffer) => {
      this.#stderr += data.toString()
    })
    child.on('message', (message) => {
      if (message === 'ready') this.isReady = true
      else this.#note(message as Report)
    })
    this.#gone = new Promise((resolve) => {
      child.once('exit', (code) => {
        running.delete(child)
        resolve(code)
      })
    })
  }

  tell(message: 'start' | 'stop'): void {
    this.#child.send(message)
  }

  #note(report: Report): void {
    this.report = report
    this.wellFor = report.degraded === 0 && report.exact > 0 ? this.wellFor + 1 : 0
  }

  kill(): void {
    this.#child.kill('SIGKILL')
  }

  /** Answers with what is wrong if it does not end by itself. */
  async ended(): Promise<string[]> {
    const code = await Promise.race([this.#gone, sleep(60_000, 'never' as const, { ref: false })])
    this.kill()
    const errors = this.#stderr === '' ? [] : [this.#stderr]
    return code === 0 ? errors : [`an instance ended with ${code}`, ...errors]
  }
}

export async function drill({ clients, witnessed, fault }: DrillOptions): Promise<Drilled> {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-drill-'))
  const files = clients.map((_, i) => join(folder, `${i}.jsonl`))
  const instances = clients.map(
    (client, i) =>
      new Instance({
        client,
        witnessed,
        file: files[i],
        rules: RULES,
        asks: ASKS,
        seed: i + 1,
        // Their clocks differ by minutes: the store's decides.
        skewMs: [0, 300_000, -300_000][i % 3],
        deadlineMs: DEADLINE_MS,
        instances: clients.length,
        everyMs: 20,
        perTurn: 3,
      }),
  )
  try {
    const areWell = (what: string, withinMs: number) =>
      until(what, () => instances.every(({ wellFor }) => wellFor >= WELL_REPORTS), withinMs)
    await until('the instances to be ready', () => instances.every(({ isReady }) => isReady))
    for (const instance of instances) instance.tell('start')
    await areWell('the instances to be answered', 20_000)
    const began = Date.now()
    await sleep(BEFORE_MS)
    const struck = Date.now()
    await fault()
    const over = Date.now()
    for (const instance of instances) instance.wellFor = 0
    const isBack = await areWell('', LONGEST_RETURN_MS).then(
      () => true,
      () => false,
    )
    const back = Date.now()
    await sleep(AFTER_MS)
    const end = Date.now()
    for (const instance of instances) instance.tell('stop')
    const faults = await Promise.all(instances.map((instance) => instance.ended()))
    const lost = isBack ? [] : instances.map(({ report }) => `still ${JSON.stringify(report)}`)
    const history = readHistory(files)
    return {
      history: { ...history, errors: [...history.errors, ...faults.flat(), ...lost] },
      before: { from: began, to: struck },
      fault: { from: struck, to: over },
      after: { from: back, to: end },
    }
  } finally {
    for (const instance of instances) instance.kill()
    rmSync(folder, { recursive: true, force: true })
  }
}
