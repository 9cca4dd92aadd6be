/**
 * Real Redis servers for tests: alone, as a cluster, behind Sentinel; each on a free port of loopback, in
 * a folder of its own, gone with the test.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'

const HOST = '127.0.0.1'
/** `npm run test:versions` names others. */
const REDIS_SERVER = process.env.SLUICE_TEST_REDIS_SERVER ?? 'redis-server'

export async function freePort(): Promise<number> {
  const server = createServer()
  server.listen(0, HOST)
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  server.close()
  await once(server, 'close')
  return port
}

const BUS_OFFSET = 10_000
/** Ports and buses below those that the kernel gives to connections (from 32,768 on). */
const CLUSTER_PORTS = { from: 20_000, to: 22_700 }

/** A free port of a cluster's node. Its bus is 10,000 above; only Redis 7 and later can be told another. */
async function freeClusterPort(): Promise<number> {
  for (let tries = 0; tries < 1000; tries++) {
    const port = randomInt(CLUSTER_PORTS.from, CLUSTER_PORTS.to)
    if ((await isFree(port)) && (await isFree(port + BUS_OFFSET))) return port
  }
  throw new Error(`no free port from ${CLUSTER_PORTS.from} to ${CLUSTER_PORTS.to}`)
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer()
  const listens = await new Promise<boolean>((resolve) => {
    server.once('error', () => resolve(false))
    server.listen(port, HOST, () => resolve(true))
  })
  if (listens) await new Promise((resolve) => server.close(resolve))
  return listens
}

/** Asks again until it is so. */
export async function until(
  what: string,
  holds: () => Promise<boolean> | boolean,
  withinMs = 30_000,
): Promise<void> {
  const end = Date.now() + withinMs
  for (;;) {
    if (await Promise.resolve(holds()).catch(() => false)) return
    if (Date.now() > end) throw new Error(`waited ${withinMs} ms in vain: ${what}`)
    await sleep(20)
  }
}

const running = new Set<ChildProcess>()
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL')
})

const dies = spawnSync('setpriv', ['--version']).status === 0

/** Dies with this process, however that ends. */
function spawnServer(command: string, args: readonly string[]): ChildProcess {
  const child = dies
    ? spawn('setpriv', ['--pdeathsig', 'KILL', command, ...args], { stdio: 'ignore' })
    : spawn(command, args, { stdio: 'ignore' })
  running.add(child)
  child.once('exit', () => running.delete(child))
  return child
}

/** A sentinel, as its file says; it rewrites that file. */
export function spawnSentinel(file: string): ChildProcess {
  return spawnServer(REDIS_SERVER, [file, '--sentinel'])
}

function patientClient(port: number): Redis {
  const client = new Redis(port, HOST, { retryStrategy: () => 50, maxRetriesPerRequest: null })
  client.on('error', () => {})
  return client
}

export interface ServerOptions {
  /** The program: `redis-server`, or another that takes its options. */
  readonly command?: string
  readonly args?: readonly string[]
  readonly port?: number
}

export class RedisServer {
  readonly port: number
  readonly #command: string
  readonly #args: readonly string[]
  readonly #folder = mkdtempSync(join(tmpdir(), 'sluice-redis-'))
  #child: ChildProcess | null = null
  #admin: Redis | null = null

  private constructor(port: number, { command = REDIS_SERVER, args = [] }: ServerOptions) {
    this.port = port
    this.#command = command
    this.#args = args
  }

  static async start(options: ServerOptions = {}): Promise<RedisServer> {
    const server = new RedisServer(options.port ?? (await freePort()), options)
    await server.start()
    return server
  }

  get url(): string {
    return `redis://${HOST}:${this.port}`
  }

  get pid(): number {
    return this.#child?.pid ?? 0
  }

  /** For the test's own use: unlike a limiter's client it waits and tries again. */
  get admin(): Redis {
    this.#admin ??= patientClient(this.port)
    return this.#admin
  }

  async start(): Promise<void> {
    const own = ['--port', String(this.port), '--bind', HOST, '--dir', this.#folder, '--save', '']
    const args = [...own, ...this.#args]
    const child = spawnServer(this.#command, args)
    this.#child = child
    await until(
      `${this.#command} on ${this.port}`,
      async () => (await this.admin.ping()) === 'PONG',
    )
    const info = await this.admin.info('server')
    if (!info.includes(`process_id:${child.pid}`))
      throw new Error(`another server answers on port ${this.port}`)
  }

  /** It answers nobody until it is resumed. */
  pause(): void {
    this.#child?.kill('SIGSTOP')
  }

  resume(): void {
    this.#child?.kill('SIGCONT')
  }

  /** As if the machine had lost power. */
  async kill(): Promise<void> {
    const child = this.#child
    if (child === null || child.exitCode !== null || child.signalCode !== null) return
    const gone = once(child, 'exit')
    child.kill('SIGKILL')
    await gone
  }

  async stop(): Promise<void> {
    this.#admin?.disconnect()
    this.#admin = null
    await this.kill()
    rmSync(this.#folder, { recursive: true, force: true, maxRetries: 5 })
  }
}

export interface Cluster {
  readonly servers: readonly RedisServer[]
  readonly nodes: readonly { host: string; port: number }[]
  /** The primary that owns a slot now. */
  ownerOf(slot: number): Promise<RedisServer>
  stop(): Promise<void>
}

const SLOTS = 16_384

/** Three primaries with a replica each. */
export async function startCluster(options: ServerOptions = {}): Promise<Cluster> {
  const ports = new Set<number>()
  while (ports.size < 6) ports.add(await freeClusterPort())
  const servers = await Promise.all(
    [...ports].map((port) =>
      RedisServer.start({
        ...options,
        port,
        args: [
          '--cluster-enabled',
          'yes',
          '--cluster-node-timeout',
          '1000',
          '--repl-diskless-sync-delay',
          '0',
          ...(options.args ?? []),
        ],
      }),
    ),
  )
  const [first] = servers
  const ids: string[] = []
  for (const [i, { admin }] of servers.entries()) {
    await admin.cluster('SET-CONFIG-EPOCH', i + 1)
    ids.push(await admin.cluster('MYID'))
    if (i < 3) {
      const [from, to] = [Math.floor((i * SLOTS) / 3), Math.floor(((i + 1) * SLOTS) / 3)]
      const slots = Array.from({ length: to - from }, (_, at) => from + at)
      await admin.cluster('ADDSLOTS', slots)
    }
  }
  for (const [i, { port }] of servers.entries())
    if (i > 0) await first!.admin.cluster('MEET', HOST, port)
  for (const [i, { admin }] of servers.entries()) {
    await until('the nodes to know each other', async () => {
      const known = String(await admin.cluster('NODES'))
      return ids.every((id) => known.includes(id)) && !known.includes('handshake')
    })
    if (i >= 3) await admin.cluster('REPLICATE', ids[i - 3]!)
  }
  for (const [i, { admin }] of servers.entries())
    await until('the cluster to be well', async () => {
      const state = await admin.cluster('INFO')
      const replication = await admin.info('replication')
      const isLinked = i < 3 || replication.includes('master_link_status:up')
      return state.includes('cluster_state:ok') && isLinked
    })
  return {
    servers,
    nodes: servers.map(({ port }) => ({ host: HOST, port })),
    async ownerOf(slot) {
      for (const { admin } of servers.filter(({ pid }) => isAlive(pid))) {
        const ranges = await admin.cluster('SLOTS')
        const range = ranges.find(([from, to]) => from <= slot && slot <= to)
        const owner = servers.find(({ port }) => port === range?.[2]?.[1])
        if (owner !== undefined) return owner
      }
      throw new Error(`nobody owns slot ${slot}`)
    },
    async stop() {
      await Promise.all(servers.map((server) => server.stop()))
    },
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

export interface Sentinel {
  readonly port: number
  readonly admin: Redis
  /** The server that this sentinel names. */
  primary(): Promise<RedisServer>
  /** Whether it is replacing the primary. It tells of the new one twice: when it is named, and when all is done. */
  isReplacing(): Promise<boolean>
  /** It answers nobody until it is resumed. */
  pause(): void
  resume(): void
}

export interface Sentinels {
  /** As `new Redis({ sentinels, name })` wants them. */
  readonly sentinels: readonly { host: string; port: number }[]
  readonly name: string
  readonly servers: readonly RedisServer[]
  readonly watchers: readonly Sentinel[]
  stop(): Promise<void>
}

/**
 * A primary, two replicas, three sentinels that replace a primary which has been silent for `downAfterMs`: within
 * two or three seconds, unless it is given.
 */
export async function startSentinels({ downAfterMs = 1500 } = {}): Promise<Sentinels> {
  const name = 'main'
  const primary = await RedisServer.start({ args: ['--repl-diskless-sync-delay', '0'] })
  const replicas = await Promise.all(
    [0, 1].map(() =>
      RedisServer.start({
        args: ['--replicaof', HOST, String(primary.port), '--repl-diskless-sync-delay', '0'],
      }),
    ),
  )
  const servers = [primary, ...replicas]
  for (const { admin } of replicas)
    await until('the replicas to be linked', async () =>
      (await admin.info('replication')).includes('master_link_status:up'),
    )
  const folder = mkdtempSync(join(tmpdir(), 'sluice-sentinel-'))
  const watchers = await Promise.all(
    [0, 1, 2].map(async (i) => {
      const port = await freePort()
      const file = join(folder, `${i}.conf`)
      writeFileSync(
        file,
        [
          `port ${port}`,
          `bind ${HOST}`,
          `dir ${folder}`,
          `sentinel monitor ${name} ${HOST} ${primary.port} 2`,
          // Sentinels ping a new primary only after a second: told to wait less, they would replace it at once.
          `sentinel down-after-milliseconds ${name} ${downAfterMs}`,
          `sentinel failover-timeout ${name} 3000`,
          '',
        ].join('\n'),
      )
      const child = spawnSentinel(file)
      return { port, child, admin: patientClient(port) }
    }),
  )
  for (const { admin } of watchers) {
    await until('the sentinels to know each other', async () => {
      const [state] = (await admin.call('SENTINEL', 'MASTERS')) as string[][]
      const of = (field: string) => state![state!.indexOf(field) + 1]
      return of('num-other-sentinels') === '2' && of('num-slaves') === '2'
    })
  }
  return {
    sentinels: watchers.map(({ port }) => ({ host: HOST, port })),
    name,
    servers,
    watchers: watchers.map(({ port, admin, child }) => ({
      port,
      admin,
      async primary() {
        const address = await admin.call('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', name)
        const [, named] = address as string[]
        return servers.find((server) => String(server.port) === named)!
      },
      async isReplacing() {
        const state = (await admin.call('SENTINEL', 'MASTER', name)) as string[]
        return state[state.indexOf('flags') + 1]!.includes('failover_in_progress')
      },
      pause: () => void child.kill('SIGSTOP'),
      resume: () => void child.kill('SIGCONT'),
    })),
    async stop() {
      for (const { admin, child } of watchers) {
        admin.disconnect()
        child.kill('SIGKILL')
      }
      await Promise.all(servers.map((server) => server.stop()))
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
