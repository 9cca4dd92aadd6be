/** The tree of commands. Each adds itself; what they share is said here once. */
import { Command } from 'commander'
import { printable } from '../rules-file/print-faults.js'
import { VERSION } from '../version.js'
import { addBench } from './bench-command.js'
import { addCheck } from './check-command.js'
import { addCompletion } from './completion-command.js'
import { addDoctor } from './doctor-command.js'
import type { SetExitCode } from './exit-codes.js'
import { addExplain } from './explain-command.js'
import { addGlobals } from './globals.js'
import { addHelp } from './help-command.js'
import { addInit } from './init-command.js'
import { addMigrate } from './migrate-command.js'
import { addRules } from './rules-command.js'
import { addServe } from './serve-command.js'
import { addSidecar } from './sidecar-command.js'
import { addSubject } from './subject-command.js'
import type { Terminal } from './terminal.js'
import { addToken } from './token-command.js'
import { addViolations } from './violations-command.js'

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
  addInit(program, terminal)
  addServe(program, terminal)
  addSidecar(program, terminal)
  addCheck(program, terminal, setExitCode)
  addExplain(program, terminal, setExitCode)
  addRules(program, terminal, setExitCode)
  addSubject(program, terminal, setExitCode)
  addViolations(program, terminal)
  addToken(program, terminal)
  addMigrate(program, terminal, setExitCode)
  addDoctor(program, terminal, setExitCode)
  addBench(program, terminal)
  addCompletion(program, terminal)
  addHelp(program, terminal)
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
