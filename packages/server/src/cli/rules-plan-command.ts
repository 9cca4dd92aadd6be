/** `sluice rules plan`: what would change on a server if a rules file were applied. */
import type { Command } from 'commander'
import { printable } from '../rules-file/print-faults.js'
import { EXIT, type SetExitCode } from './exit-codes.js'
import { globalsOf } from './globals.js'
import { countChanges, printPlan } from './plan.js'
import { putDocument, readDocument, servedDocument } from './rules-document.js'
import { ServerClient } from './server-client.js'
import type { Terminal } from './terminal.js'

export function addPlan(rules: Command, terminal: Terminal, setExitCode: SetExitCode): void {
  rules
    .command('plan')
    .summary('say what applying a rules file would change')
    .description(
      'Says what would change on the server if this file were applied, and whether what subjects have used carries over. Changes nothing. Exit 6: something would change.',
    )
    .argument('[FILE]', 'sluice.yaml unless given; - is stdin')
    .action(async (file: string | undefined, _options: object, command: Command) => {
      const globals = globalsOf(command, terminal)
      const wanted = await readDocument(file, globals, terminal)
      const client = new ServerClient(globals)
      const { etag } = await servedDocument(client, wanted.namespace)
      const { changes, body } = await putDocument(client, wanted, etag, true)
      if (globals.json) terminal.out(`${JSON.stringify(body)}\n`)
      else terminal.out(printPlan(changes, terminal))
      if (changes.length > 0) setExitCode(EXIT.no)
      if (globals.json) return
      if (changes.length === 0) terminal.say('Nothing would change.\n')
      else
        terminal.say(
          `${countChanges(changes)}. To apply: sluice rules apply ${printable(wanted.name)}\n`,
        )
    })
}
