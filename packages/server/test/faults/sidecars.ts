/** Four sidecars over one Redis, by one rules file, each asked over its socket; and what they say of themselves. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { until } from '../../../limiter/test/redis/servers.js'
import { SluiceProcess } from '../process.js'

const COUNT = 4

export class Sidecars {
  readonly #folder = mkdtempSync(join(tmpdir(), 'sluice-leases-'))
  readonly #args: readonly string[]
  readonly all: SluiceProcess[] = []

  private constructor(rules: string, args: readonly string[]) {
    writeFileSync(join(this.#folder, 'rules.yaml'), rules)
    this.#args = args
  }

  static async start(
    rules: string,
    redisUrl: string,
    args: readonly string[] = [],
  ): Promise<Sidecars> {
    const sidecars = new Sidecars(rules, ['--redis', redisUrl, ...args])
    await Promise.all(sidecars.sockets.map((_, i) => sidecars.startOne(i)))
    return sidecars
  }

  get sockets(): string[] {
    return Array.from({ length: COUNT }, (_, i) => join(this.#folder, `${i}.sock`))
  }

  /** The i-th, for the first time or again. */
  async startOne(i: number): Promise<void> {
    const own = ['--rules', 'rules.yaml', '--socket', `${i}.sock`, '--data', `data-${i}`]
    const command = ['sidecar', '--port', '0', '--drain-delay', '0', ...own, ...this.#args]
    const sidecar = new SluiceProcess(command, { folder: this.#folder })
    this.all[i] = sidecar
    await until(
      'it is ready, and asks Redis',
      async () => (await sidecar.get('/readyz')).body.ready === true,
    )
  }

  /** A metric of each, summed over its labels; or of the label's value alone. */
  async read(metric: string, label = ''): Promise<number[]> {
    return Promise.all(
      this.all.map(async (sidecar) => {
        const { text } = await sidecar.get('/metrics')
        const lines = text.split('\n').filter((line) => isOf(line, metric, label))
        return lines.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0)
      }),
    )
  }

  async sum(metric: string, label = ''): Promise<number> {
    return (await this.read(metric, label)).reduce((sum, each) => sum + each, 0)
  }

  async stop(): Promise<void> {
    for (const { child } of this.all) child.kill('SIGCONT')
    await Promise.all(this.all.map((sidecar) => sidecar.stop('SIGKILL')))
    rmSync(this.#folder, { recursive: true, force: true })
  }
}

function isOf(line: string, metric: string, label: string): boolean {
  return new RegExp(`^${metric}[ {]`).test(line) && line.includes(label === '' ? '' : `"${label}"`)
}
