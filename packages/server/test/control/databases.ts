/** Real databases for tests: a PostgreSQL server of one's own, and the embedded one in a folder of its own. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { freePort, until } from '../../../limiter/test/redis/servers.js'
import type { Database } from '../../src/control/database.js'
import { openEmbedded } from '../../src/control/embedded.js'
import { openPostgres } from '../../src/control/postgres.js'

const LIBRARY = '/usr/lib/postgresql'
const isRoot = userInfo().uid === 0

/** PostgreSQL refuses to run as root. */
function asPostgres(command: string, args: readonly string[]): [string, string[]] {
  return isRoot ? ['runuser', ['-u', 'postgres', '--', command, ...args]] : [command, [...args]]
}

function binary(name: string): string {
  const newest = readdirSync(LIBRARY).toSorted((a, b) => Number(b) - Number(a))[0]
  return join(LIBRARY, newest ?? '', 'bin', name)
}

const running = new Set<PostgresServer>()
process.on('exit', () => {
  for (const server of running) server.killNow()
})

export class PostgresServer {
  readonly port: number
  readonly #folder: string
  #child: ChildProcess | null = null

  private constructor(port: number, folder: string) {
    this.port = port
    this.#folder = folder
  }

  static async start(): Promise<PostgresServer> {
    const folder = mkdtempSync(join(tmpdir(), 'sluice-postgres-'))
    if (isRoot) spawnSync('chown', ['postgres', folder])
    chmodSync(folder, 0o700)
    const made = spawnSync(
      ...asPostgres(binary('initdb'), [
        '-D',
        folder,
        '-U',
        'sluice',
        '-A',
        'trust',
        '--no-sync',
        '-E',
        'UTF8',
        '--locale=C',
      ]),
    )
    if (made.status !== 0) throw new Error(`initdb: ${made.stderr.toString()}`)
    const server = new PostgresServer(await freePort(), folder)
    await server.start()
    return server
  }

  urlOf(database: string): string {
    return `postgres://sluice@127.0.0.1:${this.port}/${database}`
  }

  async start(): Promise<void> {
    const settings = [
      `port=${this.port}`,
      'listen_addresses=127.0.0.1',
      `unix_socket_directories=${this.#folder}`,
      'fsync=off',
      'shared_buffers=16MB',
    ]
    const args = ['-D', this.#folder, ...settings.flatMap((one) => ['-c', one])]
    const [command, all] = asPostgres(binary('postgres'), args)
    const child = spawn('setpriv', ['--pdeathsig', 'TERM', command, ...all], { stdio: 'ignore' })
    this.#child = child
    running.add(this)
    const admin = openPostgres(this.urlOf('postgres'))
    try {
      await until(
        `PostgreSQL on ${this.port}`,
        async () => (await admin.query('SELECT 1')).length === 1,
      )
    } finally {
      await admin.close()
    }
  }

  /** The server's own process: the child may be what changed the user. */
  get pid(): number {
    const line = spawnSync('head', ['-1', join(this.#folder, 'postmaster.pid')]).stdout.toString()
    return Number(line.trim())
  }

  pause(): void {
    this.#signalAll('SIGSTOP')
  }

  resume(): void {
    this.#signalAll('SIGCONT')
    // What changed the user stops when its child does.
    this.#child?.kill('SIGCONT')
  }

  /** The server and everything it has started. */
  #signalAll(signal: NodeJS.Signals): void {
    const { pid } = this
    const children = spawnSync('pgrep', ['-P', String(pid)])
      .stdout.toString()
      .split('\n')
    for (const one of [pid, ...children.filter((line) => line !== '').map(Number)])
      process.kill(one, signal)
  }

  /** Without a word to anybody, as PostgreSQL's own "immediate" does. */
  async kill(): Promise<void> {
    const child = this.#child
    if (child === null) return
    this.#child = null
    const gone = once(child, 'exit')
    process.kill(this.pid, 'SIGQUIT')
    await gone
  }

  killNow(): void {
    if (this.#child !== null) process.kill(this.pid, 'SIGQUIT')
    running.delete(this)
  }

  async stop(): Promise<void> {
    await this.kill()
    running.delete(this)
    rmSync(this.#folder, { recursive: true, force: true })
  }

  /** A new, empty database on this server: its address. */
  async createDatabase(): Promise<string> {
    const name = `test_${randomUUID().replaceAll('-', '')}`
    const admin = openPostgres(this.urlOf('postgres'))
    try {
      await admin.query(`CREATE DATABASE ${name}`)
    } finally {
      await admin.close()
    }
    return this.urlOf(name)
  }
}

/** A database for one test file. */
export interface TestDatabase {
  /** Another opening of the same database; the embedded one has only one at a time. */
  open(): Database
  stop(): Promise<void>
}

export interface KindOfDatabase {
  readonly kind: Database['kind']
  readonly start: () => Promise<TestDatabase>
}

async function postgres(): Promise<TestDatabase> {
  const server = await PostgresServer.start()
  const url = await server.createDatabase()
  return { open: () => openPostgres(url), stop: () => server.stop() }
}

async function embedded(): Promise<TestDatabase> {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-embedded-'))
  return {
    open: () => openEmbedded(folder),
    stop: async () => rmSync(folder, { recursive: true, force: true }),
  }
}

export const DATABASES: readonly KindOfDatabase[] = [
  { kind: 'postgres', start: postgres },
  { kind: 'embedded', start: embedded },
]
