/** `sluice violations`: who was denied when, by which limit of which rule, on what; also as it happens. */
import { setTimeout as wait } from 'node:timers/promises'
import { quote } from '@sluice/limiter/transport'
import type { Command } from 'commander'
import { UsageError } from '../config.js'
import { type Globals, globalsOf } from './globals.js'
import { type Json, pathOf, ServerClient } from './server-client.js'
import { readSubject } from './subject-arguments.js'
import { type Cell, printTable } from './table.js'
import type { Terminal } from './terminal.js'
import { printTime, readSince } from './times.js'

interface ViolationsOptions {
  readonly follow?: boolean
  readonly subject?: string
  readonly rule?: string
  readonly resource?: string
  readonly from?: string
  readonly to?: string
  readonly limit?: string
}

type Query = Record<string, string | number | undefined>

const EVERY_MS = 1000
/** Counts of a second may still come for so long. */
const OVERLAP_MS = 60_000
const MOST = 1000

export function addViolations(program: Command, terminal: Terminal): void {
  program
    .command('violations')
    .summary('say who was denied when, and by what')
    .description(
      'Says who was denied when, by which limit of which rule, on what, and how often: the last hour unless told otherwise, the newest at the end.',
    )
    .option('--follow', 'go on as it happens, until it is stopped')
    .option('--subject <scope:value>', 'of this subject only')
    .option('--rule <RULE>', 'of this rule only')
    .option('--resource <PATH>', 'on this resource only')
    .option('--from <TIME>', 'from then on: 10:02, a time, or 2h, 7d ago')
    .option('--to <TIME>', 'until then')
    .option('--limit <N>', 'the newest so many; 100 unless given')
    .action(async (options: ViolationsOptions, command: Command) => {
      const globals = globalsOf(command, terminal)
      const client = new ServerClient(globals)
      const query = queryOf(options, globals, Date.now())
      if (options.follow === true) {
        if (options.to !== undefined) throw new UsageError('--to does not go with --follow')
        return follow(client, query, globals, terminal)
      }
      const { body } = await client.ask('GET', pathOf(['violations'], query))
      if (globals.json) return terminal.out(`${JSON.stringify(body)}\n`)
      const items = itemsOf(body).toReversed()
      terminal.out(printTable(items.map(lineOf), terminal))
      const all = Number((body['totals'] as Json | undefined)?.['count'] ?? 0)
      const shown = items.reduce((sum, item) => sum + Number(item['count']), 0)
      if (items.length === 0) terminal.say('Nobody was denied.\n')
      else if (all > shown) terminal.say(`The newest ${shown} of ${all} denials.\n`)
    })
}

function queryOf(options: ViolationsOptions, { namespace }: Globals, now: number): Query {
  const { subject, rule, resource, from, to, limit } = options
  const whom = subject === undefined ? null : readSubject(subject)
  if (
    limit !== undefined &&
    !(/^\d{1,4}$/.test(limit) && Number(limit) >= 1 && Number(limit) <= MOST)
  )
    throw new UsageError(`--limit is ${quote(limit)}; expected a whole number from 1 to ${MOST}`)
  return {
    namespace,
    scope: whom?.scope,
    value: whom?.value,
    rule,
    resource,
    from: from === undefined ? undefined : readSince('--from', from, now),
    to: to === undefined ? undefined : readSince('--to', to, now),
    limit: limit ?? 100,
  }
}

function itemsOf(body: Json): readonly Json[] {
  return Array.isArray(body['items']) ? (body['items'] as readonly Json[]) : []
}

/** What comes, as it comes: a kind of denial again where there were more of it. */
async function follow(
  client: ServerClient,
  query: Query,
  { json }: Globals,
  terminal: Terminal,
): Promise<never> {
  let seen = new Map<string, number>()
  let { from } = query
  for (;;) {
    const asked = Date.now()
    const items: Json[] = []
    const path = pathOf(['violations'], { ...query, from, limit: MOST })
    for await (const item of client.items(path)) items.push(item)
    const now = new Map<string, number>()
    for (const item of items.toReversed()) {
      const { count, ...kind } = item
      const key = JSON.stringify(kind)
      const more = Number(count) - (seen.get(key) ?? 0)
      now.set(key, Number(count))
      if (more <= 0) continue
      const news = { ...item, count: more }
      terminal.out(json ? `${JSON.stringify(news)}\n` : printTable([lineOf(news)], terminal))
    }
    seen = now
    from = new Date(asked - OVERLAP_MS).toISOString()
    await wait(EVERY_MS)
  }
}

function lineOf(item: Json): Cell[] {
  const { at, count, scope, value, rule, resource, limit, reason } = item
  const whom = typeof value === 'string' ? `${String(scope)}:${value}` : `${String(scope)}:*`
  const by = typeof rule === 'string' ? rule : 'a block'
  const cells: Cell[] = [
    String(at).replace(/\.000Z$/, 'Z'),
    printTime(at, Date.now()),
    whom,
    { text: `${String(count)}x`, style: 'red' },
    by,
    typeof limit === 'string' ? limit : '-',
    typeof resource === 'string' ? resource : '-',
  ]
  return reason === 'limited' ? cells : [...cells, String(reason)]
}
