/** The `sluice` command. */
import { CommanderError } from 'commander'
import { CommandError, EXIT } from './cli/exit-codes.js'
import { programOf } from './cli/program.js'
import { terminalOf } from './cli/terminal.js'
import { UsageError } from './config.js'

async function main(): Promise<void> {
  const terminal = terminalOf(process, !process.argv.includes('--no-color'))
  try {
    await programOf(terminal).parseAsync()
  } catch (error) {
    if (error instanceof CommanderError) {
      process.exitCode = error.exitCode === 0 ? EXIT.yes : EXIT.usage
      return
    }
    const message = error instanceof Error ? error.message : String(error)
    const isWords = error instanceof UsageError || error instanceof CommandError
    terminal.say(isWords ? `${message}\n` : `Sluice failed: ${message}\n`)
    process.exitCode = exitCodeOf(error)
  }
}

function exitCodeOf(error: unknown): number {
  if (error instanceof UsageError) return EXIT.usage
  return error instanceof CommandError ? error.exitCode : EXIT.failed
}

void main()
