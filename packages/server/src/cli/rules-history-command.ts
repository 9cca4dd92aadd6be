/** `sluice rules history` and `rollback`: every version that a rule had, and back to one of them. */

import { quote } from '@sluice/limiter/transport'
import type { Command } from 'commander'
import { UsageError } from '../config.js'
import { isId } from '../control/ids.js'
import { printable } from '../rules-file/print-faults.js'
import { confirm } from './confirm.js'
import { CommandError } from './exit-codes.js'
import { type Globals, globalsOf } from './globals.js'
import { printPlan } from './plan.js'
import { limitsText } from './rules-list-command.js'
import { type Json, pathOf, ServerClient } from './server-client.js'
import { printTable } from './table.js'
import type { Terminal } from './terminal.js'
import { printTime } from './times.js'

const MOST = 1000

interface Version extends Json {
  readonly version: number
  readonly at: string
  readonly actor: string
  readonly deleted: boolean
  readonly rule: Json
}

export function addHistory(rules: Command, terminal: Terminal): void {
  rules
    .command('history')
    .summary('list every version that a rule had')
    .description('Lists every version that a rule had: when, by whom, and its limits.')
    .argument('<NAME>', "the rule's name; its id where it is gone")
    .action(async (name: string, _options: object, command: Command) => {
      const globals = globalsOf(command, terminal)
      const client = new ServerClient(globals)
      const items = await versionsOf(client, await idOf(client, name, globals))
      if (globals.json) return terminal.out(`${JSON.stringify({ items })}\n`)
      const now = Date.now()
      const lines = items.map(({ version, at, actor, deleted, rule }) => [
        String(version),
        printTime(at, now),
        actor,
        deleted ? { text: 'deleted', style: 'red' as const } : limitsText(rule),
      ])
      terminal.out(printTable(lines, terminal))
    })
}

export function addRollback(rules: Command, terminal: Terminal): void {
  rules
    .command('rollback')
    .summary('bring back an earlier version of a rule')
    .description(
      'Brings back an earlier version of a rule, as a new version. Shows what changes first and asks; --yes does not ask.',
    )
    .argument('<NAME>', "the rule's name; its id where it is gone")
    .argument('[VERSION]', 'of the history; the one before the last unless given')
    .action(
      async (name: string, stated: string | undefined, _options: object, command: Command) => {
        const globals = globalsOf(command, terminal)
        const client = new ServerClient(globals)
        const id = await idOf(client, name, globals)
        const [newest, ...older] = await versionsOf(client, id)
        const wanted = wantedOf(stated, older)
        if (newest === undefined || wanted === undefined)
          throw new CommandError(`${printable(name)} has no such version to go back to.`)
        if (!globals.json) terminal.out(printPlan([changeOf(newest, wanted)], terminal))
        await confirm(`Bring back version ${printable(String(wanted.version))}?`, globals, terminal)
        const { body } = await client.ask('POST', pathOf(['rules', id, 'rollback']), {
          body: { version: wanted.version },
          ifMatch: `"${newest.version}"`,
        })
        if (globals.json) terminal.out(`${JSON.stringify(body)}\n`)
        else
          terminal.say(
            `${printable(name)} is as it was in version ${printable(String(wanted.version))}; that is version ${printable(String(body['version']))}.\n`,
          )
      },
    )
}

function wantedOf(stated: string | undefined, older: readonly Version[]): Version | undefined {
  if (stated === undefined) return older.find(({ deleted }) => !deleted)
  if (!/^\d{1,9}$/.test(stated))
    throw new UsageError(`the version is ${quote(stated)}; expected a number of the history`)
  return older.find(({ version, deleted }) => version === Number(stated) && !deleted)
}

function changeOf(newest: Version, wanted: Version) {
  const { name } = wanted.rule
  const base = { what: 'rule', name: String(name), after: limitsText(wanted.rule), counters: null }
  return newest.deleted
    ? { ...base, change: 'added', before: null }
    : { ...base, change: 'changed', before: limitsText(newest.rule) }
}

/** Rules are asked for by id; people know names. */
async function idOf(client: ServerClient, name: string, { namespace }: Globals): Promise<string> {
  if (isId(name)) return name
  const path = pathOf(['rules'], { namespace, limit: MOST })
  for await (const rule of client.items(path)) if (rule['name'] === name) return String(rule['id'])
  throw new CommandError(
    `There is no rule ${printable(name)}. See: sluice rules list. What was deleted has its id in the audit.`,
  )
}

async function versionsOf(client: ServerClient, id: string): Promise<Version[]> {
  const versions: Version[] = []
  const path = pathOf(['rules', id, 'history'], { limit: MOST })
  for await (const version of client.items(path)) versions.push(version as Version)
  return versions
}
