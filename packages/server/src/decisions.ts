/**
 * What every transport asks: the limiter, with each decision counted and what callers come back with.
 * Transports know this and their own bytes, and nothing of each other.
 */
import type { HeaderFamily, Limiter, Request } from '@sluice/limiter'
import type { Answer, DecisionRecord } from '@sluice/limiter/transport'
import type { Vouchers } from './receipts/vouchers.js'

/** Sees every decision; must cost next to nothing. */
export interface Observer {
  decided(decision: DecisionRecord): void
  /** So many decisions, each of which took so long. */
  took(transport: string, seconds: number, count: number): void
}

export interface DecisionsParts {
  readonly limiter: Limiter
  readonly vouchers: Vouchers
  readonly observer: Observer
  readonly headerFamilies: readonly HeaderFamily[]
}

export class Decisions {
  readonly limiter: Limiter
  readonly vouchers: Vouchers
  readonly observer: Observer
  readonly headerFamilies: readonly HeaderFamily[]

  constructor({ limiter, vouchers, observer, headerFamilies }: DecisionsParts) {
    this.limiter = limiter
    this.vouchers = vouchers
    this.observer = observer
    this.headerFamilies = headerFamilies
  }

  get namespace(): string {
    return this.limiter.rules.namespace
  }

  /** At once where the store answers at once. Throws for a bad request. */
  decide(request: Request): Answer<DecisionRecord> {
    const answer = this.limiter.decide(request) as Answer<DecisionRecord>
    if (answer instanceof Promise) return answer.then((decision) => this.#seen(decision))
    return this.#seen(answer)
  }

  #seen(decision: DecisionRecord): DecisionRecord {
    this.observer.decided(decision)
    return decision
  }
}
