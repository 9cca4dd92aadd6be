/** `sluice subject show`: the limits that hold for a subject, why, and what is left of each. */
import type { Command } from 'commander'
import { globalsOf } from './globals.js'
import { readRequest } from './request-arguments.js'
import { type Json, pathOf, ServerClient } from './server-client.js'
import { readSubject } from './subject-arguments.js'
import { type Cell, printTable } from './table.js'
import type { Terminal } from './terminal.js'
import { printTime } from './times.js'

interface WireLimit extends Json {
  readonly rule: string
  readonly limit: string
  readonly remaining: number | null
  readonly limit_total: number
  readonly unit: string
  readonly shadow: boolean
  readonly why: string
  readonly override: { readonly until: string | null; readonly reason: string | null } | null
}

export function addShow(subject: Command, terminal: Terminal): void {
  subject
    .command('show')
    .summary('show the limits that hold for a subject')
    .description(
      'Shows the limits that hold for a subject, why each does, and what is left of it now. Counts nothing.',
    )
    .usage('<scope:value> [METHOD] [/path] [options]')
    .argument('<scope:value>', 'whose, such as user:42')
    .argument('[METHOD /path...]', 'of a request for this, such as GET /v1/search')
    .action(async (text: string, words: string[], _options: object, command: Command) => {
      const globals = globalsOf(command, terminal)
      const { scope, value } = readSubject(text)
      const { resource, method } = readRequest([text, ...words], {}) as Record<string, string>
      const client = new ServerClient(globals)
      const query = { namespace: globals.namespace, resource, method }
      const { body } = await client.ask('GET', pathOf(['subjects', scope, value, 'limits'], query))
      if (globals.json) terminal.out(`${JSON.stringify(body)}\n`)
      else print(body, text, terminal)
    })
}

function print(body: Json, text: string, terminal: Terminal): void {
  const limits = (Array.isArray(body['limits']) ? body['limits'] : []) as WireLimit[]
  const state: Cell[] = [text]
  if (body['blocked'] === true) state.push({ text: 'BLOCKED', style: 'red' })
  if (body['exempt'] === true) state.push({ text: 'exempt from all rules', style: 'green' })
  if (typeof body['tier'] === 'string') state.push(`tier ${body['tier']}`)
  if (state.length === 1) state.push(limits.length === 0 ? 'no rule applies' : 'no tier')
  terminal.out(printTable([state], terminal))
  const now = Date.now()
  terminal.out(
    printTable(
      limits.map((limit) => lineOf(limit, now)),
      terminal,
      { indent: '  ' },
    ),
  )
}

function lineOf(one: WireLimit, now: number): Cell[] {
  const { rule, limit, remaining, limit_total, unit, shadow, why, override } = one
  const left = remaining === null ? '-' : `${remaining} of ${limit_total} left`
  const counted = unit === 'requests' ? left : `${left} (${unit})`
  return [rule, limit, counted, `${overrideWords(override, now) ?? why}${shadow ? '; shadow' : ''}`]
}

/** Null where the rule's own limits hold. */
function overrideWords(override: WireLimit['override'], now: number): string | null {
  if (override === null || override === undefined) return null
  const { until, reason } = override
  const end = until === null ? '' : `, ends ${printTime(until, now)}`
  return `an override${end}${reason === null ? '' : `: ${reason}`}`
}
