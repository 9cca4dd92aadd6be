/** Runs one command line to its exit code. Whatever goes wrong is said in words; there are no stacks. */
import { CommanderError } from 'commander'
import { UsageError } from '../config.js'
import { printable } from '../rules-file/print-faults.js'
import { CommandError, EXIT } from './exit-codes.js'
import { programOf } from './program.js'
import type { Terminal } from './terminal.js'

/** `args` are those behind the command's own name. */
export async function runCommand(args: readonly string[], terminal: Terminal): Promise<number> {
  let exitCode: number = EXIT.yes
  const program = programOf(terminal, (code) => {
    exitCode = code
  })
  try {
    await program.parseAsync(args, { from: 'user' })
    return exitCode
  } catch (error) {
    // Commander has said it already.
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.yes : EXIT.usage
    const message = error instanceof Error ? error.message : String(error)
    const words = message.split('\n').map(printable).join('\n')
    if (error instanceof UsageError) return say(`${words}\n`, EXIT.usage)
    if (error instanceof CommandError) return say(`${message}\n`, error.exitCode)
    return say(`Sluice failed: ${words}\n`, EXIT.failed)
  }

  function say(words: string, code: number): number {
    terminal.say(words)
    return code
  }
}
