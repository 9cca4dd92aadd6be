/** `sluice violations`: who was denied when, by which limit of which rule, on what; also as it happens. */
import { setTimeout as wait } from 'node:timers/promises'
import { UsageError } from '../../config.js'
import { command } from '../command.js'
import type { ItemOf, QueryOf } from '../operation.js'
import { readSubject } from '../request-arguments.js'
import type { ServerClient } from '../server-client.js'
import type { Cell } from '../table.js'
import { printTime } from '../times.js'

type Violation = ItemOf<'violations'>

const EVERY_MS = 1000
/** Counts of a second may still come for so long. */
const OVERLAP_MS = 60_000

export const violations = command('violations', {
  operation: 'violations',
  summary: 'say who was denied when, and by what',
  description:
    'Says who was denied when, by which limit of which rule, on what, and how often: the last hour unless told otherwise, the newest at the end.',
  options: [
    ['--follow', 'go on as it happens, until it is stopped'],
    ['--subject <scope:value>', 'only of this subject'],
  ],
  query: {
    rule: true,
    resource: true,
    from: 'from then on: 10:02, a time, or 2h, 7d ago',
    to: 'until then',
    limit: 'the newest so many; 100 unless given',
  },
  run: async ({ options: { follow, subject }, query: stated, client, terminal, globals, show }) => {
    const query = subject === undefined ? stated : { ...stated, ...readSubject(subject) }
    if (follow === true) {
      if (query.to !== undefined) throw new UsageError('--to does not go with --follow')
      for await (const news of newsOf(client, query)) {
        if (globals.json) terminal.out(`${JSON.stringify(news)}\n`)
        show({ data: [columnsOf(news)] })
      }
    }
    const { body } = await client.call('violations', { query })
    const items = body.items.toReversed()
    const shown = items.reduce((sum, { count }) => sum + count, 0)
    const all = body.totals.count
    const words = all > shown ? `The newest ${shown} of ${all} denials.` : undefined
    const data = items.map(columnsOf)
    return { json: body, data, words: items.length === 0 ? 'Nobody was denied.' : words }
  },
})

/** What comes, as it comes: a kind of denial again where there were more of it. */
async function* newsOf(
  client: ServerClient<'violations'>,
  query: QueryOf<'violations'>,
): AsyncIterableIterator<Violation> {
  let seen = new Map<string, number>()
  let { from } = query
  for (;;) {
    const asked = Date.now()
    const items = await client.list('violations', { query: { ...query, from, limit: undefined } })
    const now = new Map<string, number>()
    for (const item of items.toReversed()) {
      const { count, ...kind } = item
      const key = JSON.stringify(kind)
      const more = count - (seen.get(key) ?? 0)
      now.set(key, count)
      if (more > 0) yield { ...item, count: more }
    }
    seen = now
    from = new Date(asked - OVERLAP_MS).toISOString()
    await wait(EVERY_MS)
  }
}

function columnsOf(item: Violation): Cell[] {
  const { at, count, scope, value, rule, resource, limit, reason } = item
  const cells: Cell[] = [
    at.replace(/\.000Z$/, 'Z'),
    printTime(at, Date.now()),
    `${scope}:${value ?? '*'}`,
    { text: `${count}x`, style: 'red' },
    rule ?? 'a block',
    limit ?? '-',
    resource ?? '-',
  ]
  return reason === 'limited' ? cells : [...cells, reason]
}
