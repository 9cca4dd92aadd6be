/** This instance as a control plane: its database, and its changes on their way to the data planes. */
import { UsageError } from '../config.js'
import { ControlPlane } from '../control/control-plane.js'
import type { Database } from '../control/database.js'
import { openEmbedded } from '../control/embedded.js'
import { MigrationError } from '../control/migrations.js'
import { openPostgres } from '../control/postgres.js'
import { Publishing } from '../control/publishing.js'
import type { Follower } from '../feed/follower.js'
import type { Planes } from '../feed/planes.js'
import type { DatabaseAt } from '../startup-sense.js'
import type { FeedConnections } from './feed-connections.js'
import type { SupplyParts } from './parts.js'

/** How long an answer waits until its own instance decides by what was written. */
const APPLIED_WITHIN_MS = 1000
/** Connections of PostgreSQL for whoever only looks. */
const MOST_READS = 4

/** What is started after it. */
interface Followers {
  readonly follower: () => Follower | null
  readonly planes: () => Planes | null
}

/** Refuses to start on a database of another version; one that is away is waited for in the background. */
export async function openControl(
  at: DatabaseAt,
  parts: SupplyParts,
  { follower, planes }: Followers,
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
            counting: (namespace: string, name: string) => {
              const rules = tenants.get(namespace)?.limiter.rules
              const found = rules?.named(name) ?? rules?.all.find((one) => one.family.name === name)
              return found?.rule
            },
          },
        }
      : {}),
    failed: (error) =>
      log.error('the control plane does not get on', { code: 'internal', error: String(error) }),
    lacking: async (names) => (await planes()?.lacking(names)) ?? new Map(),
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

/** Brings what this control plane, and any other of the same database, changes to the data planes. */
export function publish(
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
