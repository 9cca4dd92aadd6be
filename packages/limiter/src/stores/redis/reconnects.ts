/**
 * Says when a client has made a connection, or when other nodes of a cluster have become primaries. Each
 * client is listened to once, however many stores share it, and a closed store hears no more of it. A Sentinel
 * client is kept connected through failovers.
 */

interface Emitter {
  on?(event: string, hear: (...args: never[]) => void): unknown
}

/** A cluster client of ioredis. */
export interface ClusterClient extends Emitter {
  nodes?(role: 'master' | 'all'): readonly ClusterNode[]
  /** Of each slot its nodes' names, the primary's first. */
  readonly slots?: readonly (readonly string[] | undefined)[]
  refreshSlotsCache?(): void
}

export interface ClusterNode extends Emitter {
  readonly status: string
  readonly options: { readonly readOnly?: boolean; readonly host?: string; readonly port?: number }
  connect(): Promise<unknown>
}

function nameOf({ options }: ClusterNode): string {
  return `${options.host}:${options.port}`
}

const hearersOf = new WeakMap<object, Set<() => void>>()

/** Calls `hear` with every event of the client by that name. Returns what ends it. */
export function onEvent(client: object, name: string, hear: () => void): () => void {
  return subscribe(client, hear, (changed) => (client as Emitter).on?.(name, changed))
}

/** As `onEvent`, for every connection to a node of an ioredis cluster, and for new primaries. */
export function onClusterChange(client: ClusterClient, hear: () => void): () => void {
  return subscribe(client, hear, (changed) => {
    const names = () => (client.nodes?.('master') ?? []).map(nameOf)
    let known = names().sort().join()
    client.on?.('refresh', () => {
      const primaries = names().sort().join()
      if (primaries === known) return
      known = primaries
      changed()
    })
    for (const node of client.nodes?.('all') ?? []) node.on?.('ready', changed)
    client.on?.('+node', (node: ClusterNode) => node.on?.('ready', changed))
    client.on?.('ready', changed)
  })
}

function subscribe(
  client: object,
  hear: () => void,
  listen: (changed: () => void) => void,
): () => void {
  let hearers = hearersOf.get(client)
  if (hearers === undefined) {
    const all = new Set<() => void>()
    hearersOf.set(client, all)
    listen(() => {
      for (const one of all) one()
    })
    hearers = all
  }
  const own = hearers
  own.add(hear)
  return () => {
    own.delete(hear)
  }
}

/** A client of ioredis that asks sentinels for the primary. */
interface SentinelClient extends Emitter {
  readonly options?: { readonly sentinels?: unknown }
  readonly status?: string
  /** Its owner has disconnected it. */
  readonly manuallyClosing?: boolean
  /** `sentinels`: its connections to those that tell it of new primaries. */
  readonly connector?: {
    readonly failoverDetector?: { readonly sentinels?: readonly { client: Emitter }[] } | null
  }
  connect(): Promise<unknown>
}

const RECONNECT_MS = 50
const keptConnected = new WeakSet<object>()

/**
 * Keeps a Sentinel client of ioredis connected through failovers; other clients are left alone.
 *
 * - It gives up for good where a sentinel tells of a new primary while the client is just asking for it: the old
 *   connection is ended a second time, which the client takes for its owner's wish. It is connected again, unless
 *   its owner has disconnected it.
 * - It listens to sentinels over connections whose errors it writes to stderr. They are no trouble: others are
 *   listened to.
 */
export function keepConnected(ioredis: object): void {
  const client = ioredis as SentinelClient
  if (!Array.isArray(client.options?.sentinels) || keptConnected.has(client)) return
  keptConnected.add(client)
  let isConnecting = client.status === 'connecting'
  client.on?.('connecting', () => {
    isConnecting = true
  })
  client.on?.('close', () => {
    isConnecting = false
  })
  client.on?.('connect', () => {
    isConnecting = false
    for (const sentinel of client.connector?.failoverDetector?.sentinels ?? [])
      sentinel.client.on?.('error', () => {})
  })
  client.on?.('end', () => {
    if (!isConnecting) return
    isConnecting = false
    setTimeout(() => {
      if (client.status === 'end' && client.manuallyClosing !== true)
        client.connect().catch(() => {})
    }, RECONNECT_MS)
  })
}
