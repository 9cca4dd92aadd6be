/** A decision as it comes over the wire, looked at before it is believed, and said in a few words. */
import { printWait } from '@sluice/limiter/transport'
import { CommandError, EXIT } from './exit-codes.js'
import type { Json } from './server-client.js'

export interface WireLimit {
  readonly rule: string
  readonly remaining: number | null
  readonly unit: string
}

export interface WireDecision {
  readonly allowed: boolean
  readonly limit: number | null
  readonly remaining: number | null
  /** Seconds. */
  readonly retry_after: number | null
  readonly delay: number
  readonly reason: string | null
  readonly rule: string | null
  readonly scope: string | null
  readonly degraded: boolean
  readonly degraded_reason: string | null
  readonly limits: readonly WireLimit[]
  readonly exempt?: true
  readonly hold?: string
  readonly hold_expires_at?: string
  readonly error?: { readonly message: string }
}

export function decisionOf(body: unknown): WireDecision {
  const decision = (body ?? {}) as Partial<WireDecision>
  if (typeof decision.allowed === 'boolean' && Array.isArray(decision.limits))
    return decision as WireDecision
  throw strange()
}

export function strange(): CommandError {
  return new CommandError(
    'What answered is not Sluice, or of another version: there is no decision in its answer. Is --server right?',
    EXIT.outOfReach,
  )
}

export function exitOf({ allowed }: WireDecision): number {
  return allowed ? EXIT.yes : EXIT.no
}

/** `allowed`, `denied`, `blocked` or `refused`. */
export function outcomeOf({ allowed, reason }: WireDecision): string {
  if (allowed) return 'allowed'
  return reason === 'blocked' ? 'blocked' : reason === 'store_down' ? 'refused' : 'denied'
}

/** Why, or how much is left: `98 of 100 left`, `next in 41.2 s`. */
export function wordsOf(decision: WireDecision): string {
  const words = [mainWords(decision)]
  const { allowed, delay, remaining, degraded, hold_expires_at: expiry } = decision
  if (allowed && delay > 0) words.push(`to be held back ${printWait(delay * 1000)}`)
  if (expiry !== undefined) words.push(`its place is held until ${expiry.slice(11, 19)} UTC`)
  if (degraded && remaining !== null) words.push(`counted here alone: ${reasonOf(decision)}`)
  return words.join('; ')
}

function mainWords(decision: WireDecision): string {
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

function reasonOf({ degraded_reason: reason }: WireDecision): string {
  return `the store is away${reason === null ? '' : ` (${reason})`}`
}

/** Requests go without saying. */
function unitOf({ limits, rule }: WireDecision): string {
  const unit = limits.find((limit) => limit.rule === rule)?.unit ?? 'requests'
  return unit === 'requests' ? '' : `${unit} `
}

export interface WireExplanation {
  readonly decision: WireDecision
  readonly resource?: string
  readonly normalized?: boolean
  readonly applied: readonly {
    rule: string
    scope: string
    limits: readonly string[]
    why: string
  }[]
  readonly set_aside: readonly {
    rule: string
    scope: string
    limits?: readonly string[]
    by: string | null
    why: string
  }[]
  readonly absent_scopes: readonly string[]
  readonly tiers: Readonly<Record<string, string>>
  readonly cost: Readonly<Record<string, number>>
  readonly revision: number
}

export function explanationOf(body: Json): WireExplanation {
  decisionOf(body['decision'])
  for (const field of ['applied', 'set_aside', 'absent_scopes'])
    if (!Array.isArray(body[field])) throw strange()
  return body as unknown as WireExplanation
}
