/**
 * What a namespace holds, normalised: a rules document, checked by the library's own reader and written
 * the one way it is stored. Pure, so that a thread can do it for a large document.
 */
import { createHash } from 'node:crypto'
import { printField, storedRule } from '@sluice/contract'
import {
  type Entry,
  type Fault,
  type Limit,
  type Override,
  printLimit,
  type Rule,
  type RuleInput,
  RuleSet,
  type RulesDocument,
  SluiceError,
  type Warning,
} from '@sluice/limiter'
import { partsOf, patternKey, printCidr, SETTING_PARTS } from '@sluice/limiter/transport'
import type { CostItem, ListedSubject, NamespaceSettings } from '../feed/change.js'
import { extraFaults, textFaults } from './extra-faults.js'

/** The lists of subjects, with the word for one of their items. */
export const LISTS = { exemptions: 'exemption', blocks: 'block' } as const
export type ListName = keyof typeof LISTS

export interface RuleRow {
  readonly name: string
  readonly family: string
  readonly scope: string
  /** As it is compared. */
  readonly value: string | null
  readonly tier: string | null
  readonly resource: string
  readonly methods: readonly string[] | null
  readonly additive: boolean
  readonly enabled: boolean
  readonly shadow: boolean
  readonly unit: string
  readonly least_burst: number
  readonly place: string
  /** What a document states of it, without default values. */
  readonly body: RuleInput
}

export interface TierRow {
  readonly scope: string
  readonly value: string
  readonly tier: string
  readonly place: string
}

export interface OverrideRow {
  readonly scope: string
  readonly value: string
  readonly rule: string
  readonly limits: readonly string[]
  readonly least_burst: number
  readonly until: string | null
  readonly reason: string | null
  readonly place: string
}

export interface CostRow extends CostItem {
  readonly place: string
}

export interface Content {
  readonly settings: NamespaceSettings
  readonly rules: readonly RuleRow[]
  readonly tiers: readonly TierRow[]
  readonly overrides: readonly OverrideRow[]
  readonly exemptions: readonly ListedSubject[]
  readonly blocks: readonly ListedSubject[]
  readonly costs: readonly CostRow[]
  /** What was accepted and is in doubt. */
  readonly warnings: readonly Warning[]
}

/** The document as it is stored, or everything that is wrong with it. */
export function contentOf(document: RulesDocument): Content | Fault[] {
  const extra = [...extraFaults(document), ...textFaults(document)]
  try {
    const { book } = RuleSet.compile(document)
    if (extra.length > 0) return extra
    const raw = (rule: Rule) => document.rules?.[rule.name] ?? document.rules?.[rule.family]
    return {
      settings: partsOf(document, SETTING_PARTS),
      rules: book.rules.map((rule) => ruleRow(rule, raw(rule)!)),
      tiers: [...book.tiers].flatMap(([scope, values]) =>
        [...values].map(([value, tier]) => ({ scope, value, tier, place: hash([scope, value]) })),
      ),
      overrides: lastOfEach(book.overrides.map(overrideRow)),
      exemptions: book.exemptions.map(listedSubject),
      blocks: book.blocks.map(listedSubject),
      costs: book.costs.map(({ resource, pattern, methods, unit, cost }) => {
        const place = hash([patternKey(pattern), methods, unit])
        return { resource, methods, unit, cost, place }
      }),
      warnings: book.warnings,
    }
  } catch (error) {
    if (error instanceof SluiceError && error.code === 'invalid_rules')
      return [...error.faults, ...extra]
    throw error
  }
}

/** What must not be there twice, short enough for an index. */
export function hash(what: unknown): string {
  return createHash('sha256').update(JSON.stringify(what)).digest('hex')
}

type RulePlace = Pick<RuleRow, 'scope' | 'value' | 'tier' | 'methods' | 'shadow'> & {
  readonly patternKey: string
}

/** Equal for rules that govern the same requests. */
export function placeOf({ scope, value, tier, patternKey: key, methods, shadow }: RulePlace) {
  return hash([scope, value, tier, key, methods, shadow])
}

function ruleRow(rule: Rule, raw: RuleInput): RuleRow {
  const { name, family, scope, tier, resource, methods, additive, enabled, shadow, unit } = rule
  const value = printField(rule, 'value') as string | null
  const place = placeOf({ ...rule, value, patternKey: patternKey(rule.pattern) })
  const least_burst = leastBurst(rule.limits)
  const columns = { name, family, scope, value, tier, resource, methods, additive, enabled, shadow }
  return { ...columns, unit, least_burst, place, body: storedRule(rule, raw) }
}

function leastBurst(limits: readonly Limit[]): number {
  return Math.min(...limits.map(({ burst }) => burst))
}

function overrideRow(override: Override): OverrideRow {
  const { scope, value, rule, limits } = override
  return {
    scope,
    value,
    rule,
    limits: limits.map(printLimit),
    least_burst: leastBurst(limits),
    ...endOf(override),
    place: hash([scope, value, rule]),
  }
}

/** Of several overrides of one rule for one subject the last is in force. */
function lastOfEach(rows: readonly OverrideRow[]): OverrideRow[] {
  return [...new Map(rows.map((row) => [row.place, row])).values()]
}

function listedSubject(entry: Entry): ListedSubject {
  return {
    scope: entry.scope,
    value: typeof entry.value === 'string' ? entry.value : printCidr(entry.value),
    ...endOf(entry),
  }
}

function endOf({ until, reason }: Entry): { until: string | null; reason: string | null } {
  const isEndless = until === Number.POSITIVE_INFINITY
  return { until: isEndless ? null : new Date(until / 1000).toISOString(), reason }
}

/** The same value, in whatever order its fields are. */
export function isSame(a: unknown, b: unknown): boolean {
  return stableText(a) === stableText(b)
}

export function stableText(value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown) => {
    if (typeof inner !== 'object' || inner === null || Array.isArray(inner)) return inner
    const sorted = Object.entries(inner).toSorted(([a], [b]) => (a < b ? -1 : 1))
    return Object.fromEntries(sorted)
  })
}
