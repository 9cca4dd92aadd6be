/**
 * The Redis client is the caller's: ioredis (single, Sentinel, Cluster) or node-redis (single, cluster),
 * known by what they look like. What a limiter needs of it, and what would harm it: a client that queues
 * commands while it is offline answers long after everybody has gone, and one that sends again what it
 * has not heard of counts twice.
 */
import type { EventEmitter } from 'node:events'
import { SluiceError } from '../../errors.js'
import {
  type ClusterClient,
  type ClusterNode,
  keepConnected,
  onClusterChange,
  onEvent,
} from './reconnects.js'

/** A script's reply: whole numbers, and texts as bytes. */
export type Reply = readonly (number | Buffer)[]

export interface RedisPort {
  readonly isCluster: boolean
  /** Runs a script by its SHA or its text. All keys are of one slot. */
  run(
    command: 'EVALSHA' | 'EVAL',
    script: string,
    keys: readonly string[],
    args: readonly (string | Buffer)[],
  ): Promise<Reply>
  /** Of a cluster: the primary that has a slot, as the client knows it; '' if it does not, or there is no cluster. */
  nodeOf(slot: number): string
  /** Of a cluster: all that have slots. */
  nodes(): readonly string[]
  /** Calls `hear` whenever a connection was made, or other nodes of a cluster are primaries. Returns what ends it. */
  onReconnect(hear: () => void): () => void
  /** A call failed: the client finds out anew who owns which slot, where it would not do so by itself. */
  findOwners(): void
}

/** A client of ioredis or node-redis. */
export interface RedisClient {
  sendCommand(...args: never[]): unknown
}

type Methods = Record<
  'evalshaBuffer' | 'evalBuffer' | 'sendCommand',
  (...args: unknown[]) => unknown
>

/** At once, so that a connection that was reset is a blip; then less often, down to ten times a second. Milliseconds. */
function reconnectAfter(retries: number): number {
  return retries <= 1 ? 1 : Math.min(25 * 2 ** retries, 100)
}

/** Milliseconds between two connections that are given up because the server is a replica. */
const REPLICA_PAUSE_MS = 1000

/**
 * Whether an error is a reason to connect again: the server has become a replica. Sentinel, or the name of the
 * primary, leads to another one then, but the connection to the old one may stay open for ever.
 */
function leavesReplicas(): (error: Error) => boolean {
  let leftAt = Number.NEGATIVE_INFINITY
  return ({ message }) => {
    if (!/\bREADONLY\b/.test(message) || performance.now() < leftAt + REPLICA_PAUSE_MS) return false
    leftAt = performance.now()
    return true
  }
}

/** Safe for `new Redis(url, ioredisOptions)`, also with `sentinels`, whose word on a failover is heeded at once. */
export const ioredisOptions = {
  retryStrategy: reconnectAfter,
  enableOfflineQueue: false,
  autoResendUnfulfilledCommands: false,
  maxRetriesPerRequest: 0,
  connectTimeout: 1000,
  socketTimeout: 1000,
  failoverDetector: true,
  // A sentinel that hangs is passed over.
  sentinelCommandTimeout: 1000,
  /** Each client counts for itself. */
  get reconnectOnError() {
    return leavesReplicas()
  },
} as const

/** Safe for `new Redis.Cluster(nodes, ioredisClusterOptions)`. */
export const ioredisClusterOptions = {
  enableOfflineQueue: false,
  retryDelayOnFailover: 0,
  retryDelayOnClusterDown: 0,
  retryDelayOnTryAgain: 1,
  maxRedirections: 5,
  clusterRetryStrategy: reconnectAfter,
  slotsRefreshInterval: 2000,
  get redisOptions() {
    return {
      autoResendUnfulfilledCommands: false,
      connectTimeout: 1000,
      socketTimeout: 1000,
    } as const
  },
} as const

/** Safe for `createClient({ url, ...nodeRedisOptions })`. The client writes into `socket`: each gets its own. */
export const nodeRedisOptions = {
  disableOfflineQueue: true,
  get socket() {
    return { connectTimeout: 1000, socketTimeout: 5000, reconnectStrategy: reconnectAfter }
  },
} as const

/** Safe for `createCluster({ rootNodes, ...nodeRedisClusterOptions })`. */
export const nodeRedisClusterOptions = {
  get defaults() {
    return { ...nodeRedisOptions }
  },
} as const

/** Without a listener a client that loses its connection would end the process. */
function hearErrors(client: object): void {
  const { on, listenerCount } = client as Partial<Pick<EventEmitter, 'on' | 'listenerCount'>>
  if (on === undefined || listenerCount?.call(client, 'error') !== 0) return
  on.call(client, 'error', () => {})
}

export function redisPort(client: unknown): RedisPort {
  if (typeof client === 'object' && client !== null) {
    if (hasMethods(client, 'evalshaBuffer', 'evalBuffer')) {
      checkIoredis(client)
      hearErrors(client)
      return ioredisPort(client as Methods, isIoredisCluster(client))
    }
    if (hasMethods(client, 'sendCommand')) {
      const isCluster = 'masters' in client
      checkNodeRedis(client, isCluster)
      hearErrors(client)
      return nodeRedisPort(client as Methods, isCluster)
    }
  }
  throw refused('is no Redis client that is known; expected one of ioredis or node-redis')
}

type Send = (...args: unknown[]) => Promise<Reply>

function ioredisPort(client: Methods, isCluster: boolean): RedisPort {
  const evalsha = client.evalshaBuffer.bind(client) as Send
  const evaluate = client.evalBuffer.bind(client) as Send
  const run: RedisPort['run'] = (command, script, keys, args) =>
    (command === 'EVALSHA' ? evalsha : evaluate)(script, keys.length, ...keys, ...args)
  const onReconnect = (hear: () => void) => onEvent(client, 'ready', hear)
  if (!isCluster) {
    keepConnected(client)
    return { isCluster, run, onReconnect, findOwners() {}, ...NO_NODES }
  }
  const cluster = client as unknown as ClusterClient
  connectEarly(cluster)
  return {
    isCluster,
    nodeOf: (slot) => cluster.slots?.[slot]?.[0] ?? '',
    nodes: () => [...new Set(cluster.slots?.flatMap((names) => names?.[0] ?? []))],
    run: (...call) => tellUnsent(run(...call)),
    onReconnect: (hear) => onClusterChange(cluster, hear),
    findOwners: () => findOwners(cluster),
  }
}

const NO_NODES = { nodeOf: () => '', nodes: () => [] }

/** Clients of several stores are listened to once. */
const connectedEarly = new WeakSet<ClusterClient>()

/**
 * A cluster client connects to a node with the first command for it, and refuses those that come before
 * it is connected, also where they are redirected to it. So it connects to all primaries at once.
 */
function connectEarly(client: ClusterClient): void {
  if (connectedEarly.has(client)) return
  connectedEarly.add(client)
  const connect = (node: ClusterNode) => {
    if (node.status === 'wait' && node.options.readOnly !== true) node.connect().catch(() => {})
  }
  const connectPrimaries = () => {
    for (const node of client.nodes?.('master') ?? []) connect(node)
  }
  connectPrimaries()
  client.on?.('+node', connect)
  // A replica that was promoted may never have been asked anything.
  client.on?.('refresh', connectPrimaries)
}

/** Milliseconds between two looks at who owns which slot. */
const FIND_OWNERS_MS = 200
const foundOwnersAt = new WeakMap<ClusterClient, number>()

/** By itself the client looks every two seconds, and where a node that is there sends it elsewhere. */
function findOwners(client: ClusterClient): void {
  const now = performance.now()
  if (now < (foundOwnersAt.get(client) ?? Number.NEGATIVE_INFINITY) + FIND_OWNERS_MS) return
  foundOwnersAt.set(client, now)
  client.refreshSlotsCache?.()
}

/** What is said of a command that was not sent, because its node is not connected yet. */
export const STILL_CONNECTING = "the connection isn't ready"

/** Turns of the queue of promises within which a client refuses what it does not even send. */
const SAME_TURN = 8

/**
 * A cluster client says `Connection is closed` of commands that were under way when a connection ended,
 * and of those for a node that it is only just connecting to. The latter it refuses at once: they were
 * not sent, and may be sent again.
 */
async function tellUnsent(reply: Promise<Reply>): Promise<Reply> {
  let isLater = false
  const wait = async () => {
    for (let i = 0; i < SAME_TURN; i++) await Promise.resolve()
    isLater = true
  }
  void wait()
  try {
    return await reply
  } catch (error) {
    if (isLater) throw error
    throw new Error(`${STILL_CONNECTING}: ${String(error)}`, { cause: error })
  }
}

/** A cluster client of node-redis. */
interface NodeRedisCluster {
  readonly slots: readonly ({ readonly master: { readonly address: string } } | undefined)[]
  readonly masters: readonly { readonly address: string }[]
}

/** Texts as bytes: the type that starts with $ in the protocol. */
const AS_BYTES = { typeMapping: { 36: Buffer } }

function nodeRedisPort(client: Methods, isCluster: boolean): RedisPort {
  const send = client.sendCommand.bind(client) as Send
  const cluster = client as unknown as NodeRedisCluster
  const nodes = {
    nodeOf: (slot: number) => cluster.slots[slot]?.master.address ?? '',
    nodes: () => cluster.masters.map(({ address }) => address),
  }
  return {
    isCluster,
    ...(isCluster ? nodes : NO_NODES),
    onReconnect: (hear) => onEvent(client, isCluster ? 'node-ready' : 'ready', hear),
    // It looks by itself when a node is gone.
    findOwners() {},
    run: (command, script, keys, args) => {
      const words = [command, script, String(keys.length), ...keys, ...args]
      return isCluster ? send(keys[0], false, words, AS_BYTES) : send(words, AS_BYTES)
    },
  }
}

function hasMethods(client: object, ...names: string[]): boolean {
  return names.every((name) => typeof (client as Record<string, unknown>)[name] === 'function')
}

type Options = Readonly<Record<string, unknown>>

function optionsOf(value: unknown): Options {
  return typeof value === 'object' && value !== null ? (value as Options) : {}
}

function isIoredisCluster(client: object): boolean {
  return (client as { isCluster?: unknown }).isCluster === true
}

function checkIoredis(client: object): void {
  const options = optionsOf((client as { options?: unknown }).options)
  const isCluster = isIoredisCluster(client)
  const connection = isCluster ? optionsOf(options['redisOptions']) : options
  const helper = isCluster ? 'ioredisClusterOptions' : 'ioredisOptions'
  const where = isCluster ? 'redisOptions.' : ''
  require(options['enableOfflineQueue'] ===
    false, 'queues commands while it is offline, which answers them too late and all at once', 'enableOfflineQueue: false', helper)
  require(connection['autoResendUnfulfilledCommands'] ===
    false, 'sends unanswered commands again after a reconnect, which counts them twice', `${where}autoResendUnfulfilledCommands: false`, helper)
  if (isCluster)
    require(options['retryDelayOnFailover'] ===
      0, 'sends unanswered commands again after a failover, which counts them twice', 'retryDelayOnFailover: 0', helper)
  require(options['enableAutoPipelining'] !==
    true, 'pipelines by itself, which sends scripts to the wrong node of a cluster and halves the speed', 'enableAutoPipelining: false', helper)
  require(isTimeout(
    connection['socketTimeout'],
  ), 'never notices that the other end of a connection is gone', `${where}socketTimeout: 1000`, helper)
}

function checkNodeRedis(client: object, isCluster: boolean): void {
  const own = optionsOf((client as { options?: unknown }).options)
  const options = isCluster ? optionsOf((client as { _options?: unknown })._options) : own
  const defaults = isCluster ? optionsOf(options['defaults']) : options
  const helper = isCluster ? 'nodeRedisClusterOptions' : 'nodeRedisOptions'
  const where = isCluster ? 'defaults.' : ''
  require(defaults['disableOfflineQueue'] ===
    true, 'queues commands while it is offline, which answers them too late and all at once', `${where}disableOfflineQueue: true`, helper)
  require(isTimeout(
    optionsOf(defaults['socket'])['socketTimeout'],
  ), 'never notices that the other end of a connection is gone', `${where}socket.socketTimeout: 5000`, helper)
}

function isTimeout(value: unknown): boolean {
  return typeof value === 'number' && value > 0
}

function require(holds: boolean, what: string, setting: string, helper: string): void {
  if (!holds)
    throw refused(
      `${what}; make it with ${setting}, or with all of ${helper} from @sluice/limiter/redis`,
    )
}

function refused(what: string): SluiceError {
  return new SluiceError('invalid_options', `the Redis client ${what}`, { field: 'client' })
}
