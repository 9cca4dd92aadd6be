/** The real command in a process of its own, as an operator runs it. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { until } from '../../limiter/test/redis/servers.js'
import { type Answer, ask } from './service.js'

export const COMMAND = fileURLToPath(new URL('../bin/sluice.cjs', import.meta.url))

const running = new Set<ChildProcess>()
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL')
})

export interface Ended {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

export class SluiceProcess {
  readonly folder: string
  readonly child: ChildProcess
  out = ''
  words = ''
  readonly ended: Promise<Ended>

  constructor(
    args: readonly string[],
    options: { folder?: string; environment?: Record<string, string>; command?: string } = {},
  ) {
    this.folder = options.folder ?? mkdtempSync(join(tmpdir(), 'sluice-process-'))
    const { PORT: _port, REDIS_URL: _redis, ...environment } = process.env
    this.child = spawn(process.execPath, [options.command ?? COMMAND, ...args], {
      cwd: this.folder,
      env: { ...environment, ...options.environment },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    running.add(this.child)
    this.child.stdout!.on('data', (chunk: Buffer) => {
      this.out += chunk.toString()
    })
    this.child.stderr!.on('data', (chunk: Buffer) => {
      this.words += chunk.toString()
    })
    this.ended = once(this.child, 'close').then(([code, signal]) => {
      running.delete(this.child)
      return { code, signal }
    })
  }

  /** A service on a free port with these rules, once it is ready. */
  static async serve(
    rules: string,
    args: readonly string[] = [],
    folder?: string,
  ): Promise<SluiceProcess> {
    const made = folder ?? mkdtempSync(join(tmpdir(), 'sluice-process-'))
    writeFileSync(join(made, 'sluice.yaml'), rules)
    const sluice = new SluiceProcess(['serve', '--port', '0', ...args], { folder: made })
    await until(
      `it is ready: ${sluice.words}`,
      async () => (await sluice.get('/readyz')).status === 200,
    )
    return sluice
  }

  get port(): number {
    return Number(/https?:\/\/[^ :]+:(\d+)/.exec(this.words)?.[1])
  }

  get(path: string): Promise<Answer> {
    return ask({ host: '127.0.0.1', port: this.port, method: 'GET', path, headers: {} }, null)
  }

  post(path: string, body: unknown): Promise<Answer> {
    const asked = { host: '127.0.0.1', port: this.port, method: 'POST', path, headers: {} }
    return ask(asked, JSON.stringify(body))
  }

  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<Ended> {
    this.child.kill(signal)
    return this.ended
  }
}
