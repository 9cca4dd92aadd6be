/** A database with the tables of usage, and everything that writes and reads it, by a clock of the test. */
import type { Database } from '../../src/control/database.js'
import { migrate } from '../../src/control/migrations.js'
import { Log } from '../../src/telemetry/log.js'
import { UsageKeeper } from '../../src/usage/keeping.js'
import { UsageRecorder } from '../../src/usage/recorder.js'
import { UsageReader } from '../../src/usage/usage-reader.js'
import type { KindOfDatabase, TestDatabase } from '../control/databases.js'
import { START } from './deciding.js'

export const QUIET = new Log({ write: () => undefined })

export class Stored {
  now = START
  readonly log: Record<string, unknown>[] = []
  readonly keeper: UsageKeeper
  readonly recorder: UsageRecorder
  readonly reader: UsageReader

  private constructor(
    readonly database: Database,
    readonly at: TestDatabase,
  ) {
    const log = new Log({ write: (line) => this.log.push(JSON.parse(line)) })
    const now = () => this.now
    this.keeper = new UsageKeeper({ database, now, log })
    this.recorder = new UsageRecorder({ database, now, log, keeper: this.keeper })
    this.reader = new UsageReader(database, now)
  }

  static async start({ start }: KindOfDatabase): Promise<Stored> {
    const at = await start()
    const database = at.open()
    await migrate(database)
    const stored = new Stored(database, at)
    await stored.keeper.tend()
    return stored
  }

  async empty(): Promise<void> {
    this.now = START
    for (const table of ['minutes', 'days', 'batches', 'instances'])
      await this.database.query(`DELETE FROM sluice.usage_${table}`)
    await this.database.query('DELETE FROM sluice.violations')
  }

  /** Everything of an hour around, by `namespace rule scope value`. */
  async sums(namespace = 'default'): Promise<Record<string, number[]>> {
    const span = this.reader.spanOf({ from: START - 3_600_000, to: START + 3_600_000 })
    const { items } = await this.reader.usage({ namespace }, span, null, 10_000)
    return Object.fromEntries(
      items.map(({ rule, scope, value, allowed, denied, cost }) => [
        [namespace, rule, scope, value].map(String).join(' '),
        [allowed, denied, cost],
      ]),
    )
  }

  async stop(): Promise<void> {
    await this.database.close()
    await this.at.stop()
  }
}
