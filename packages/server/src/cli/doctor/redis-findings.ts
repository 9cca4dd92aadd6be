/** What a Redis is like that counters are to be in: whether it answers, how fast, and whether it keeps them. */
import { Cluster, Redis } from 'ioredis'
import {
  printRedisAddress,
  type RedisAddress,
  readRedisAddress,
} from '../../counters/redis-address.js'
import { within } from '../../within.js'
import { type Finding, fail, ok, warn } from './finding.js'

const OLDEST = [6, 2]
const WITHIN_MS = 3000
const PINGS = 21
/** A decision waits this long each time. */
const SLOW_MS = 10

type Info = ReadonlyMap<string, string>

export async function redisFindings(text: string): Promise<Finding[]> {
  const address = readRedisAddress(text)
  const client = connect(address)
  let trouble = ''
  client.on('error', (error: NodeJS.ErrnoException & { lastNodeError?: Error }) => {
    trouble = error.code ?? (error.lastNodeError ?? error).message
  })
  try {
    await connected(client)
    const node = client instanceof Cluster ? client.nodes('master')[0]! : client
    const info = readInfo(await node.info())
    const findings = judge(address, info, await latencyOf(node))
    return info.get('cluster_enabled') === '1' ? [...findings, ...(await coverage(node))] : findings
  } catch (error) {
    return [silence(printRedisAddress(address), trouble || (error as Error).message)]
  } finally {
    client.disconnect()
  }
}

/** A cluster client whose nodes cannot be found ends without a word: then it does not answer. */
async function connected(client: Redis | Cluster): Promise<void> {
  await within(
    WITHIN_MS,
    client.connect(),
    () => new Error(`no connection within ${WITHIN_MS / 1000} s`),
  )
}

/** Whether a node that is gone makes the others refuse too. Nothing is said where the setting may not be read. */
async function coverage(node: Redis): Promise<Finding[]> {
  const setting = await node.config('GET', 'cluster-require-full-coverage').catch(() => [])
  return (setting as string[])[1] === 'yes'
    ? [
        warn(
          'the cluster refuses every key while one node fails over (cluster-require-full-coverage yes)',
          'redis-cli config set cluster-require-full-coverage no, on every node',
        ),
      ]
    : []
}

function silence(name: string, why: string): Finding {
  const refusal = /^(NOAUTH|WRONGPASS|NOPERM)\b/.exec(why)
  return refusal === null
    ? fail(`redis ${name} does not answer (${why})`, 'start it, or correct --redis')
    : fail(`redis ${name} lets nobody in so (${refusal[1]})`, 'redis://user:password@host:6379')
}

function connect(address: RedisAddress): Redis | Cluster {
  const { kind, hosts, isTls, username, password, database, primary } = address
  const options = {
    lazyConnect: true,
    connectTimeout: WITHIN_MS,
    commandTimeout: WITHIN_MS,
    maxRetriesPerRequest: 0,
    retryStrategy: () => null,
    ...(username === undefined ? {} : { username }),
    ...(password === undefined ? {} : { password }),
    ...(isTls ? { tls: {} } : {}),
  }
  if (kind === 'cluster')
    return new Cluster([...hosts], {
      lazyConnect: true,
      clusterRetryStrategy: () => null,
      redisOptions: options,
    })
  if (kind === 'sentinel')
    return new Redis({
      ...options,
      ...(isTls ? { sentinelTLS: {}, enableTLSForSentinelMode: true } : {}),
      sentinels: [...hosts],
      name: primary,
      db: database,
      sentinelRetryStrategy: () => null,
    })
  return new Redis({ ...options, ...hosts[0]!, db: database })
}

function readInfo(text: string): Info {
  const pairs = text.split('\r\n').flatMap((line): [string, string][] => {
    const at = line.indexOf(':')
    return at < 0 ? [] : [[line.slice(0, at), line.slice(at + 1)]]
  })
  return new Map(pairs)
}

/** The median. */
async function latencyOf(client: Redis): Promise<number> {
  const times: number[] = []
  for (let i = 0; i < PINGS; i++) {
    const started = performance.now()
    await client.ping()
    times.push(performance.now() - started)
  }
  return times.sort((a, b) => a - b)[(PINGS - 1) / 2]!
}

function judge({ kind }: RedisAddress, info: Info, latencyMs: number): Finding[] {
  const version = info.get('redis_version') ?? '?'
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const policy = info.get('maxmemory_policy') ?? '?'
  const said = `redis ${version}, ${latencyMs.toFixed(2)} ms, ${policy}`
  const findings: Finding[] = []
  if (major < OLDEST[0]! || (major === OLDEST[0] && minor < OLDEST[1]!))
    findings.push(fail(`redis ${version} is too old`, 'Redis 6.2 or newer'))
  if (policy !== 'noeviction')
    findings.push(
      fail(
        `redis drops keys when it is full (maxmemory-policy ${policy}): limits would start unused`,
        'redis-cli config set maxmemory-policy noeviction',
      ),
    )
  if (info.get('role') === 'slave')
    findings.push(fail('redis is a replica: nothing can be counted in it', "--redis the primary's"))
  const isCluster = info.get('cluster_enabled') === '1'
  if (isCluster && kind !== 'cluster')
    findings.push(fail('redis is a cluster', '--redis redis+cluster://host:6379'))
  if (latencyMs > SLOW_MS)
    findings.push(
      warn(`redis takes ${latencyMs.toFixed(1)} ms, and so does every decision`, 'a nearer Redis'),
    )
  return [...(findings.length === 0 ? [ok(said)] : findings), ok(persistenceOf(info))]
}

function persistenceOf(info: Info): string {
  const replicas = Number(info.get('connected_slaves') ?? 0)
  const copies = replicas === 1 ? '1 replica' : `${replicas === 0 ? 'no' : replicas} replicas`
  const kept =
    info.get('aof_enabled') === '1'
      ? 'counters outlive its restart (AOF)'
      : 'after its restart counters are as old as its last snapshot, or unused'
  return `redis: ${kept}; ${copies}`
}
