/** `sluice token`: who may ask the server what. */
import { ROLES } from '@sluice/contract'
import { quote } from '@sluice/limiter/transport'
import { UsageError } from '../../config.js'
import { isId } from '../../control/ids.js'
import { printable } from '../../rules-file/print-faults.js'
import { command, group } from '../command.js'
import { CommandError } from '../exit-codes.js'
import type { ServerClient } from '../server-client.js'
import { printTime, readUntil } from '../times.js'

const create = command('create', {
  operation: 'createToken',
  summary: 'make a token and show it, once',
  description:
    'Makes a token and prints it, this once: the server keeps only its hash. Roles: client decides; reader looks; operator also changes subjects, overrides, blocks and counters; admin may do everything.',
  arguments: [['<NAME>', 'for the list and the audit']],
  options: [
    ['--role <ROLE>', ROLES.join(', '), { isRequired: true }],
    [
      '--for <NAMESPACE,...>',
      'of these namespaces; that of --namespace, else default, unless given',
    ],
    ['--for-all', 'of all namespaces'],
    ['--until <TIME>', 'when it ends by itself: a time, or 2h, 7d from now'],
  ],
  ask: ({ args: [name], options, globals, now }) => {
    const { forAll, until } = options
    const role = ROLES.find((known) => known === options.role)
    if (role === undefined)
      throw new UsageError(`--role is ${quote(options.role)}; expected ${ROLES.join(', ')}`)
    if (forAll === true && options.for !== undefined)
      throw new UsageError('--for and --for-all; expected one of them')
    const stated = options.for ?? globals.namespace ?? 'default'
    const namespaces = forAll === true ? null : stated.split(',').map((one) => one.trim())
    const expires = until === undefined ? {} : { expires_at: readUntil('--until', until, now) }
    return { body: { name, role, namespaces, ...expires } }
  },
  show: ({ token, name, role, namespaces }) => ({
    data: [[token]],
    words: `This is ${name}, ${role} of ${namespaces?.join(', ') ?? 'all namespaces'}. It is not shown again.`,
  }),
})

const list = command('list', {
  operation: 'listTokens',
  summary: 'list the tokens that are in force',
  description: 'Lists the tokens that are in force: what they may do, where, and until when.',
  columns: ({ id, name, role, namespaces, expires_at: end }, { now }) => [
    id,
    name,
    role,
    namespaces?.join(', ') ?? 'all namespaces',
    end === null ? 'no end' : `ends ${printTime(end, now)}`,
  ],
  empty: 'There are none. To make one: sluice token create',
})

const revoke = command('revoke', {
  operation: 'revokeToken',
  also: ['listTokens'],
  summary: 'let a token in no more',
  description:
    'Lets a token in no more, on every instance within a second. Asks first; --yes does not.',
  arguments: [['<NAME|ID>', 'of the list']],
  run: async ({ args: [name], client, confirm }) => {
    const id = isId(name) ? name : await idOf(client, name)
    await confirm(`Revoke ${name}?`)
    await client.call('revokeToken', { params: { id } })
    return { json: { revoked: id }, words: `${name} is revoked.` }
  },
})

async function idOf(client: ServerClient<'listTokens'>, name: string): Promise<string> {
  const [first, ...others] = (await client.list('listTokens')).filter((one) => one.name === name)
  if (first === undefined)
    throw new CommandError(`There is no token ${printable(name)}. See: sluice token list`)
  if (others.length === 0) return first.id
  const ids = [first, ...others].map(({ id }) => printable(id))
  throw new CommandError(
    `There are ${ids.length} tokens ${printable(name)}; say which: ${ids.join(', ')}`,
  )
}

export const token = group(
  'token',
  'give out, list and revoke tokens',
  'Gives out, lists and revokes the tokens that a server lets in.',
  [create, list, revoke],
)
