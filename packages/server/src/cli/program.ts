/** The tree of commands, and how one command line is run. */
import { Command, CommanderError } from 'commander'
import { UsageError } from '../config.js'
import { printable } from '../rules-file/print-faults.js'
import { VERSION } from '../version.js'
import { bench } from './commands/bench.js'
import { check, explain } from './commands/check.js'
import { completion } from './commands/completion.js'
import { doctor } from './commands/doctor.js'
import { help } from './commands/help.js'
import { init } from './commands/init.js'
import { migrate } from './commands/migrate.js'
import { rules } from './commands/rules.js'
import { serve, sidecar } from './commands/serve.js'
import { subject } from './commands/subject.js'
import { token } from './commands/token.js'
import { violations } from './commands/violations.js'
import { CommandError, EXIT, type SetExitCode } from './exit-codes.js'
import { addGlobals } from './globals.js'
import type { Terminal } from './terminal.js'

/** In the order of the help. */
const COMMANDS = [
  init,
  serve,
  sidecar,
  check,
  explain,
  rules,
  subject,
  violations,
  token,
  migrate,
  doctor,
  bench,
  completion,
  help,
]

export function programOf(terminal: Terminal, setExitCode: SetExitCode): Command {
  const program = new Command('sluice')
    .description('Decides, for every request an API receives, whether it may pass now.')
    .version(VERSION, '-V, --version', 'the version')
    .helpOption('-h, --help', 'this text')
    .helpCommand(false)
    .configureHelp({ showGlobalOptions: true, subcommandTerm: termOf })
    .exitOverride()
    .configureOutput({
      writeOut: (text) => terminal.out(text),
      writeErr: (text) => terminal.say(text),
      getOutHelpWidth: () => terminal.width,
      getErrHelpWidth: () => terminal.width,
      outputError: (text, write) => write(inOurWords(text)),
    })
  addGlobals(program)
  for (const addTo of COMMANDS) addTo(program, { terminal, setExitCode })
  program.addHelpText(
    'after',
    `
Exit codes: 0 yes, 1 failed, 2 usage, 3 invalid rules, 4 not authorised, 5 out of reach, 6 no.
New here: sluice init, then sluice serve --dev`,
  )
  return program
}

/** Commands of a command, one beside the other, are named while they are few. */
const LONGEST_TERM = 20

/** A command in the list of its parent's: with what it takes, or with its own commands. */
function termOf(command: Command): string {
  const names = command.commands.map((one) => one.name()).join('|')
  const own = names.length > LONGEST_TERM ? '<command>' : names
  const words = command.registeredArguments.map((argument) => {
    const name = argument.variadic ? `${argument.name()}...` : argument.name()
    return argument.required ? `<${name}>` : `[${name}]`
  })
  return [command.name(), ...(own === '' ? words : [own])].join(' ')
}

/** `error: unknown option '--prot'` and its guess, as one sentence of ours. */
function inOurWords(text: string): string {
  const words = text.trim().replace(/^error: /, '')
  const [said = '', guess] = words.split('\n')
  const sentence = said.charAt(0).toUpperCase() + said.slice(1).replace(/\.$/, '')
  const meant = guess === undefined ? '.' : `. ${guess.replace(/^\(|\)$/g, '')}`
  return `${printable(sentence)}${printable(meant)}\n`
}

/** Runs one command line to its exit code. Whatever goes wrong is said in words; there are no stacks. */
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
