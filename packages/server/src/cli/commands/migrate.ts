/** `sluice migrate`: the tables of a database, which `serve` also makes by itself. */
import { UsageError } from '../../config.js'
import { type Database, DatabaseAway, SqlError } from '../../control/database.js'
import { MigrationError, migrate as migrateUp, migrationStatus } from '../../control/migrations.js'
import { openPostgres } from '../../control/postgres.js'
import { printable } from '../../rules-file/print-faults.js'
import { command, group } from '../command.js'
import { CommandError, EXIT } from '../exit-codes.js'
import type { Terminal } from '../terminal.js'
import { printTime } from '../times.js'

const DATABASE = ['--database <URL>', 'postgres://… [SLUICE_DATABASE, DATABASE_URL]'] as const

const up = command('up', {
  summary: 'run the migrations that are missing',
  description:
    'Runs the migrations that are missing, each in a transaction. Any number may try at once.',
  options: [DATABASE],
  run: async ({ options, terminal }) => {
    const ran = await withDatabase(options.database, terminal, (database) => migrateUp(database))
    return {
      json: { ran },
      data: ran.map((name) => [{ text: 'ran', style: 'green' }, name]),
      words: ran.length === 0 ? 'Nothing is missing.' : undefined,
    }
  },
})

const status = command('status', {
  summary: 'list the migrations, and which are missing',
  description:
    'Lists the migrations and when each was run. Changes nothing. Exit 6: one is missing.',
  options: [DATABASE],
  run: async ({ options, terminal, now }) => {
    const all = await withDatabase(options.database, terminal, migrationStatus)
    const migrations = all.map(({ version, name, appliedAt }) => ({
      version,
      name,
      applied_at: appliedAt?.toISOString() ?? null,
    }))
    return {
      json: { migrations },
      data: migrations.map(({ version, name, applied_at: at }) => [
        String(version),
        name,
        at === null ? { text: 'missing', style: 'yellow' } : `ran ${printTime(at, now)}`,
      ]),
      exit: migrations.some(({ applied_at: at }) => at === null) ? EXIT.no : EXIT.yes,
    }
  },
})

async function withDatabase<T>(
  stated: string | undefined,
  { environment }: Terminal,
  work: (database: Database) => Promise<T>,
): Promise<T> {
  const url = stated || environment['SLUICE_DATABASE'] || environment['DATABASE_URL']
  if (!url) throw new UsageError('which database? --database URL, or DATABASE_URL')
  if (!/^postgres(ql)?:\/\//.test(url))
    throw new UsageError('--database cannot be read; expected postgres://user@host/name')
  const database = openPostgres(url)
  try {
    return await work(database)
  } catch (error) {
    if (error instanceof DatabaseAway)
      throw new CommandError(`${database.name}: ${printable(error.message)}`, EXIT.outOfReach)
    if (error instanceof MigrationError || error instanceof SqlError)
      throw new CommandError(`${database.name}: ${printable(error.message)}`)
    throw error
  } finally {
    await database.close()
  }
}

export const migrate = group(
  'migrate',
  "make and look at a database's tables",
  "Makes a database's tables what this version needs, and shows how far they are. `sluice serve` does so by itself when it starts; this is for who wants it done before.",
  [up, status],
)
