/** Processes of the control plane for tests: a script of this folder, bundled, in a process that can be killed. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { buildSync } from 'esbuild'

const here = dirname(fileURLToPath(import.meta.url))

export interface ControlProcess {
  readonly child: ChildProcess
  /** What it has said. */
  readonly lines: string[]
  /** Its exit code; null where it was killed. */
  readonly ended: Promise<number | null>
}

export class Script {
  readonly #file: string

  constructor(name: string) {
    this.#file = join(here, '../../../../.cache', `${name}-${process.pid}.cjs`)
    // Threads and the seed are looked for as the sources look for them.
    const source = pathToFileURL(join(here, '../../src/control/embedded.ts')).href
    buildSync({
      entryPoints: [join(here, `${name}.ts`)],
      outfile: this.#file,
      bundle: true,
      platform: 'node',
      format: 'cjs',
      external: ['pg-native'],
      define: { 'import.meta.url': JSON.stringify(source) },
      logLevel: 'error',
    })
  }

  start(...args: string[]): ControlProcess {
    const child = spawn(process.execPath, [this.#file, ...args], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const lines: string[] = []
    let rest = ''
    child.stdout.on('data', (chunk: Buffer) => {
      const parts = (rest + chunk.toString()).split('\n')
      rest = parts.pop()!
      lines.push(...parts)
    })
    const ended = once(child, 'close').then(([code]) => code as number | null)
    return { child, lines, ended }
  }

  remove(): void {
    rmSync(this.#file, { force: true })
  }
}
