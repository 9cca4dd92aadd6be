/**
 * The control plane: rules, tiers, overrides, lists, costs and tokens in a database, each change a
 * revision. It knows nothing of HTTP; what it throws are ServiceErrors. It is also the source that data
 * planes are fed from.
 */
import { ServiceError } from '../error-codes.js'
import type { FeedSource } from '../feed/change.js'
import { within } from '../within.js'
import { auditPart } from './audit-part.js'
import type { ControlContext, RulesInFile } from './context.js'
import { costsPart } from './costs-part.js'
import { type Database, DatabaseAway, DatabaseBusy, type Sql, SqlError } from './database.js'
import { databaseFeed, readHead } from './database-feed.js'
import { documentsPart } from './documents-part.js'
import { listPart } from './lists-part.js'
import { MigrationError, migrate } from './migrations.js'
import { PreparedDatabase } from './prepared-database.js'
import { rulesPart } from './rules-part.js'
import { subjectsPart } from './subjects-part.js'
import { ACTOR, hasEnded, pruneChanges, removeEnded, tendAudit } from './tending.js'
import { tokensPart } from './tokens-part.js'
import { type Writing, write } from './writing.js'

const AUDIT_DAYS = 90
/** How often the head is looked at for the writes of other control planes. */
const LOOK_EVERY_MS = 250
const TEND_EVERY_MS = 30_000
/** Partitions and old changes are looked at once in so many rounds. */
const ROUNDS = 120
/** How long an answer waits until its own instance decides by what was written. */
const APPLIED_WITHIN_MS = 1_000

export interface ControlPlaneOptions {
  readonly database: Database
  /**
   * Connections of their own to the same database, for what only callers read: however much that is, writes
   * and data planes do not wait for it. The same where it is left out.
   */
  readonly reads?: Database
  /** Rules come from a file: then they are not written here. */
  readonly file?: RulesInFile
  /** The instances, by name, that are too old to read this setting of a namespace; none unless given. */
  readonly lacking?: ControlContext['lacking']
  /** Ends when this instance decides by a revision. */
  readonly applied?: (revision: number) => Promise<void>
  /** What goes wrong where nobody waits for an answer. */
  readonly failed?: (error: unknown) => void
  readonly auditDays?: number
}

export interface NamespaceListing {
  readonly name: string
  readonly revision: number
}

export class ControlPlane {
  /** Brought to this version before it is first asked. */
  readonly database: PreparedDatabase
  /** The same, by connections for whoever only looks. */
  readonly reads: PreparedDatabase
  readonly rules: ReturnType<typeof rulesPart>
  readonly subjects: ReturnType<typeof subjectsPart>
  readonly exemptions: ReturnType<typeof listPart>
  readonly blocks: ReturnType<typeof listPart>
  readonly costs: ReturnType<typeof costsPart>
  readonly tokens: ReturnType<typeof tokensPart>
  readonly audit: ReturnType<typeof auditPart>
  readonly documents: ReturnType<typeof documentsPart>
  readonly feed: FeedSource
  readonly #context: ControlContext
  readonly #options: ControlPlaneOptions
  readonly #watchers = new Set<() => void>()
  #looking: NodeJS.Timeout | null = null
  #seen = -1

  constructor(options: ControlPlaneOptions) {
    this.#options = options
    const { auditDays = AUDIT_DAYS } = options
    this.database = new PreparedDatabase(options.database, async (database) => {
      await migrate(database)
      await tendAudit(database, auditDays)
    })
    this.reads =
      options.reads === undefined
        ? this.database
        : new PreparedDatabase(options.reads, () => this.database.prepare())
    const context: ControlContext = {
      file: options.file ?? null,
      lacking: options.lacking ?? (async () => new Map()),
      ...readingOf(this.reads),
      write: (actor, work) => this.#write(actor, work),
    }
    this.#context = context
    this.rules = rulesPart(context)
    this.subjects = subjectsPart(context)
    this.exemptions = listPart(context, 'exemptions')
    this.blocks = listPart(context, 'blocks')
    this.costs = costsPart(context)
    this.tokens = tokensPart(context)
    this.audit = auditPart(context)
    this.documents = documentsPart(context)
    this.feed = databaseFeed(readingOf(this.database), (perhaps) => this.#watch(perhaps))
  }

  /** Brings the database to this version. Whatever is asked waits for it, and tries again where it failed. */
  prepare(): Promise<void> {
    return this.database.prepare()
  }

  /** The names of all that there are, in order. */
  namespaces(): Promise<NamespaceListing[]> {
    return this.#context.read((sql) =>
      sql.query<Record<string, unknown> & NamespaceListing>(
        'SELECT name, revision FROM sluice.namespaces ORDER BY name',
      ),
    )
  }

  async #write<T>(actor: string, work: (writing: Writing) => Promise<T>): Promise<T> {
    const { answer, revision } = await saidInWords('write', () => write(this.database, actor, work))
    if (revision === null) return answer
    for (const perhaps of this.#watchers) perhaps()
    await this.#applied(revision)
    return answer
  }

  /** What was written is written, whether this instance decides by it yet or not. */
  async #applied(revision: number): Promise<void> {
    const { applied, failed } = this.#options
    if (applied === undefined) return
    try {
      await within(APPLIED_WITHIN_MS, applied(revision))
    } catch (error) {
      failed?.(error)
    }
  }

  #watch(perhaps: () => void): () => void {
    this.#watchers.add(perhaps)
    this.#looking ??= this.#lookLater()
    return () => {
      this.#watchers.delete(perhaps)
      if (this.#watchers.size > 0 || this.#looking === null) return
      clearTimeout(this.#looking)
      this.#looking = null
    }
  }

  #lookLater(): NodeJS.Timeout {
    return setTimeout(() => void this.#look(), LOOK_EVERY_MS).unref()
  }

  /** A database that is away has nothing new. */
  async #look(): Promise<void> {
    try {
      const { revision } = await readHead(this.database)
      if (revision !== this.#seen) for (const perhaps of this.#watchers) perhaps()
      this.#seen = revision
    } catch (error) {
      if (!(error instanceof DatabaseAway)) this.#options.failed?.(error)
    }
    if (this.#watchers.size > 0) this.#looking = this.#lookLater()
  }

  /** Takes away what has ended and what is kept no longer, now and then. Answers how to stop. */
  startTending(): () => void {
    let round = 0
    const timer = setInterval(() => {
      void this.tend(round++ % ROUNDS === 0).catch((error: unknown) => {
        if (!(error instanceof DatabaseAway)) this.#options.failed?.(error)
      })
    }, TEND_EVERY_MS).unref()
    return () => clearInterval(timer)
  }

  /** One round of it; `isThorough`: history too. */
  async tend(isThorough = true): Promise<void> {
    while (await hasEnded(this.database)) await this.#write(ACTOR, removeEnded)
    if (!isThorough) return
    await pruneChanges(this.database)
    await tendAudit(this.database, this.#options.auditDays ?? AUDIT_DAYS)
  }
}

function readingOf(database: Database): Pick<ControlContext, 'read' | 'view'> {
  return {
    read: (work) => saidInWords('read', () => work(database)),
    view: (work) => saidInWords('read', () => database.transaction((sql) => inOneView(sql, work))),
  }
}

/** Reading changes nothing, so that it may always be tried again. */
type Access = 'read' | 'write'

async function saidInWords<T>(access: Access, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw inWords(error, access)
  }
}

async function inOneView<T>(sql: Sql, work: (sql: Sql) => Promise<T>): Promise<T> {
  await sql.query('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ')
  return work(sql)
}

const UNIQUE_VIOLATION = '23505'

function inWords(error: unknown, access: Access): unknown {
  if (error instanceof DatabaseBusy) return new ServiceError('database_unavailable', error.message)
  if (error instanceof DatabaseAway) {
    const mayHaveRun = access === 'write' && error.mayHaveRun
    const doubt = mayHaveRun
      ? '; whether it was done is not known, so look before asking again'
      : ''
    return new ServiceError('database_unavailable', `the database cannot be asked now${doubt}`, {
      mayHaveRun,
    })
  }
  if (error instanceof MigrationError)
    return new ServiceError('database_unavailable', error.message)
  if (error instanceof SqlError && error.state === UNIQUE_VIOLATION)
    return new ServiceError('conflict', 'another was faster with the same name or place')
  return error
}
