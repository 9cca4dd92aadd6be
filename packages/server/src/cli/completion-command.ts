/** `sluice completion`: a script for a shell, made from the tree of commands as it is. */
import { list, nearest, quote } from '@sluice/limiter/transport'
import type { Command } from 'commander'
import { UsageError } from '../config.js'
import { treeOf } from './completion/command-tree.js'
import { completionScript, SHELLS } from './completion/scripts.js'
import type { Terminal } from './terminal.js'

export function addCompletion(program: Command, terminal: Terminal): void {
  program
    .command('completion')
    .summary('print a completion script for a shell')
    .description('Prints a script that completes sluice. Load it: source <(sluice completion bash)')
    .argument('<bash|zsh|fish>', 'the shell')
    .action((word: string) => {
      const shell = SHELLS.find((known) => known === word)
      if (shell !== undefined) return terminal.out(completionScript(shell, treeOf(program)))
      const near = nearest(word, SHELLS)
      const guess = near === undefined ? '' : ` Did you mean ${near}?`
      throw new UsageError(`No script for ${quote(word)}; expected ${list(SHELLS)}.${guess}`)
    })
}
