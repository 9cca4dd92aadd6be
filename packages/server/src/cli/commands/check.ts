/** `sluice check` asks once, as an application would; `sluice explain` says which rules apply, and why. */
import { type AnswerBody, routeOf } from '@sluice/contract'
import { printWait } from '@sluice/limiter/transport'
import { printable } from '../../rules-file/print-faults.js'
import { command } from '../command.js'
import { EXIT } from '../exit-codes.js'
import { OfflineDecider } from '../offline-decider.js'
import type { Answerer, AnswerOf } from '../operation.js'
import { REQUEST_ARGUMENTS, REQUEST_OPTIONS, readRequest } from '../request-arguments.js'
import { type Cell, printTable } from '../table.js'
import type { Terminal } from '../terminal.js'

const USAGE = '<scope:value...> [METHOD] [/path] [options]'
const BY_FILE = [
  '--rules <FILE>',
  'decide by this rules file alone, without a server; nothing is used yet',
] as const

export const check = command('check', {
  operation: 'check',
  summary: 'ask whether a request may pass, and count it',
  description: 'Asks whether a request may pass now, and counts it. Exit 0: yes; 6: no.',
  usage: USAGE,
  arguments: REQUEST_ARGUMENTS,
  options: [...REQUEST_OPTIONS, BY_FILE],
  run: async (run) => {
    const { args, options, globals } = run
    const request = readRequest(args[0], options)
    // In the query, which servers of the previous release ignore: they answer everything.
    const query = { include: globals.json ? 'limits,receipt' : 'limits' }
    const decider: Answerer<'check'> =
      options.rules === undefined ? run.client : await OfflineDecider.by(options.rules, run)
    const { body } = await decider.call('check', { query, body: request })
    const outcome: Cell = { text: outcomeOf(body), style: body.allowed ? 'green' : 'red' }
    return {
      json: body,
      data: [[outcome, body.rule ?? '-', wordsOf(body)]],
      words: options.dryRun === true ? 'A dry run: nothing was counted.' : undefined,
      exit: exitOf(body),
    }
  },
})

export const explain = command('explain', {
  operation: 'explain',
  summary: 'say which rules apply to a request, and why',
  description:
    'Says which rules apply to a request and why, which do not, and what would be decided. Counts nothing. Exit 0: it may pass; 6: not.',
  usage: USAGE,
  arguments: REQUEST_ARGUMENTS,
  options: [
    ...REQUEST_OPTIONS,
    BY_FILE,
    [
      '--normalize',
      `normalise the resource first, as ${routeOf('auth').method} ${routeOf('auth').path} does`,
    ],
  ],
  run: async (run) => {
    const { args, options, terminal } = run
    const request = readRequest(args[0], options)
    const body = options.normalize === true ? { ...request, normalize: true } : request
    const decider: Answerer<'explain'> =
      options.rules === undefined ? run.client : await OfflineDecider.by(options.rules, run)
    const { body: explanation } = await decider.call('explain', { body })
    const data = printExplanation(explanation, Object.keys(request.subject), terminal)
    return { json: explanation, data, exit: exitOf(explanation.decision) }
  },
})

type CheckAnswer = AnswerBody<'check'>

const exitOf = ({ allowed }: CheckAnswer) => (allowed ? EXIT.yes : EXIT.no)

/** `allowed`, `denied`, `blocked` or `refused`. */
function outcomeOf({ allowed, reason }: CheckAnswer): string {
  if (allowed) return 'allowed'
  return reason === 'blocked' ? 'blocked' : reason === 'store_down' ? 'refused' : 'denied'
}

/** Why, or how much is left: `98 of 100 left`, `next in 41.2 s`. */
function wordsOf(decision: CheckAnswer): string {
  const words = [mainWords(decision)]
  const { allowed, delay, remaining, degraded, hold_expires_at: expiry } = decision
  if (allowed && delay) words.push(`to be held back ${printWait(delay * 1000)}`)
  if (expiry) words.push(`its place is held until ${expiry.slice(11, 19)} UTC`)
  if (degraded === true && remaining !== null)
    words.push(`counted here alone: ${reasonOf(decision)}`)
  return words.join('; ')
}

function mainWords(decision: CheckAnswer): string {
  const { allowed, reason, rule, limit, remaining, retry_after: wait } = decision
  if (allowed) {
    if (decision.exempt === true) return 'exempt'
    if (rule === null) return 'no rule applies'
    if (remaining === null) return `not counted: ${reasonOf(decision)}`
    return `${remaining} of ${limit} ${unitOf(decision)}left`
  }
  if (reason === 'store_down') return `cannot be counted: ${reasonOf(decision)}`
  if (reason === 'blocked') return decision.error?.message ?? 'a block'
  if (wait === null) return `never: costs more than the ${limit} ${unitOf(decision)}it can hold`
  return `next in ${printWait(wait * 1000)}`
}

function reasonOf({ degraded_reason: reason }: CheckAnswer): string {
  return `the store is away${reason ? ` (${reason})` : ''}`
}

/** Requests go without saying. */
function unitOf({ limits, rule }: CheckAnswer): string {
  const unit = limits?.find((limit) => limit.rule === rule)?.unit ?? 'requests'
  return unit === 'requests' ? '' : `${unit} `
}

type Explanation = AnswerOf<'explain'>

function printExplanation(
  explanation: Explanation,
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
function rowsOf(explanation: Explanation, named: readonly string[]): Cell[][] {
  const { applied, set_aside: setAside, absent_scopes: absent, decision } = explanation
  const isListed = decision.exempt === true || decision.reason === 'blocked'
  const scopes = new Set([...applied, ...setAside].map(({ scope }) => scope))
  const rows: Cell[][] = []
  for (const scope of [...scopes].sort((a, b) => order(a, named) - order(b, named))) {
    for (const one of applied.filter((rule) => rule.scope === scope))
      rows.push([scope, one.rule, one.limits.join(', '), leftOf(explanation, one.rule), one.why])
    for (const one of setAside.filter((rule) => rule.scope === scope))
      rows.push([scope, one.rule, one.limits.join(', '), '-', whyNot(one)])
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

function whyNot({ by, why }: Explanation['set_aside'][number]): string {
  return by === null || why.startsWith('applies only') ? why : `set aside by ${by}`
}

/** Of each limit of a rule, in the order of its limits. */
function leftOf({ decision }: Explanation, rule: string): string {
  const left = (decision.limits ?? []).filter((limit) => limit.rule === rule)
  if (left.length === 0) return '-'
  return `${left.map(({ remaining }) => remaining ?? '?').join(', ')} left`
}

function footOf({ resource, normalized, tiers, cost, revision }: Explanation): string {
  const compared = normalized ? `normalised to ${resource}, ` : ''
  const names = new Set(Object.values(tiers))
  const each = Object.entries(tiers).map(([scope, tier]) => `${tier} (${scope})`)
  const tier =
    names.size === 0 ? 'no tier' : `tier ${names.size === 1 ? [...names][0] : each.join(', ')}`
  const { requests, ...others } = cost
  const units = Object.entries(others).map(([unit, amount]) => `${amount} ${unit}`)
  const costs = [...(requests === undefined ? [] : [String(requests)]), ...units]
  return `${compared}${tier}, cost ${costs.length === 0 ? '0' : costs.join(' + ')}, revision ${revision}`
}
