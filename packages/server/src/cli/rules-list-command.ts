/** `sluice rules list`: the rules that a server has. */
import type { Command } from 'commander'
import { globalsOf } from './globals.js'
import { type Json, pathOf, ServerClient } from './server-client.js'
import { type Cell, printTable } from './table.js'
import type { Terminal } from './terminal.js'

interface ListOptions {
  readonly scope?: string
  readonly resource?: string
}

const MOST = 1000

export function addList(rules: Command, terminal: Terminal): void {
  rules
    .command('list')
    .summary('list the rules of a server')
    .description(
      'Lists the rules of the server: name, whom it is for, what it is about, its limits.',
    )
    .option('--scope <SCOPE>', 'of this scope only')
    .option('--resource <PATTERN>', 'of exactly this resource only')
    .action(async ({ scope, resource }: ListOptions, command: Command) => {
      const globals = globalsOf(command, terminal)
      const client = new ServerClient(globals)
      const query = { namespace: globals.namespace, scope, resource, limit: MOST }
      const items: Json[] = []
      for await (const rule of client.items(pathOf(['rules'], query))) items.push(rule)
      if (globals.json) terminal.out(`${JSON.stringify({ items })}\n`)
      else terminal.out(printTable(items.map(lineOf), terminal))
      if (items.length === 0 && !globals.json) terminal.say('There are no rules.\n')
    })
}

function lineOf(rule: Json): Cell[] {
  const { name, scope, value, resource, methods } = rule
  const whom = typeof value === 'string' ? `${String(scope)}:${value}` : String(scope)
  const what = Array.isArray(methods)
    ? `${methods.join('|')} ${String(resource)}`
    : String(resource)
  const notes = notesOf(rule)
  const cells = [String(name), whom, what, limitsText(rule)]
  return notes === '' ? cells : [...cells, notes]
}

export function limitsText({ limits }: Json): string {
  return Array.isArray(limits) ? limits.join(', ') : String(limits)
}

/** What is not as it usually is. */
function notesOf({ enabled, shadow, additive, rollout, unit }: Json): string {
  return [
    enabled === false ? 'disabled' : '',
    shadow === true ? 'shadow' : '',
    additive === true ? 'additive' : '',
    typeof rollout === 'number' && rollout < 100 ? `rollout ${rollout} %` : '',
    typeof unit === 'string' && unit !== 'requests' ? `in ${unit}` : '',
  ]
    .filter((note) => note !== '')
    .join(', ')
}
