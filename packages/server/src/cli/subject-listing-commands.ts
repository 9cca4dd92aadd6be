/** `sluice subject block` and `exempt`: the lists that decide before any rule. */
import type { Command } from 'commander'
import { printable } from '../rules-file/print-faults.js'
import { EXIT, type SetExitCode } from './exit-codes.js'
import { type Globals, globalsOf } from './globals.js'
import { pathOf, ServerClient } from './server-client.js'
import { readSubject, type SubjectArgument } from './subject-arguments.js'
import {
  type ChangeOptions,
  endAndReason,
  ending,
  REASON,
  refuseBoth,
  UNTIL,
} from './subject-change-commands.js'
import type { Terminal } from './terminal.js'

const LISTS = {
  block: {
    path: 'blocks',
    is: 'blocked',
    summary: 'refuse a subject before any rule is asked',
  },
  exempt: {
    path: 'exemptions',
    is: 'exempt',
    summary: 'let a subject through all rules',
  },
} as const

const MOST = 1000

export function addListing(
  subject: Command,
  name: keyof typeof LISTS,
  terminal: Terminal,
  setExitCode: SetExitCode,
): void {
  const { path, is, summary } = LISTS[name]
  subject
    .command(name)
    .summary(summary)
    .description(
      `${name === 'block' ? 'Refuses a subject before any rule is asked' : 'Lets a subject through all rules'}, until a time. A value of ip may be a network: ip:198.51.100.0/24.`,
    )
    .argument('<scope:value>', 'whom, such as user:42')
    .option(...UNTIL)
    .option(...REASON)
    .option('--remove', 'take it off the list. Exit 6: it is not on it')
    .action(async (text: string, options: ChangeOptions, command: Command) => {
      const globals = globalsOf(command, terminal)
      const whom = readSubject(text)
      const client = new ServerClient(globals)
      refuseBoth(options.remove, [options.until, options.reason])
      if (options.remove === true) {
        const count = await removeAll(client, path, whom, globals)
        if (globals.json) terminal.out(`${JSON.stringify({ removed: count })}\n`)
        else
          terminal.say(
            `${printable(text)} ${count === 0 ? 'is' : 'is no longer'} ${count === 0 ? `not ${is}` : is}.\n`,
          )
        if (count === 0) setExitCode(EXIT.no)
        return
      }
      const { scope, value } = whom
      const fields = { scope, value, ...endAndReason(options, Date.now()) }
      const where = pathOf([path], { namespace: globals.namespace })
      const { body } = await client.ask('POST', where, { body: fields })
      if (globals.json) terminal.out(`${JSON.stringify(body)}\n`)
      else terminal.say(`${printable(text)} is ${is}${ending(body)}.\n`)
    })
}

/** Somebody may be on a list several times, with several reasons. */
async function removeAll(
  client: ServerClient,
  list: string,
  { scope, value }: SubjectArgument,
  { namespace }: Globals,
): Promise<number> {
  const ids: string[] = []
  for await (const item of client.items(pathOf([list], { namespace, limit: MOST })))
    if (item['scope'] === scope && item['value'] === value) ids.push(String(item['id']))
  for (const id of ids) await client.ask('DELETE', pathOf([list, id]))
  return ids.length
}
