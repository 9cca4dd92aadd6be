/**
 * Instances of two builds over one Redis and one PostgreSQL: control planes, data planes and a sidecar.
 * Each keeps its data folder when it is replaced by an instance of the other build.
 */
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { RedisServer, until } from '../../../limiter/test/redis/servers.js'
import { PostgresServer } from '../control/databases.js'
import { SluiceProcess } from '../process.js'
import type { Answer } from '../service.js'
import type { Build, Builds } from './builds.js'
import { admin } from './fleet.js'

export type Role = 'control' | 'plane' | 'sidecar'

/** A busy machine does not decide whether the fleet is exact. */
const STORE = ['--redis-deadline', '5000']

export class Instance {
  readonly role: Role
  readonly folder = mkdtempSync(join(tmpdir(), 'sluice-upgrade-'))
  build: Build
  process: SluiceProcess
  isStopping = false

  constructor(role: Role, build: Build, start: (folder: string) => SluiceProcess) {
    this.role = role
    this.build = build
    this.process = start(this.folder)
  }

  get name(): string {
    return `${this.build} ${this.role}`
  }

  post(path: string, body: unknown): Promise<Answer> {
    return this.process.post(path, body)
  }

  async ready(): Promise<void> {
    await until(
      `${this.name} is ready`,
      async () => (await this.process.get('/readyz')).status === 200,
    )
  }
}

export class MixedFleet {
  readonly redis: RedisServer
  readonly postgres: PostgresServer
  readonly #builds: Builds
  readonly #database: string
  readonly instances: Instance[] = []
  /** Every process that ran, also those that were replaced. */
  readonly processes: { readonly build: Build; readonly process: SluiceProcess }[] = []

  private constructor(
    builds: Builds,
    redis: RedisServer,
    postgres: PostgresServer,
    database: string,
  ) {
    this.#builds = builds
    this.redis = redis
    this.postgres = postgres
    this.#database = database
  }

  /** Two control planes, two data planes and a sidecar, all of one build. */
  static async start(builds: Builds, build: Build): Promise<MixedFleet> {
    const [redis, postgres] = await Promise.all([RedisServer.start(), PostgresServer.start()])
    const fleet = new MixedFleet(builds, redis, postgres, await postgres.createDatabase())
    for (const role of ['control', 'control', 'plane', 'plane', 'sidecar'] as const)
      fleet.instances.push(new Instance(role, build, (folder) => fleet.#run(role, build, folder)))
    await Promise.all(fleet.instances.map((instance) => instance.ready()))
    return fleet
  }

  of(role: Role): Instance[] {
    return this.instances.filter((instance) => instance.role === role)
  }

  /** Instances that take requests. */
  get serving(): Instance[] {
    return this.instances.filter(({ isStopping }) => !isStopping)
  }

  /** One of each build that takes requests; null where all are of one build. */
  get pair(): { previous: Instance; current: Instance } | null {
    const previous = pick(this.serving.filter(({ build }) => build === 'previous'))
    const current = pick(this.serving.filter(({ build }) => build === 'current'))
    return previous === undefined || current === undefined ? null : { previous, current }
  }

  /** Stops the instance as a supervisor does, and starts the other build on its folder. */
  async replace(instance: Instance, build: Build): Promise<void> {
    instance.isStopping = true
    const { code } = await instance.process.stop()
    if (code !== 0) throw new Error(`${instance.name} ended with ${code}`)
    instance.build = build
    instance.process = this.#run(instance.role, build, instance.folder)
    await instance.ready()
    instance.isStopping = false
  }

  #run(role: Role, build: Build, folder: string): SluiceProcess {
    const store = ['--redis', this.redis.url, ...STORE]
    const args = {
      control: ['serve', '--database', this.#database],
      plane: ['serve', '--rules', 'feed'],
      sidecar: ['sidecar'],
    }[role]
    const process = new SluiceProcess([...args, '--port', '0', '--drain-delay', '0', ...store], {
      folder,
      command: this.#builds[build],
      environment: SAME_ANSWERS,
    })
    this.processes.push({ build, process })
    return process
  }

  /** Warnings and errors that the processes logged, each as build, code and message. */
  complaints(): string[] {
    return this.processes.flatMap(({ build, process }) => complaintsOf(build, process))
  }

  async stop(): Promise<void> {
    await Promise.all(this.processes.map(({ process }) => process.stop('SIGKILL')))
    await Promise.all([this.redis.stop(), this.postgres.stop()])
  }
}

/** The previous release answers in full, and does not know the setting. */
export const SAME_ANSWERS = { SLUICE_ANSWERS: 'full' }

export function complaintsOf(build: Build, process: SluiceProcess): string[] {
  const lines = `${process.out}\n${process.words}`
    .split('\n')
    .filter((line) => line.startsWith('{'))
  return lines.flatMap((line) => {
    const { level, code = '', msg, error = '' } = JSON.parse(line) as Record<string, string>
    const isExpected = code === 'deprecated_setting'
    return (level === 'warn' && !isExpected) || level === 'error'
      ? [`${build} ${level} ${code}: ${msg} ${error}`]
      : []
  })
}

export function pick<T>(among: readonly T[]): T | undefined {
  return among[Math.floor(Math.random() * among.length)]
}

/** Stores the whole rules document at a control plane. */
export async function putDocument(
  control: SluiceProcess,
  document: object,
  namespace = 'default',
): Promise<Answer> {
  const path = `/v1/document?namespace=${namespace}`
  const { headers } = await admin(control, 'GET', path)
  return admin(control, 'PUT', path, document, { 'If-Match': headers['etag'] ?? '*' })
}
