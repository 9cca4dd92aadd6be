/** A refusal as a problem (RFC 9457), with the problem types of the IETF draft. */
import type { Reason } from '../decision.js'
import type { DecisionRecord } from '../decision-record.js'
import { denialMessage } from '../describe.js'

const TYPES = 'https://iana.org/assignments/http-problem-types#'

export interface Problem {
  readonly type: string
  readonly title: string
  readonly status: number
  readonly detail: string
  readonly reason: Reason
  /** Seconds; null: never. */
  readonly retry_after: number | null
  readonly 'violated-policies'?: readonly string[]
}

export function problemOf(decision: DecisionRecord): Problem {
  const reason = decision.reason ?? 'limited'
  const { retryAfterMs } = decision
  const common = {
    detail: denialMessage(decision),
    reason,
    retry_after: retryAfterMs === null ? null : retryAfterMs / 1000,
  }
  if (reason === 'blocked')
    return { type: 'about:blank', title: 'Forbidden', status: 403, ...common }
  if (reason === 'store_down')
    return {
      type: `${TYPES}temporary-reduced-capacity`,
      title: 'Service Unavailable',
      status: 503,
      ...common,
    }
  const violated = new Set<string>()
  const { answer } = decision
  for (const { rule, index } of answer.each()) {
    if (!rule.shadow && !answer.isYes(index)) violated.add(rule.name)
  }
  return {
    type: `${TYPES}quota-exceeded`,
    title: 'Too Many Requests',
    status: 429,
    ...common,
    'violated-policies': [...violated],
  }
}
