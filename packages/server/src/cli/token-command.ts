/** `sluice token`: who may ask the server what. */
import { quote } from '@sluice/limiter/transport'
import type { Command } from 'commander'
import { UsageError } from '../config.js'
import { isId } from '../control/ids.js'
import { printable } from '../rules-file/print-faults.js'
import { ROLES } from '../security/caller.js'
import { confirm } from './confirm.js'
import { CommandError } from './exit-codes.js'
import { globalsOf } from './globals.js'
import { type Json, pathOf, ServerClient } from './server-client.js'
import { printTable } from './table.js'
import type { Terminal } from './terminal.js'
import { printTime, readUntil } from './times.js'

interface CreateOptions {
  readonly role: string
  readonly for?: string
  readonly forAll?: boolean
  readonly until?: string
}

const MOST = 1000

export function addToken(program: Command, terminal: Terminal): void {
  const token = program
    .command('token')
    .summary('give out, list and revoke tokens')
    .description('Gives out, lists and revokes the tokens that a server lets in.')
    .helpCommand(false)
  addCreate(token, terminal)
  addList(token, terminal)
  addRevoke(token, terminal)
}

function addCreate(token: Command, terminal: Terminal): void {
  token
    .command('create')
    .summary('make a token and show it, once')
    .description(
      'Makes a token and prints it, this once: the server keeps only its hash. Roles: client decides; reader looks; operator also changes subjects, overrides, blocks and counters; admin may do everything.',
    )
    .argument('<NAME>', 'for the list and the audit')
    .requiredOption('--role <ROLE>', ROLES.join(', '))
    .option(
      '--for <NAMESPACE,...>',
      'of these namespaces; that of --namespace, else default, unless given',
    )
    .option('--for-all', 'of all namespaces')
    .option('--until <TIME>', 'when it ends by itself: a time, or 2h, 7d from now')
    .action(async (name: string, options: CreateOptions, command: Command) => {
      const globals = globalsOf(command, terminal)
      const { role, forAll, until } = options
      if (!(ROLES as readonly string[]).includes(role))
        throw new UsageError(`--role is ${quote(role)}; expected ${ROLES.join(', ')}`)
      if (forAll === true && options.for !== undefined)
        throw new UsageError('--for and --for-all; expected one of them')
      const stated = options.for ?? globals.namespace ?? 'default'
      const namespaces = forAll === true ? null : stated.split(',').map((one) => one.trim())
      const expires =
        until === undefined ? {} : { expires_at: readUntil('--until', until, Date.now()) }
      const client = new ServerClient(globals)
      const { body } = await client.ask('POST', pathOf(['tokens']), {
        body: { name, role, namespaces, ...expires },
      })
      if (globals.json) return terminal.out(`${JSON.stringify(body)}\n`)
      terminal.out(`${printable(String(body['token']))}\n`)
      terminal.say(
        `This is ${printable(name)}, ${role} of ${printable(namespaces?.join(', ') ?? 'all namespaces')}. It is not shown again.\n`,
      )
    })
}

function addList(token: Command, terminal: Terminal): void {
  token
    .command('list')
    .summary('list the tokens that are in force')
    .description('Lists the tokens that are in force: what they may do, where, and until when.')
    .action(async (_options: object, command: Command) => {
      const globals = globalsOf(command, terminal)
      const items = await tokensOf(new ServerClient(globals))
      if (globals.json) return terminal.out(`${JSON.stringify({ items })}\n`)
      const now = Date.now()
      const lines = items.map(({ id, name, role, namespaces, expires_at }) => [
        String(id),
        String(name),
        String(role),
        Array.isArray(namespaces) ? namespaces.join(', ') : 'all namespaces',
        expires_at === null ? 'no end' : `ends ${printTime(expires_at, now)}`,
      ])
      terminal.out(printTable(lines, terminal))
      if (items.length === 0) terminal.say('There are none. To make one: sluice token create\n')
    })
}

function addRevoke(token: Command, terminal: Terminal): void {
  token
    .command('revoke')
    .summary('let a token in no more')
    .description(
      'Lets a token in no more, on every instance within a second. Asks first; --yes does not.',
    )
    .argument('<NAME|ID>', 'of the list')
    .action(async (name: string, _options: object, command: Command) => {
      const globals = globalsOf(command, terminal)
      const client = new ServerClient(globals)
      const id = isId(name) ? name : await idOf(client, name)
      await confirm(`Revoke ${printable(name)}?`, globals, terminal)
      await client.ask('DELETE', pathOf(['tokens', id]))
      if (globals.json) terminal.out(`${JSON.stringify({ revoked: id })}\n`)
      else terminal.say(`${printable(name)} is revoked.\n`)
    })
}

async function tokensOf(client: ServerClient): Promise<Json[]> {
  const items: Json[] = []
  for await (const one of client.items(pathOf(['tokens'], { limit: MOST }))) items.push(one)
  return items
}

async function idOf(client: ServerClient, name: string): Promise<string> {
  const named = (await tokensOf(client)).filter((one) => one['name'] === name)
  if (named.length === 1) return String(named[0]!['id'])
  if (named.length === 0)
    throw new CommandError(`There is no token ${printable(name)}. See: sluice token list`)
  const ids = named.map(({ id }) => printable(String(id))).join(', ')
  throw new CommandError(`There are ${named.length} tokens ${printable(name)}; say which: ${ids}`)
}
