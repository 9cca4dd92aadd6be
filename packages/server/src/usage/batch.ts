/** What is counted between two moments, as it travels from where decisions are made to where it is stored. */

import type { Reason } from '@sluice/limiter'
import { MINUTE_MS } from '@sluice/limiter/transport'

/** A value's decisions under one rule. */
export interface SubjectCount {
  /** Null: all those that are not named. */
  readonly value: string | null
  allowed: number
  denied: number
  /** What was taken, in the rule's unit. */
  cost: number
}

export interface RuleCount {
  readonly namespace: string
  /** Null: no rule decided, a block did. */
  readonly rule: string | null
  readonly scope: string
  readonly subjects: readonly SubjectCount[]
}

/** Denials of one second that are alike. */
export interface ViolationCount {
  /** The second's start, in milliseconds since the epoch. */
  readonly at: number
  readonly namespace: string
  readonly rule: string | null
  readonly scope: string
  /** Null: of those that are not named. */
  readonly value: string | null
  /** Null: none was asked for, or it is not kept. */
  readonly resource: string | null
  /** The limit's one-line text; null of a block. */
  readonly limit: string | null
  readonly reason: Reason
  count: number
}

export interface UsageCounts {
  /** Milliseconds since the epoch. */
  readonly from: number
  readonly to: number
  /** How many decisions it holds. */
  readonly decisions: number
  /** No subject has had more decisions than are under its name and this. */
  readonly error: number
  readonly rules: readonly RuleCount[]
  readonly violations: readonly ViolationCount[]
}

/** Counts under way. Whoever gets the same instance and sequence again has it already. */
export interface UsageBatch extends UsageCounts {
  readonly instance: string
  /** 1 for the first that was sent. */
  readonly sequence: number
  /** All decisions that the instance has counted, these included: what never arrives is told from it. */
  readonly total: number
  /** How many of those the instance itself gave up. */
  readonly dropped: number
}

/** The minute that they are stored under. */
export function minuteOf({ from }: Pick<UsageCounts, 'from'>): number {
  return Math.floor(from / MINUTE_MS) * MINUTE_MS
}

/** About what they take, in bytes. */
export function sizeOf({ rules, violations }: UsageCounts): number {
  let size = 256
  for (const { rule, subjects } of rules) {
    size += 128 + (rule?.length ?? 0)
    for (const { value } of subjects) size += 64 + 2 * (value?.length ?? 0)
  }
  for (const { value, resource } of violations)
    size += 160 + 2 * ((value?.length ?? 0) + (resource?.length ?? 0))
  return size
}

/** Both as one. Of one minute, nothing is lost by it. */
export function merged(a: UsageCounts, b: UsageCounts): UsageCounts {
  return {
    from: Math.min(a.from, b.from),
    to: Math.max(a.to, b.to),
    decisions: a.decisions + b.decisions,
    error: a.error + b.error,
    rules: mergedRules([...a.rules, ...b.rules]),
    violations: mergedViolations([...a.violations, ...b.violations]),
  }
}

function mergedRules(all: readonly RuleCount[]): RuleCount[] {
  const byRule = new Map<string, { rule: RuleCount; subjects: Map<string | null, SubjectCount> }>()
  for (const rule of all) {
    const key = JSON.stringify([rule.namespace, rule.rule, rule.scope])
    const known = byRule.get(key) ?? { rule, subjects: new Map() }
    byRule.set(key, known)
    for (const subject of rule.subjects) addSubject(known.subjects, subject)
  }
  return [...byRule.values()].map(({ rule, subjects }) => ({
    ...rule,
    subjects: [...subjects.values()],
  }))
}

function addSubject(to: Map<string | null, SubjectCount>, subject: SubjectCount): void {
  const known = to.get(subject.value)
  if (known === undefined) to.set(subject.value, { ...subject })
  else {
    known.allowed += subject.allowed
    known.denied += subject.denied
    known.cost += subject.cost
  }
}

function mergedViolations(all: readonly ViolationCount[]): ViolationCount[] {
  const byKey = new Map<string, ViolationCount>()
  for (const violation of all) {
    const { at, namespace, rule, scope, value, resource, limit, reason } = violation
    const key = JSON.stringify([at, namespace, rule, scope, value, resource, limit, reason])
    const known = byKey.get(key)
    if (known === undefined) byKey.set(key, { ...violation })
    else known.count += violation.count
  }
  return [...byKey.values()]
}
