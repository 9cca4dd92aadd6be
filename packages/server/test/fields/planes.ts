/** A control plane over PostgreSQL and a data plane that follows it over Redis, in this process. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { RedisServer, until } from '../../../limiter/test/redis/servers.js'
import { readSettings } from '../../src/config.js'
import { type Service, serve } from '../../src/serve.js'
import { Log } from '../../src/telemetry/log.js'
import { PostgresServer } from '../control/databases.js'
import { type Answer, askJson } from '../service.js'

/** A service and how it is asked. */
export class Plane {
  readonly service: Service
  readonly log: Record<string, unknown>[]
  readonly #port: number
  #calls = 0

  private constructor(service: Service, log: Record<string, unknown>[]) {
    this.service = service
    this.log = log
    this.#port = Number(service.addresses[0]!.split(':')[1])
  }

  static async start(flags: Record<string, string>): Promise<Plane> {
    const log: Record<string, unknown>[] = []
    const data = mkdtempSync(join(tmpdir(), 'sluice-fields-'))
    const settings = readSettings({
      flags: { port: '0', 'drain-delay': '0', data, ...flags },
      environment: {},
      file: null,
    })
    const service = await serve({
      settings,
      log: new Log({ write: (line) => log.push(JSON.parse(line)) }),
      refused: () => undefined,
    })
    const plane = new Plane(service, log)
    await until('it is ready', async () => (await plane.call('GET', '/readyz')).status === 200)
    return plane
  }

  call(
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<Answer> {
    const [localAddress, port] = [this.#caller(), this.#port]
    return askJson({ host: '127.0.0.1', localAddress, port, method, path, headers }, body)
  }

  /** Each address may write 100 times a minute, so that they take turns. */
  #caller(): string {
    return `127.0.0.${2 + (Math.floor(this.#calls++ / 80) % 250)}`
  }

  /** The rules in force of a namespace, as they were read. */
  book(namespace: string) {
    return this.service.tenants.get(namespace)?.limiter.rules.book
  }
}

export class Planes {
  readonly control: Plane
  readonly data: Plane
  readonly redis: RedisServer
  readonly #postgres: PostgresServer

  private constructor(control: Plane, data: Plane, redis: RedisServer, postgres: PostgresServer) {
    this.control = control
    this.data = data
    this.redis = redis
    this.#postgres = postgres
  }

  static async start(): Promise<Planes> {
    const before = process.cwd()
    // Without a rules file in the working folder.
    const folder = mkdtempSync(join(tmpdir(), 'sluice-empty-'))
    process.chdir(folder)
    try {
      const [postgres, redis] = [await PostgresServer.start(), await RedisServer.start()]
      const database = await postgres.createDatabase()
      const control = await Plane.start({ database, redis: redis.url })
      const data = await Plane.start({ rules: 'feed', redis: redis.url })
      return new Planes(control, data, redis, postgres)
    } finally {
      process.chdir(before)
      rmSync(folder, { recursive: true })
    }
  }

  async stop(): Promise<void> {
    await this.data.service.stop()
    await this.control.service.stop()
    await this.redis.stop()
    await this.#postgres.stop()
  }
}
