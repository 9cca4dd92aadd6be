/** `sluice explain`: which rules apply to a request and why, which do not, and what would be decided. */
import type { Command } from 'commander'
import { printable } from '../rules-file/print-faults.js'
import { type AskOptions, BY_FILE, deciderOf, withNamespace } from './check-command.js'
import type { SetExitCode } from './exit-codes.js'
import { globalsOf } from './globals.js'
import { addRequestArguments, readRequest } from './request-arguments.js'
import { type Cell, printTable } from './table.js'
import type { Terminal } from './terminal.js'
import { exitOf, explanationOf, outcomeOf, type WireExplanation, wordsOf } from './wire-decision.js'

interface ExplainOptions extends AskOptions {
  readonly normalize?: boolean
}

export function addExplain(program: Command, terminal: Terminal, setExitCode: SetExitCode): void {
  addRequestArguments(
    program
      .command('explain')
      .summary('say which rules apply to a request, and why')
      .description(
        'Says which rules apply to a request and why, which do not, and what would be decided. Counts nothing. Exit 0: it may pass; 6: not.',
      )
      .usage('<scope:value...> [METHOD] [/path] [options]'),
  )
    .option(...BY_FILE)
    .option('--normalize', 'normalise the resource first, as GET /v1/auth does')
    .action(async (words: string[], options: ExplainOptions, command: Command) => {
      const globals = globalsOf(command, terminal)
      const request = withNamespace(readRequest(words, options), globals)
      const body = options.normalize === true ? { ...request, normalize: true } : request
      const decider = await deciderOf(options, globals, terminal)
      const answer = await decider.post('/v1/explain', body)
      const explanation = explanationOf(answer.body)
      if (globals.json) terminal.out(`${JSON.stringify(answer.body)}\n`)
      else terminal.out(printExplanation(explanation, Object.keys(body['subject']!), terminal))
      setExitCode(exitOf(explanation.decision))
    })
}

function printExplanation(
  explanation: WireExplanation,
  named: readonly string[],
  terminal: Terminal,
): string {
  const { decision } = explanation
  const { allowed, rule } = decision
  const by = rule === null ? '' : ` by ${rule}`
  const head = `${printable(`${outcomeOf(decision).toUpperCase()}${by}, ${wordsOf(decision)}`)}; nothing counted`
  return [
    `${terminal.paintData(allowed ? 'green' : 'red', head)}\n`,
    printTable(rowsOf(explanation, named), terminal, { indent: '  ' }),
    `${printable(footOf(explanation))}\n`,
  ].join('')
}

/** Scope by scope: what applies, what it set aside, and what there is nothing for. */
function rowsOf(explanation: WireExplanation, named: readonly string[]): Cell[][] {
  const { applied, set_aside: setAside, absent_scopes: absent, decision } = explanation
  const isListed = decision.exempt === true || decision.reason === 'blocked'
  const scopes = new Set([...applied, ...setAside].map(({ scope }) => scope))
  const rows: Cell[][] = []
  for (const scope of [...scopes].sort((a, b) => order(a, named) - order(b, named))) {
    for (const one of applied.filter((rule) => rule.scope === scope))
      rows.push([scope, one.rule, one.limits.join(', '), leftOf(explanation, one.rule), one.why])
    for (const one of setAside.filter((rule) => rule.scope === scope))
      rows.push([scope, one.rule, one.limits?.join(', ') ?? '-', '-', whyNot(one)])
  }
  if (isListed) return rows
  for (const scope of named)
    if (!scopes.has(scope)) rows.push([scope, '-', '-', '-', `no rule for ${scope}`])
  for (const scope of absent) rows.push([scope, '-', '-', '-', `the request names no ${scope}`])
  return rows
}

/** As the request names them; those of everybody last. */
function order(scope: string, named: readonly string[]): number {
  const at = named.indexOf(scope)
  return at < 0 ? named.length : at
}

function whyNot({ by, why }: WireExplanation['set_aside'][number]): string {
  return by === null || why.startsWith('applies only') ? why : `set aside by ${by}`
}

/** Of each limit of a rule, in the order of its limits. */
function leftOf({ decision }: WireExplanation, rule: string): string {
  const left = decision.limits.filter((limit) => limit.rule === rule)
  if (left.length === 0) return '-'
  return `${left.map(({ remaining }) => remaining ?? '?').join(', ')} left`
}

function footOf({ resource, normalized, tiers, cost, revision }: WireExplanation): string {
  const compared = normalized === true ? `normalised to ${resource}, ` : ''
  const names = new Set(Object.values(tiers ?? {}))
  const each = Object.entries(tiers ?? {}).map(([scope, tier]) => `${tier} (${scope})`)
  const tier =
    names.size === 0 ? 'no tier' : `tier ${names.size === 1 ? [...names][0] : each.join(', ')}`
  const { requests, ...others } = cost ?? {}
  const units = Object.entries(others).map(([unit, amount]) => `${amount} ${unit}`)
  const costs = [...(requests === undefined ? [] : [String(requests)]), ...units]
  return `${compared}${tier}, cost ${costs.length === 0 ? '0' : costs.join(' + ')}, revision ${revision}`
}
