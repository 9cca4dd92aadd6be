/** What the store is asked to take for a checked request, given the rules that apply. */
import { randomUUID } from 'node:crypto'
import type { CheckedRequest, Request } from './request.js'
import { countedValue } from './rules/asked.js'
import type { CompiledRule } from './rules/compiled-rule.js'
import {
  type Idempotency,
  newTransaction,
  type Transaction,
  type TransactionRest,
} from './stores/transaction.js'

/** The key's subject where a request names none. */
const NOBODY = ''

export function transactionOf(
  request: Request,
  asked: CheckedRequest,
  rules: readonly CompiledRule[],
  now: number,
  timing: Pick<TransactionRest, 'deadline'>,
): Transaction {
  const { plan } = asked
  const cost = asked.cost === 0 ? plan.requestCost : asked.cost
  const only = rules[0]
  let values: string[]
  let costs: number[] | null = null
  let holds = false
  if (rules.length === 1 && only !== undefined && only.unit === 'requests') {
    values = [countedValue(asked, only.scope)]
    holds = only.hasHolds
  } else {
    values = rules.map((rule) => countedValue(asked, rule.scope))
    holds = rules.some((rule) => rule.hasHolds)
    if (rules.some((rule) => rule.unit !== 'requests'))
      costs = rules.map(({ unit }) => {
        if (unit === 'requests') return cost
        const stated = asked.costs !== null && Object.hasOwn(asked.costs, unit)
        return stated ? asked.costs![unit]! : plan.costs.get(unit)!
      })
  }
  const { idempotencyKey, dryRun } = request
  if (!holds && costs === null && idempotencyKey === undefined && dryRun !== true)
    return newTransaction(rules, values, cost, now, timing)
  const holdId = holds ? (request.holdId ?? newHoldId()) : ''
  const idempotency =
    idempotencyKey === undefined ? null : idempotencyOf(idempotencyKey, request, asked, rules, cost)
  const rest = { ...timing, costs, dryRun: dryRun === true, holdId, idempotency }
  return newTransaction(rules, values, cost, now, rest)
}

export function newHoldId(): string {
  return randomUUID()
}

/** The key belongs to the request's first scope by name, so that no two subjects share one. */
function idempotencyOf(
  key: string,
  request: Request,
  asked: CheckedRequest,
  rules: readonly CompiledRule[],
  cost: number,
): Idempotency {
  const subject = asked.scopes
    .slice(0, asked.count)
    .map((scope, i) => [scope, asked.values[i]!] as const)
  subject.sort(([a], [b]) => (a < b ? -1 : 1))
  const costs = Object.entries(asked.costs ?? {}).sort(([a], [b]) => (a < b ? -1 : 1))
  const { resource, method, tier } = asked
  const [scope, value] = subject[0] ?? [NOBODY, NOBODY]
  return {
    namespace: rules[0]?.family.namespace ?? NOBODY,
    scope,
    value,
    id: key,
    fingerprint: JSON.stringify([
      subject,
      resource,
      method,
      tier,
      cost,
      costs,
      request.holdId ?? null,
    ]),
  }
}

/** No rules: a block or an exemption has decided about this value. */
export function listedTransaction(value: string, now: number): Transaction {
  return newTransaction([], [value], 0, now)
}
