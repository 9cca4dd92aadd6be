/** Decisions as the bodies, statuses and headers of answers. What the fast path writes means the same. */
import type { LimitDecision } from '@sluice/limiter'
import { type DecisionRecord, explainNo } from '@sluice/limiter/transport'
import { ERROR_CODES } from '../../error-codes.js'
import type { Vouchers } from '../../receipts/vouchers.js'

export type Json = Record<string, unknown>

/** What the answer is to have besides the decision. */
interface Extras {
  /** An estimate was taken: it is settled, not given back by receipt. */
  readonly isReservation?: boolean
  /** The hold has an id of the caller's own. */
  readonly hasOwnHold?: boolean
}

export function statusOf(decision: DecisionRecord): number {
  return decision.allowed ? 200 : ERROR_CODES[decision.reason ?? 'limited'].status
}

export function answerOf(decision: DecisionRecord, vouchers: Vouchers, extras: Extras = {}): Json {
  const { isReservation = false, hasOwnHold = false } = extras
  const body: Json = {
    allowed: decision.allowed,
    limit: decision.limit,
    remaining: decision.remaining,
    reset_at: isoTime(decision.resetAtMs),
    retry_after: seconds(decision.retryAfterMs),
    delay: decision.delayMs / 1000,
    state: decision.state,
    reason: decision.reason,
    rule: decision.rule,
    scope: decision.scope,
    degraded: decision.degraded,
    degraded_reason: decision.degradedReason,
    receipt: isReservation ? null : vouchers.receiptOf(decision),
    limits: decision.limits.map(limitOf),
  }
  if (isReservation) body['reservation'] = vouchers.reservationOf(decision)
  if (decision.exempt) body['exempt'] = true
  if (decision.replayed) body['replayed'] = true
  const { hold } = decision
  if (hold !== null) {
    body['hold'] = hasOwnHold ? hold.id : vouchers.holdOf(hold)
    body['hold_expires_at'] = isoTime(hold.expiresAtMs)
  }
  if (!decision.allowed) body['error'] = { code: decision.reason, message: explainNo(decision) }
  return body
}

function limitOf(limit: LimitDecision): Json {
  return {
    rule: limit.rule,
    scope: limit.scope,
    algorithm: limit.algorithm,
    amount: limit.amount,
    limit: limit.limit,
    window_seconds: limit.windowSeconds,
    allowed: limit.allowed,
    remaining: limit.remaining,
    reset_at: isoTime(limit.resetAtMs),
    retry_after: seconds(limit.retryAfterMs),
    unit: limit.unit,
    shadow: limit.shadow,
  }
}

export function isoTime(ms: number | null): string | null {
  return ms === null ? null : new Date(ms).toISOString()
}

function seconds(ms: number | null): number | null {
  return ms === null ? null : ms / 1000
}
