/** Decisions as statuses and bodies of answers. The fast path writes answers with the same meaning. */
import { type AnswerKind, type DecisionBody, ERROR_CODES, printDecision } from '@sluice/contract'
import type { DecisionRecord } from '@sluice/limiter/transport'
import type { Vouchers } from '../receipts/vouchers.js'

export function statusOf(decision: DecisionRecord): number {
  return decision.allowed ? 200 : ERROR_CODES[decision.reason ?? 'limited'].status
}

export function answerOf(
  decision: DecisionRecord,
  vouchers: Vouchers,
  kind: AnswerKind,
): DecisionBody {
  return printDecision(decision, { ...kind, vouchers })
}
