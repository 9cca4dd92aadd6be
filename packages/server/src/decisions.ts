/**
 * What every transport asks: the limiter of a namespace, with each decision seen, and what callers come
 * back with. Transports know this and their own bytes, and nothing of each other.
 */
import type { HeaderFamily, Limiter, Request } from '@sluice/limiter'
import type { Awaitable, DecisionRecord } from '@sluice/limiter/transport'
import type { Vouchers } from './receipts/vouchers.js'
import type { Tenant, Tenants } from './tenants.js'

/** Sees every decision; must cost next to nothing. */
export interface Observer {
  /** `isAsked`: the store had to be asked; else memory answered. */
  decided(decision: DecisionRecord, request: Request, namespace: string, isAsked: boolean): void
  /** So many decisions, each of which took so long. */
  took(transport: string, seconds: number, count: number): void
}

export interface DecisionsParts {
  readonly tenants: Tenants
  readonly vouchers: Vouchers
  readonly observer: Observer
  readonly headerFamilies: readonly HeaderFamily[]
  /** `full`: the shape of the previous release. */
  readonly answers: AnswerShape
}

export type AnswerShape = 'lean' | 'full'

export class Decisions {
  readonly tenants: Tenants
  readonly vouchers: Vouchers
  readonly observer: Observer
  readonly headerFamilies: readonly HeaderFamily[]
  readonly answers: AnswerShape

  constructor({ tenants, vouchers, observer, headerFamilies, answers }: DecisionsParts) {
    this.tenants = tenants
    this.vouchers = vouchers
    this.observer = observer
    this.headerFamilies = headerFamilies
    this.answers = answers
  }

  /** At once where the store answers at once. Throws for a bad request. */
  decide({ limiter, namespace }: Tenant, request: Request): Awaitable<DecisionRecord> {
    const answer = limiter.decide(request) as Awaitable<DecisionRecord>
    if (!(answer instanceof Promise)) {
      this.observer.decided(answer, observed(answer, request, limiter), namespace, false)
      return answer
    }
    return answer.then((decision) => {
      this.observer.decided(decision, observed(decision, request, limiter), namespace, true)
      return decision
    })
  }
}

/** The resources of denials are recorded as they were compared, so that all spellings are one. */
function observed(decision: DecisionRecord, request: Request, { rules }: Limiter): Request {
  if (decision.allowed || request.resource === undefined) return request
  if (!(request.normalize ?? rules.normalizesChecks)) return request
  return { ...request, resource: rules.normalizedResource(request.resource) }
}
