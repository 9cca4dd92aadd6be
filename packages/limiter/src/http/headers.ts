/**
 * Decisions as HTTP headers: X-RateLimit-*, and the IETF draft's fields in the forms that are in use.
 * The draft is still moving, so its forms are named by version and chosen.
 */
import { CONCURRENCY } from '../algorithms/limit-numbers.js'
import type { DecisionRecord } from '../decision-record.js'
import type { AnsweredLimit } from '../stores/answer.js'

export const HEADER_FAMILIES = ['x-ratelimit', 'draft-6', 'draft-7', 'draft-8', 'draft-11'] as const
export type HeaderFamily = (typeof HEADER_FAMILIES)[number]

const DEFAULT_FAMILIES: readonly HeaderFamily[] = ['x-ratelimit', 'draft-11']

type Headers = Record<string, string>
type Emitter = (decision: DecisionRecord, top: AnsweredLimit) => Headers

const EMITTERS: Record<HeaderFamily, Emitter> = {
  'x-ratelimit': xRateLimit,
  'draft-6': (decision, top) => ({
    'RateLimit-Policy': policyOf(decision, top),
    'RateLimit-Limit': String(decision.limit),
    'RateLimit-Remaining': String(decision.remaining),
    'RateLimit-Reset': String(secondsOf(decision, top)),
  }),
  'draft-7': (decision, top) => ({
    'RateLimit-Policy': policyOf(decision, top),
    RateLimit: `limit=${decision.limit}, remaining=${decision.remaining}, reset=${secondsOf(decision, top)}`,
  }),
  'draft-8': structured,
  'draft-11': structured,
}

/** The headers of a decision. A no always says when to retry, if ever. */
export function headersOf(
  decision: DecisionRecord,
  families: readonly HeaderFamily[] = DEFAULT_FAMILIES,
): Headers {
  const headers: Headers = {}
  const { top } = decision
  if (!decision.allowed) {
    const { retryAfterMs } = decision
    if (retryAfterMs !== null)
      headers['Retry-After'] = String(Math.max(1, Math.ceil(retryAfterMs / 1000)))
  }
  if (top !== null && decision.remaining !== null) {
    for (const family of families) Object.assign(headers, EMITTERS[family](decision, top))
  }
  return Object.assign(headers, situation(decision))
}

/** What blocks, warns or is degraded: sent with every family, since no draft has it. */
function situation(decision: DecisionRecord): Headers {
  const headers: Headers = {}
  const { top } = decision
  if (decision.degraded) {
    headers['X-RateLimit-Degraded'] = 'true'
    headers['X-RateLimit-Degraded-Reason'] = decision.degradedReason ?? ''
  }
  if (!decision.allowed) {
    headers['X-RateLimit-Blocking-Scope'] = decision.scope ?? ''
    if (top !== null) {
      headers['X-RateLimit-Blocking-Rule'] = top.rule.name
      headers['X-RateLimit-Blocking-Resource'] = encodeURI(top.rule.rule.resource)
    }
  }
  if (decision.state === 'warning' && top !== null) {
    const used = 100 - Math.floor((100 * decision.remaining!) / decision.limit!)
    headers['X-RateLimit-Warning'] = `${used}% of ${top.rule.name} used`
  }
  return headers
}

function xRateLimit(decision: DecisionRecord): Headers {
  return {
    'X-RateLimit-Limit': String(decision.limit),
    'X-RateLimit-Remaining': String(decision.remaining),
    'X-RateLimit-Reset': String(Math.ceil(decision.resetAtMs! / 1000)),
  }
}

/** Drafts 8 to 11: a list of named policies and a list of their states, enforced ones only. */
function structured(decision: DecisionRecord): Headers {
  const policies: string[] = []
  const states: string[] = []
  const named = new Set<string>()
  for (const item of decision.answer.each()) {
    const { rule, limit, index } = item
    if (rule.shadow || !decision.answer.isCounted(index)) continue
    const window = wholeSeconds(decision, item)
    const name = policyName(rule.name, window, named)
    const unit = limit.numbers.kind === CONCURRENCY ? 'concurrent-requests' : rule.unit
    const quotaUnit = unit === 'requests' ? '' : `;qu="${unit}"`
    policies.push(`"${name}";q=${limit.limit.amount};w=${window}${quotaUnit}`)
    const left = decision.answer.remaining(index)
    states.push(`"${name}";r=${left};t=${secondsOf(decision, item)}`)
  }
  return { 'RateLimit-Policy': policies.join(', '), RateLimit: states.join(', ') }
}

/** A rule's further limits are named by their window, in whole seconds. Adds the name to those that are taken. */
export function policyName(rule: string, window: number, named: Set<string>): string {
  let name = named.has(rule) ? `${rule}-${window}` : rule
  for (let i = 2; named.has(name); i++) name = `${rule}-${window}-${i}`
  named.add(name)
  return name
}

/** Draft 7 and before: the top limit's amount and window. */
function policyOf(decision: DecisionRecord, top: AnsweredLimit): string {
  return `${top.limit.limit.amount};w=${wholeSeconds(decision, top)}`
}

/** Seconds until a limit that says no admits the request, or one that says yes is full again. */
function secondsOf(decision: DecisionRecord, { index }: AnsweredLimit): number {
  const { answer, decidedAt } = decision
  const isDenied = answer.isNotNow(index)
  const until = isDenied ? answer.goAt(index) : answer.resetAt(index)
  return Math.max(isDenied ? 1 : 0, Math.ceil((until - decidedAt) / 1_000_000))
}

function wholeSeconds(decision: DecisionRecord, { limit }: AnsweredLimit): number {
  return Math.ceil(limit.windowSeconds(decision.decidedAt))
}
