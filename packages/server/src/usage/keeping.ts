/** How long usage is kept: partitions are made ahead and dropped when they are over, hourly. */
import { HOUR_MS } from '@sluice/limiter/transport'
import type { Database } from '../control/database.js'
import { type PartitionedTable, type PartitionWork, tendPartitions } from '../control/partitions.js'
import type { Log } from '../telemetry/log.js'

export interface Keeping {
  /** Usage by the minute, in days; 30 unless given. */
  readonly detailDays?: number
  /** Usage by the day; 365 unless given. */
  readonly days?: number
  /** Violations; 30 unless given. */
  readonly violationDays?: number
}

export interface UsageKeeperParts {
  readonly database: Database
  readonly now: () => number
  readonly log: Log
  readonly keeping?: Keeping
  readonly everyMs?: number
}

export const KEPT = { detailDays: 30, days: 365, violationDays: 30 } as const satisfies Keeping
/** After so long no batch comes again. */
const BATCHES_KEPT = '3 days'
const AGAIN_AFTER_MS = 10_000

export class UsageKeeper {
  readonly #database: Database
  readonly #now: () => number
  readonly #log: Log
  readonly #tables: readonly PartitionedTable[]
  readonly #everyMs: number
  #timer: NodeJS.Timeout | undefined
  #isClosed = false

  constructor({ database, now, log, keeping = {}, everyMs = HOUR_MS }: UsageKeeperParts) {
    const { detailDays, days, violationDays } = { ...KEPT, ...keeping }
    this.#database = database
    this.#now = now
    this.#log = log
    this.#everyMs = everyMs
    this.#tables = [
      { table: 'usage_minutes', by: 'day', keptDays: detailDays },
      { table: 'usage_days', by: 'month', keptDays: days },
      { table: 'violations', by: 'day', keptDays: violationDays },
    ]
  }

  /** Now, and then every hour. */
  async start(): Promise<void> {
    const isDone = await this.#attempt()
    if (this.#isClosed) return
    this.#timer = setTimeout(() => void this.start(), isDone ? this.#everyMs : AGAIN_AFTER_MS)
    this.#timer.unref()
  }

  async #attempt(): Promise<boolean> {
    try {
      await this.tend()
      return true
    } catch (error) {
      const said = error instanceof Error ? error.message : String(error)
      this.#log.warn('old usage could not be tidied; in a while again', { error: said })
      return false
    }
  }

  async tend(): Promise<PartitionWork> {
    const work: { made: string[]; dropped: string[] } = { made: [], dropped: [] }
    for (const table of this.#tables) {
      const done = await tendPartitions(this.#database, table, new Date(this.#now()))
      work.made.push(...done.made)
      work.dropped.push(...done.dropped)
    }
    await this.#database.query(
      `DELETE FROM sluice.usage_batches WHERE stored_at < now() - interval '${BATCHES_KEPT}'`,
    )
    return work
  }

  close(): void {
    this.#isClosed = true
    clearTimeout(this.#timer)
  }
}
