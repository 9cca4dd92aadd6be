/** `sluice rules`: the group of what is done with rules. */
import type { Command } from 'commander'
import type { SetExitCode } from './exit-codes.js'
import { addFmt } from './rules-fmt-command.js'
import { addValidate } from './rules-validate-command.js'
import type { Terminal } from './terminal.js'

export function addRules(program: Command, terminal: Terminal, setExitCode: SetExitCode): void {
  const rules = program
    .command('rules')
    .summary('check and format rules files')
    .description('Checks and formats rules files.')
    .helpCommand(false)
  addValidate(rules, terminal, setExitCode)
  addFmt(rules, terminal, setExitCode)
}
