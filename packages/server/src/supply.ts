/**
 * Where rules come from, and where it is told what they did: a file that is watched, a database of which
 * this instance is a control plane, or the feed of one. Started in order, each part handed to the next;
 * deciding goes on by the last known rules whatever of this is away.
 */
import { randomBytes } from 'node:crypto'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { RuleSet } from '@sluice/limiter'
import { adminRoutes } from './admin/admin-routes.js'
import { usageRoutes } from './admin/usage-routes.js'
import { type Settings, UsageError } from './config.js'
import { ControlPlane } from './control/control-plane.js'
import type { Database } from './control/database.js'
import { hasEmbedded, openEmbedded } from './control/embedded.js'
import { MigrationError } from './control/migrations.js'
import { openPostgres } from './control/postgres.js'
import type { PreparedDatabase } from './control/prepared-database.js'
import { Publishing } from './control/publishing.js'
import type { Backing } from './counters/backing.js'
import { readRedisAddress } from './counters/redis-address.js'
import { connectRedis } from './counters/redis-connection.js'
import type { Observer } from './decisions.js'
import type { FeedSource } from './feed/change.js'
import { Enforcement } from './feed/enforcement.js'
import { FeedFile } from './feed/feed-file.js'
import { FeedKeys } from './feed/feed-redis.js'
import { Follower } from './feed/follower.js'
import { Planes } from './feed/planes.js'
import { RedisPublisher } from './feed/redis-publisher.js'
import { RedisSource } from './feed/redis-source.js'
import type { Route } from './http/route.js'
import { type LoadedRules, loadRules, type RefusedRules } from './rules-file/load-rules.js'
import { watchRules } from './rules-file/watched-rules.js'
import { isReserved } from './security/caller.js'
import type { TokenBook } from './security/token-book.js'
import type { Started } from './started.js'
import type { DatabaseAt, Sense } from './startup-sense.js'
import type { Log } from './telemetry/log.js'
import type { Meter } from './telemetry/meter.js'
import type { SupplyReading } from './telemetry/metrics.js'
import type { Tenants } from './tenants.js'
import { UsageKeeper } from './usage/keeping.js'
import { UsageRecorder } from './usage/recorder.js'
import { type Deliver, UsageSender } from './usage/sender.js'
import { StreamReader } from './usage/stream-reader.js'
import { Tally } from './usage/tally.js'
import { UsageReader } from './usage/usage-reader.js'
import { addToStream } from './usage/usage-stream.js'

/** The first rules are faulty: nothing was started. */
export class FaultyRules extends Error {
  readonly file: string
  readonly refused: RefusedRules

  constructor(file: string, refused: RefusedRules) {
    super(`${file} is refused`)
    this.file = file
    this.refused = refused
  }
}

export interface SupplyParts {
  readonly settings: Settings
  readonly sense: Sense
  readonly log: Log
  readonly tenants: Tenants
  readonly tokens: TokenBook
  readonly meter: Meter
  readonly backing: Backing
  readonly started: Started
  /** A rules file was saved with faults; the rules before stay in force. */
  readonly refused: (file: string, refused: RefusedRules, revision: number) => void
}

export interface Supply {
  /** The control plane's. */
  readonly routes: readonly Route[]
  /** Counts what is decided, for the history; null where there is none. */
  readonly tally: Pick<Observer, 'decided'> | null
  /** Rules are known, even if there are none. */
  readonly isKnown: () => boolean
  readonly reading: () => FullReading
  /** For people: where history is kept; null where it is not. */
  readonly history: string | null
}

export interface FullReading extends SupplyReading {
  readonly feed: ReturnType<() => Follower['reading']> | null
  readonly planes: Planes['all']
  readonly database: 'postgres' | 'embedded' | null
}

/** Longer than any command of the feed waits. */
const SOCKET_TIMEOUT_MS = 5000
const APPLIED_WITHIN_MS = 1000
const CONNECTED_WITHIN_MS = 1000
/** Connections of PostgreSQL for whoever only looks. */
const MOST_READS = 4
/** The first rules are waited for this long, where none are known. */
const FIRST_RULES_WITHIN_MS = 5000

/** A rules file that is to be served; throws where it is faulty. */
export async function firstRules({ rules }: Sense): Promise<LoadedRules | null> {
  if (rules.kind !== 'file') return null
  const loaded = await loadRules(rules.file)
  if ('faults' in loaded) throw new FaultyRules(rules.file, loaded)
  return loaded
}

export async function openSupply(parts: SupplyParts, loaded: LoadedRules | null): Promise<Supply> {
  const { settings, sense, log, tenants, tokens, meter, started } = parts
  const enforcement = new Enforcement({
    tenants,
    tokens,
    log,
    enforced: (rules) => meter.use(rules),
  })
  if (loaded !== null) {
    const { namespace } = loaded.rules
    if (isReserved(namespace))
      throw new UsageError(`namespace ${namespace} is Sluice's own; give the rules another`)
    for (const warning of loaded.warnings) log.warn(warning)
    tenants.home = namespace
    tenants.revision = 1
    await enforcement.useFile(loaded.rules)
    const watched = watchFile(loaded, enforcement, parts)
    started.add(() => watched.close())
  } else await tenants.use(RuleSet.compile({}))

  const isFresh = sense.database?.kind === 'embedded' && !hasEmbedded(sense.database.folder)
  const redis = settings.redis === undefined ? null : new FeedConnections(settings, parts.started)
  let follower: Follower | null = null
  const control =
    sense.database === null ? null : await openControl(sense.database, parts, () => follower)
  const database = control?.database ?? null
  await redis?.connected()
  const source: FeedSource | null =
    control?.feed ?? (sense.rules.kind === 'feed' ? redis!.source() : null)
  const planes = source === null || redis === null ? null : redis.planes(() => follower)

  if (source !== null) {
    const file = new FeedFile(join(settings.data, 'rules.ndjson'), log)
    follower = new Follower({
      source,
      file,
      log,
      enforce: async (state, touched, since) => {
        await enforcement.enforce(state, touched, since)
      },
      inForce: (head) => {
        if (sense.rules.kind === 'file') return
        tenants.revision = head.revision
        log.info('rules are in force', { revision: head.revision, count: tenants.size })
      },
    })
    await startFollowing(follower, parts, isFresh)
  }
  if (control !== null && redis !== null && sense.rules.kind === 'database')
    publish(control, redis, parts)
  planes?.start()

  const usage = await openUsage(database, redis, parts)
  const mode = sense.rules.kind
  return {
    routes: [
      ...adminRoutes({ control, tenants, mode }),
      ...usageRoutes({ reader: usage?.reader ?? null, tenants, now: () => parts.backing.now() }),
    ],
    tally: usage?.tally ?? null,
    // A database that is only being made has no rules that could be missing.
    isKnown: () => loaded !== null || isFresh || follower!.isKnown,
    reading: () => ({
      feed: follower?.reading ?? null,
      planes: planes?.all ?? [],
      isDatabaseAway: database?.isAway ?? null,
      database: database?.kind ?? null,
      usage: usage?.reading ?? {},
    }),
    history: database?.name ?? null,
  }
}

function watchFile(loaded: LoadedRules, enforcement: Enforcement, parts: SupplyParts) {
  const { log, refused, tenants, sense } = parts
  const { file } = sense.rules as { file: string }
  return watchRules(
    file,
    async (event) => {
      if ('faults' in event) return refused(file, event, tenants.revision)
      const { namespace } = event.rules
      if (namespace !== tenants.home)
        throw new UsageError(
          `the rules are of namespace ${namespace}, and ${tenants.home} is served; a restart changes that`,
        )
      if (event.changes.length > 0) {
        await enforcement.useFile(event.rules)
        tenants.revision++
      }
      for (const warning of event.warnings) log.warn(warning)
      const { revision } = tenants
      log.info(`rules of ${file} are in force`, { revision, count: event.rules.size })
      for (const change of event.changes) log.info(change, { revision })
    },
    { loaded },
  )
}

/** Refuses to start on a database of another version; one that is away is waited for in the background. */
async function openControl(
  at: DatabaseAt,
  parts: SupplyParts,
  follower: () => Follower | null,
): Promise<ControlPlane> {
  const { settings, sense, tenants, log, started } = parts
  const opened =
    at.kind === 'postgres'
      ? // Who only looks does not keep writers and data planes waiting.
        [openPostgres(at.url), openPostgres(at.url, { max: MOST_READS })]
      : [openEmbedded(at.folder, { log: (line) => log.warn(line) })]
  for (const one of opened) started.add(() => one.close())
  const [database, reads] = opened as [Database, Database?]
  const control = new ControlPlane({
    database,
    ...(reads === undefined ? {} : { reads }),
    auditDays: settings.auditDays,
    ...(sense.rules.kind === 'file'
      ? {
          file: {
            serves: (namespace: string) => tenants.get(namespace) !== undefined,
            ruleScope: (namespace: string, name: string) => {
              const rules = tenants.get(namespace)?.limiter.rules
              return rules?.named(name)?.scope ?? rules?.families.get(name)?.scope
            },
          },
        }
      : {}),
    failed: (error) =>
      log.error('the control plane does not get on', { code: 'internal', error: String(error) }),
    applied: async (revision) => follower()?.reached(revision, APPLIED_WITHIN_MS),
  })
  started.add(control.startTending())
  const prepared = control.prepare().catch((error: unknown) => {
    if (error instanceof MigrationError) throw new UsageError(`--database: ${error.message}`)
    log.warn('the database does not answer; deciding goes on by the last known rules', {
      code: 'database_unavailable',
      error: error instanceof Error ? error.message : String(error),
    })
  })
  if (at.kind === 'postgres') await prepared
  else prepared.catch((error: Error) => log.error(error.message))
  return control
}

/** What was known last is in force at once; the newest is waited for a little where nothing was known. */
async function startFollowing(
  follower: Follower,
  { started, log, tenants, sense }: SupplyParts,
  isFresh: boolean,
): Promise<void> {
  started.add(() => follower.close())
  const first = follower.start()
  await follower.restored
  if (!follower.isKnown && sense.database?.kind !== 'embedded')
    await Promise.race([first, after(FIRST_RULES_WITHIN_MS)])
  const warn = () => {
    if (sense.rules.kind !== 'file' && tenants.size === 0)
      log.warn('there are no rules: everything is allowed', { code: 'no_rules' })
  }
  if (isFresh || follower.isKnown) warn()
  else {
    log.warn('no rules are known yet: everything is allowed until they are', { code: 'no_rules' })
    void first.then(() => follower.isKnown && warn())
  }
}

function after(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms).unref()
  })
}

function publish(
  control: ControlPlane,
  redis: FeedConnections,
  { log, started }: SupplyParts,
): void {
  const publisher = redis.publisher()
  const publishing = new Publishing({
    database: control.database,
    source: control.feed,
    publish: async (source) => {
      const what = await publisher.publish(source)
      if (what === 'replaced')
        log.warn(
          'Redis had another history, which was replaced: a database that was restored, or two of them that publish to one Redis',
          { code: 'feed_replaced' },
        )
    },
    published: () => publisher.head(),
    trouble: (error) => {
      if (error === null) log.info('changes reach the data planes again')
      else
        log.warn('changes do not reach the data planes', {
          code: 'feed_away',
          error: error.message,
        })
    },
  })
  started.add(() => publishing.close())
}

/** What the feed and usage need of Redis: connections apart from the one that decides. */
class FeedConnections {
  readonly #settings: Settings
  readonly #started: Started
  readonly #keys: FeedKeys
  readonly #shared: ReturnType<typeof connectRedis>

  constructor(settings: Settings, started: Started) {
    this.#settings = settings
    this.#started = started
    this.#keys = new FeedKeys(settings.redisPrefix)
    this.#shared = this.connect()
  }

  get prefix(): string {
    return this.#settings.redisPrefix
  }

  /** Waits a little for the first connection; what comes later finds its way by itself. */
  async connected(): Promise<void> {
    const redis = this.#shared
    if (redis.status === 'ready') return
    const ready = new Promise<void>((resolve) => {
      redis.once('ready', resolve)
      redis.once('error', () => resolve())
    })
    await Promise.race([ready, after(CONNECTED_WITHIN_MS)])
  }

  connect(): ReturnType<typeof connectRedis> {
    const redis = connectRedis(readRedisAddress(this.#settings.redis!), SOCKET_TIMEOUT_MS)
    redis.on('error', () => undefined)
    this.#started.add(() => redis.disconnect())
    return redis
  }

  source(): RedisSource {
    return new RedisSource(this.#shared, this.connect(), this.#keys)
  }

  publisher(): RedisPublisher {
    return new RedisPublisher(this.#shared, this.#keys)
  }

  planes(follower: () => Follower | null): Planes {
    const host = hostname()
    const instance = `${host}-${randomBytes(3).toString('hex')}`
    const planes = new Planes(this.#shared, this.#keys, instance, () => {
      const { revision, lag } = follower()?.reading ?? { revision: 0, lag: 0 }
      return { host, revision, lag }
    })
    this.#started.add(() => planes.close())
    return planes
  }

  get shared(): ReturnType<typeof connectRedis> {
    return this.#shared
  }
}

interface Usage {
  readonly tally: Tally
  readonly reader: UsageReader | null
  /** Of the sender, and of the recorder where there is one. */
  readonly reading: SupplyReading['usage']
}

/** Counted where somebody stores it: here, or a control plane that reads the stream. */
async function openUsage(
  database: PreparedDatabase | null,
  redis: FeedConnections | null,
  { settings, sense, backing, log, started }: SupplyParts,
): Promise<Usage | null> {
  const now = () => backing.now()
  let reader: UsageReader | null = null
  let recorder: UsageRecorder | null = null
  let deliver: Deliver
  if (database !== null) {
    const keeping = {
      detailDays: settings.usageDays,
      days: settings.usageHistoryDays,
      violationDays: settings.violationsDays,
    }
    reader = new UsageReader(database, now, keeping)
    const keeper = new UsageKeeper({ database, now, log, keeping })
    void keeper.start()
    started.add(() => keeper.close())
    const made = new UsageRecorder({ database, now, log, keeper })
    recorder = made
    deliver = (batch) => made.record([batch])
    if (redis !== null) {
      const stream = new StreamReader({
        redis: redis.connect(),
        prefix: redis.prefix,
        record: (batches) => made.record(batches),
        log,
      })
      stream.start()
      started.add(() => stream.close())
    }
  } else if (sense.rules.kind === 'feed')
    deliver = addToStream(redis!.shared, { prefix: redis!.prefix })
  else return null
  const tally = new Tally(now())
  const sender = new UsageSender({ tally, deliver, now })
  sender.start()
  started.add(() => sender.close())
  const reading = recorder === null ? { instance: sender } : { instance: sender, control: recorder }
  return { tally, reader, reading }
}
