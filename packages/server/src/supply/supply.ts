/**
 * Where rules come from, and where it is told what they did: a file that is watched, a database of which
 * this instance is a control plane, or the feed of one. Started in order, each part handed to the next;
 * deciding goes on by the last known rules whatever of this is away.
 */
import { join } from 'node:path'
import { RuleSet } from '@sluice/limiter'
import { UsageError } from '../config.js'
import { hasEmbedded } from '../control/embedded.js'
import type { Observer } from '../decisions.js'
import type { FeedSource } from '../feed/change.js'
import { Enforcement } from '../feed/enforcement.js'
import { FeedFile } from '../feed/feed-file.js'
import { Follower } from '../feed/follower.js'
import type { Planes } from '../feed/planes.js'
import type { ControlParts } from '../routes/control-parts.js'
import type { UsageParts } from '../routes/usage.js'
import { type LoadedRules, loadRules, type RefusedRules } from '../rules-file/load-rules.js'
import { watchRules } from '../rules-file/watched-rules.js'
import { isReserved } from '../security/caller.js'
import type { Sense } from '../startup-sense.js'
import type { SupplyReading } from '../telemetry/metrics.js'
import { within } from '../within.js'
import { openControl, publish } from './control.js'
import { FeedConnections } from './feed-connections.js'
import type { SupplyParts } from './parts.js'
import { openUsage } from './usage.js'

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

export interface Supply {
  /** The control plane's. */
  readonly control: ControlParts
  readonly usage: UsageParts
  /** Counts what is decided, for the history; null where there is none. */
  readonly tally: Pick<Observer, 'decided'> | null
  /** Rules are known, even if there are none. */
  readonly isKnown: () => boolean
  readonly reading: () => FullReading
  /** For people: where history is kept; null where it is not. */
  readonly history: string | null
}

export interface FullReading extends SupplyReading {
  readonly feed: Follower['reading'] | null
  readonly planes: Planes['all']
  readonly database: 'postgres' | 'embedded' | null
}

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
  let planes: Planes | null = null
  const control =
    sense.database === null
      ? null
      : await openControl(sense.database, parts, {
          follower: () => follower,
          planes: () => planes,
        })
  const database = control?.database ?? null
  await redis?.connected()
  const source: FeedSource | null =
    control?.feed ?? (sense.rules.kind === 'feed' ? redis!.source() : null)
  planes = source === null || redis === null ? null : redis.planes(() => follower)

  if (source !== null) {
    const file = new FeedFile(join(settings.data, 'rules.ndjson'), log)
    follower = new Follower({
      source,
      file,
      log,
      enforce: (state, touched, since) => enforcement.enforce(state, touched, since),
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

  const usage = openUsage(control, redis, parts)
  const mode = sense.rules.kind
  const documentLimits = { mostBytes: settings.documentBytes, deepest: settings.documentDepth }
  return {
    control: { control, tenants, mode, documentLimits },
    usage: { reader: usage?.reader ?? null, tenants, now: () => parts.backing.now() },
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
      if (event.isChanged) {
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
    await within(FIRST_RULES_WITHIN_MS, first)
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
