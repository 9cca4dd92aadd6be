/** Decisions in words, for people. */
import type { DecisionRecord } from './decision-record.js'
import { DAY_MS, HOUR_MS, MINUTE_MS } from './limits/duration.js'
import { printLimit } from './limits/limit.js'
import type { AnsweredLimit } from './stores/answer.js'

/** Seconds with what precision a person wants: `0.4 s`, `41.2 s`, `8 min`. Rounded up. */
export function printWait(ms: number): string {
  if (ms < 100) return `${Math.ceil(ms)} ms`
  if (ms < 2 * MINUTE_MS) return `${Math.ceil(ms / 100) / 10} s`
  if (ms < 2 * HOUR_MS) return `${Math.ceil(ms / MINUTE_MS)} min`
  if (ms < 2 * DAY_MS) return `${Math.ceil(ms / HOUR_MS)} h`
  return `${Math.ceil(ms / DAY_MS)} d`
}

/** Secrets are shown by their ends. */
export function printValue(scope: string, value: string): string {
  if (scope !== 'api_key') return value
  return value.length < 12 ? '…' : `${value.slice(0, 4)}…${value.slice(-4)}`
}

/** `denied by per-user (10/s), retry in 0.4 s` */
export function describe(decision: DecisionRecord): string {
  const { top, allowed } = decision
  if (top === null) {
    if (!allowed) return explainDenial(decision)
    return decision.exempt ? 'allowed, exempt' : 'allowed, no rule applies'
  }
  const rule = `${top.rule.name} (${printLimit(top.limit.limit)})`
  if (decision.remaining === null)
    return `${allowed ? 'allowed uncounted' : 'refused'} by ${rule}: the store cannot be asked`
  if (allowed) return `allowed by ${rule}, ${decision.remaining} of ${decision.limit} left`
  const { retryAfterMs } = decision
  return retryAfterMs === null
    ? `denied by ${rule}, ${neverPasses(top)}`
    : `denied by ${rule}, retry in ${printWait(retryAfterMs)}`
}

/** `a cost above 25 never passes: each of 4 shards holds that much` */
function neverPasses({ rule, limit: { numbers } }: AnsweredLimit): string {
  const { mostCost, burst } = numbers
  const why = mostCost < burst ? `: that is what each of ${rule.family.shards} shards holds` : ''
  return `a cost above ${mostCost} never passes${why}`
}

/** What a caller who was refused is told: the rule's own message where a limit of it denies, else why. */
export function denialMessage(decision: DecisionRecord): string {
  const { top, reason } = decision
  const isDenied = reason === 'limited' || reason === 'too_expensive'
  return (isDenied ? top?.rule.rule.message : null) ?? explainDenial(decision)
}

/** Why a caller is refused: `hello allows user ada 3 per 10s; next in 3.4 s`. */
export function explainDenial(decision: DecisionRecord): string {
  const { top, entry, retryAfterMs } = decision
  if (top === null) {
    const { scope, reason } = entry!
    const value = decision.transaction.values[0] ?? ''
    return `${scope} ${printValue(scope, value)} is blocked${reason === null ? '' : `: ${reason}`}`
  }
  const { rule, limit, value } = top
  const who =
    rule.scope === 'global'
      ? 'everybody together'
      : `${rule.scope} ${printValue(rule.scope, value)}`
  if (decision.reason === 'store_down')
    return `${rule.name} refuses what it cannot count, and the store cannot be asked`
  const says = `${rule.name} allows ${who} ${printLimit(limit.limit)}`
  if (retryAfterMs === null) return `${says}; ${neverPasses(top)}`
  return `${says}; next in ${printWait(retryAfterMs)}`
}
