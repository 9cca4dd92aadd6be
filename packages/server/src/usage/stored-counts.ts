/** Counts as they are stored: by minute and by day, each with no more names than its budget has. */
import { DAY_MS } from '@sluice/limiter/transport'
import { minuteOf, type UsageBatch, type ViolationCount } from './batch.js'
import type { NamesBudget } from './names-budget.js'

/** Of one rule at one time; the database adds up what is alike. */
export interface StoredCounts {
  /** ISO 8601. */
  readonly at: string
  readonly namespace: string
  readonly rule: string | null
  readonly scope: string
  readonly subjects: readonly StoredSubject[]
}

interface StoredSubject {
  readonly value: string | null
  readonly allowed: number
  readonly denied: number
  readonly cost: number
}

/** Who makes this part of a batch's decisions is named whatever the budget says. */
const HEAVY = 0.01

export function countsOf(
  batch: UsageBatch,
  span: 'minute' | 'day',
  budget: NamesBudget,
): StoredCounts[] {
  const minute = minuteOf(batch)
  const time = span === 'minute' ? minute : minute - (minute % DAY_MS)
  const at = new Date(time).toISOString()
  const heavy = batch.decisions * HEAVY
  return batch.rules.map(({ namespace, rule, scope, subjects }) => {
    const prefix = `${namespace}|${scope}|${rule ?? ''}|`
    const named = subjects.map((subject) => {
      const { value, allowed, denied } = subject
      if (value === null || allowed + denied > heavy) return subject
      return budget.allows(time, prefix + value) ? subject : { ...subject, value: null }
    })
    return { at, namespace, rule, scope, subjects: named }
  })
}

export function violationsOf(
  { violations }: UsageBatch,
  budget: NamesBudget,
): readonly ViolationCount[] {
  return violations.map((violation) => {
    const { at, namespace, rule, scope, value, resource, limit, reason } = violation
    const key = JSON.stringify([at, namespace, rule, scope, value, resource, limit, reason])
    return budget.allows(at, key) ? violation : { ...violation, value: null, resource: null }
  })
}

/** In pieces of so many subjects: a statement may take only so long. */
export function inPieces(counts: readonly StoredCounts[], most: number): StoredCounts[][] {
  const pieces: StoredCounts[][] = []
  let size = most
  for (const { subjects, ...rule } of counts)
    for (let i = 0; i < subjects.length; i += most) {
      const part = subjects.slice(i, i + most)
      if (size + part.length > most) {
        pieces.push([])
        size = 0
      }
      pieces.at(-1)!.push({ ...rule, subjects: part })
      size += part.length
    }
  return pieces
}
