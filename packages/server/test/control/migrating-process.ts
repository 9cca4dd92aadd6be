/** A process that migrates a PostgreSQL database: its address is the argument. It says what it ran. */
import { migrate } from '../../src/control/migrations.js'
import { openPostgres } from '../../src/control/postgres.js'

async function run(url: string): Promise<void> {
  const database = openPostgres(url)
  console.log((await migrate(database)).join(' '))
  await database.close()
}

void run(process.argv[2]!)
