/** The `sluice` command. */
import { runCommand } from './cli/program.js'
import { terminalOf } from './cli/terminal.js'

// Whoever reads only the first lines has all that was wanted.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit()
  throw error
})

async function main(): Promise<void> {
  const terminal = terminalOf(process, !process.argv.includes('--no-color'))
  process.exitCode = await runCommand(process.argv.slice(2), terminal)
}

void main()
