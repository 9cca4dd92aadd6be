/** `sluice rules apply`: makes a server's rules those of a file, all of them or none. */
import type { Command } from 'commander'
import { printable } from '../rules-file/print-faults.js'
import { confirm } from './confirm.js'
import { globalsOf } from './globals.js'
import { countChanges, printPlan } from './plan.js'
import { putDocument, readDocument, servedDocument } from './rules-document.js'
import { ServerClient } from './server-client.js'
import type { Terminal } from './terminal.js'

export function addApply(rules: Command, terminal: Terminal): void {
  rules
    .command('apply')
    .summary("make a server's rules those of a file")
    .description(
      "Makes the server's rules those of this file, all or nothing: what the file does not have is taken away. Shows the plan first and asks; --yes does not ask. Somebody else's change in between is never overwritten.",
    )
    .argument('[FILE]', 'sluice.yaml unless given; - is stdin')
    .action(async (file: string | undefined, _options: object, command: Command) => {
      const globals = globalsOf(command, terminal)
      const wanted = await readDocument(file, globals, terminal)
      const client = new ServerClient(globals)
      const { etag } = await servedDocument(client, wanted.namespace)
      const planned = await putDocument(client, wanted, etag, true)
      if (!globals.json) terminal.out(printPlan(planned.changes, terminal))
      if (planned.changes.length === 0) {
        if (globals.json) terminal.out(`${JSON.stringify(planned.body)}\n`)
        else terminal.say('Nothing to change.\n')
        return
      }
      await confirm(`Apply ${countChanges(planned.changes)} to ${client.name}?`, globals, terminal)
      const { body, changes } = await putDocument(client, wanted, etag, false)
      if (globals.json) terminal.out(`${JSON.stringify(body)}\n`)
      else
        terminal.say(
          `Applied ${countChanges(changes)}: revision ${printable(String(body['revision']))}.\n`,
        )
    })
}
