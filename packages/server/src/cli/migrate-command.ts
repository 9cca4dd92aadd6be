/** `sluice migrate`: the tables of a database, which `serve` also makes by itself. */
import type { Command } from 'commander'
import { UsageError } from '../config.js'
import { type Database, DatabaseAway, SqlError } from '../control/database.js'
import { MigrationError, migrate, migrationStatus } from '../control/migrations.js'
import { openPostgres } from '../control/postgres.js'
import { printable } from '../rules-file/print-faults.js'
import { CommandError, EXIT, type SetExitCode } from './exit-codes.js'
import { globalsOf } from './globals.js'
import { printTable } from './table.js'
import type { Terminal } from './terminal.js'
import { printTime } from './times.js'

interface DatabaseOptions {
  readonly database?: string
}

const DATABASE = ['--database <URL>', 'postgres://… [SLUICE_DATABASE, DATABASE_URL]'] as const

export function addMigrate(program: Command, terminal: Terminal, setExitCode: SetExitCode): void {
  const group = program
    .command('migrate')
    .summary("make and look at a database's tables")
    .description(
      "Makes a database's tables what this version needs, and shows how far they are. `sluice serve` does so by itself when it starts; this is for who wants it done before.",
    )
    .helpCommand(false)
  group
    .command('up')
    .summary('run the migrations that are missing')
    .description(
      'Runs the migrations that are missing, each in a transaction. Any number may try at once.',
    )
    .option(...DATABASE)
    .action(async (options: DatabaseOptions, command: Command) => {
      const { json } = globalsOf(command, terminal)
      const ran = await withDatabase(options, terminal, (database) => migrate(database))
      if (json) return terminal.out(`${JSON.stringify({ ran })}\n`)
      terminal.out(
        printTable(
          ran.map((name) => [{ text: 'ran', style: 'green' }, name]),
          terminal,
        ),
      )
      if (ran.length === 0) terminal.say('Nothing is missing.\n')
    })
  group
    .command('status')
    .summary('list the migrations, and which are missing')
    .description(
      'Lists the migrations and when each was run. Changes nothing. Exit 6: one is missing.',
    )
    .option(...DATABASE)
    .action(async (options: DatabaseOptions, command: Command) => {
      const { json } = globalsOf(command, terminal)
      const all = await withDatabase(options, terminal, (database) => migrationStatus(database))
      const now = Date.now()
      if (json)
        terminal.out(
          `${JSON.stringify({
            migrations: all.map(({ version, name, appliedAt }) => ({
              version,
              name,
              applied_at: appliedAt?.toISOString() ?? null,
            })),
          })}\n`,
        )
      else
        terminal.out(
          printTable(
            all.map(({ version, name, appliedAt }) => [
              String(version),
              name,
              appliedAt === null
                ? { text: 'missing', style: 'yellow' as const }
                : `ran ${printTime(appliedAt.toISOString(), now)}`,
            ]),
            terminal,
          ),
        )
      if (all.some(({ appliedAt }) => appliedAt === null)) setExitCode(EXIT.no)
    })
}

async function withDatabase<T>(
  { database: stated }: DatabaseOptions,
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
