/** From a checked request and the rules that apply to what the store is asked. */
import { randomUUID } from 'node:crypto'
import type { CheckedRequest, Request } from './request.js'
import type { CompiledRule } from './rules/compiled-rule.js'
import type { Plan } from './rules/plan.js'
import type { Idempotency, Transaction } from './store/store.js'

/** The key's subject where a request names none. */
const NOBODY = ''

class Asking implements Transaction {
  replayOf: Transaction | null = null

  constructor(
    readonly rules: readonly CompiledRule[],
    readonly values: readonly string[],
    readonly costs: readonly number[] | null,
    readonly cost: number,
    readonly dryRun: boolean,
    readonly holdId: string,
    readonly idempotency: Idempotency | null,
    readonly now: number,
  ) {}
}

export function transactionOf(
  request: Request,
  asked: CheckedRequest,
  plan: Plan,
  rules: readonly CompiledRule[],
  now: number,
): Transaction {
  const cost = asked.cost === 0 ? plan.requestCost : asked.cost
  const values: string[] = []
  let costs: number[] | null = null
  let holds = false
  for (let i = 0; i < rules.length; i++) {
    const rule = rules[i]!
    values.push(valueOf(rule.scope, asked))
    if (rule.unit !== 'requests') {
      costs ??= rules.map(() => cost)
      costs[i] = asked.costs?.[rule.unit] ?? plan.costs.get(rule.unit)!
    }
    if (rule.hasHolds) holds = true
  }
  const holdId = holds ? (request.holdId ?? newHoldId()) : ''
  const idempotency =
    request.idempotencyKey === undefined
      ? null
      : idempotencyOf(request.idempotencyKey, request, asked, cost)
  return new Asking(rules, values, costs, cost, request.dryRun === true, holdId, idempotency, now)
}

function valueOf(scope: string, asked: CheckedRequest): string {
  for (let i = 0; i < asked.count; i++) if (asked.scopes[i] === scope) return asked.counted[i]!
  return NOBODY
}

export function newHoldId(): string {
  return randomUUID()
}

/** The key belongs to the request's first scope by name, so that no two subjects share one. */
function idempotencyOf(
  key: string,
  request: Request,
  asked: CheckedRequest,
  cost: number,
): Idempotency {
  const subject = asked.scopes
    .slice(0, asked.count)
    .map((scope, i) => [scope, asked.values[i]!] as const)
  subject.sort(([a], [b]) => (a < b ? -1 : 1))
  const costs = Object.entries(asked.costs ?? {}).sort(([a], [b]) => (a < b ? -1 : 1))
  const { resource, method, tier } = asked
  return {
    key: JSON.stringify([subject[0] ?? NOBODY, key]),
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
