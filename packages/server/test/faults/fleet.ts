/** A fleet of real processes: control planes over PostgreSQL and Redis, and data planes that follow them. */
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { RedisServer, until } from '../../../limiter/test/redis/servers.js'
import { openPostgres } from '../../src/control/postgres.js'
import { PostgresServer } from '../control/databases.js'
import { SluiceProcess } from '../process.js'
import { type Answer, askJson } from '../service.js'

export class Fleet {
  readonly postgres: PostgresServer
  readonly redis: RedisServer
  database: string
  readonly #all = new Set<SluiceProcess>()

  private constructor(postgres: PostgresServer, redis: RedisServer, database: string) {
    this.postgres = postgres
    this.redis = redis
    this.database = database
  }

  static async start(): Promise<Fleet> {
    const [postgres, redis] = [await PostgresServer.start(), await RedisServer.start()]
    return new Fleet(postgres, redis, await postgres.createDatabase())
  }

  get redisUrl(): string {
    return `redis://127.0.0.1:${this.redis.port}`
  }

  /** As the database is now; nobody may be writing. */
  async copyDatabase(): Promise<string> {
    const admin = openPostgres(this.postgres.urlOf('postgres'))
    const [name, copy] = [new URL(this.database).pathname.slice(1), `copy_${Date.now()}`]
    try {
      await admin.query(
        'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1 AND pid <> pg_backend_pid()',
        [name],
      )
      await until('it is copied', async () => {
        await admin.query(`CREATE DATABASE ${copy} TEMPLATE ${name}`)
        return true
      })
    } finally {
      await admin.close()
    }
    return this.postgres.urlOf(copy)
  }

  /** Control planes that are started from now on have this one. */
  useDatabase(url: string): void {
    this.database = url
  }

  control(folder?: string): Promise<SluiceProcess> {
    return this.run(['--database', this.database, '--redis', this.redisUrl], folder)
  }

  plane(folder?: string): Promise<SluiceProcess> {
    return this.run(['--rules', 'feed', '--redis', this.redisUrl], folder)
  }

  /** Follows the feed, as it does unless it is told otherwise. */
  sidecar(folder?: string, args: readonly string[] = []): Promise<SluiceProcess> {
    return this.run(['--redis', this.redisUrl, ...args], folder, 'sidecar')
  }

  async run(args: readonly string[], folder?: string, name = 'serve'): Promise<SluiceProcess> {
    const made = folder ?? mkdtempSync(join(tmpdir(), 'sluice-fleet-'))
    const command = [name, '--port', '0', '--drain-delay', '0', ...args]
    const sluice = new SluiceProcess(command, { folder: made })
    this.#all.add(sluice)
    await until('it is ready', async () => (await sluice.get('/readyz')).status === 200)
    return sluice
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#all].map((sluice) => sluice.stop('SIGKILL')))
    await this.redis.stop()
    await this.postgres.stop()
  }
}

/** Asks a server's control plane. */
export function admin(
  sluice: SluiceProcess,
  method: string,
  path: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<Answer> {
  return askJson({ host: '127.0.0.1', port: sluice.port, method, path, headers }, body)
}

/** What a user of the resource may have at once, by this server; null where no rule applies. */
export async function limitAt(sluice: SluiceProcess, resource = '/x'): Promise<number | null> {
  const { body } = await sluice.post('/v1/quota', { subject: { user: 'ada' }, resource })
  return body.limit
}

export function rule(name: string, limits: string, more: object = {}): object {
  return { name, scope: 'user', resource: '/x', limits: [limits], ...more }
}
