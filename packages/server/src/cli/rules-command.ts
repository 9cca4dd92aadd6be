/** `sluice rules`: the group of what is done with rules. */
import type { Command } from 'commander'
import type { SetExitCode } from './exit-codes.js'
import { addApply } from './rules-apply-command.js'
import { addDiff } from './rules-diff-command.js'
import { addExport } from './rules-export-command.js'
import { addFmt } from './rules-fmt-command.js'
import { addHistory, addRollback } from './rules-history-command.js'
import { addList } from './rules-list-command.js'
import { addPlan } from './rules-plan-command.js'
import { addValidate } from './rules-validate-command.js'
import type { Terminal } from './terminal.js'

export function addRules(program: Command, terminal: Terminal, setExitCode: SetExitCode): void {
  const rules = program
    .command('rules')
    .summary('check rules files, and move them to and from a server')
    .description('Checks and formats rules files, and moves rules between files and a server.')
    .helpCommand(false)
  addValidate(rules, terminal, setExitCode)
  addFmt(rules, terminal, setExitCode)
  addPlan(rules, terminal, setExitCode)
  addDiff(rules, terminal, setExitCode)
  addApply(rules, terminal)
  addExport(rules, terminal)
  addList(rules, terminal)
  addHistory(rules, terminal)
  addRollback(rules, terminal)
}
