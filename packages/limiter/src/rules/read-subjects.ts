/** Reads what a document says of single subjects: tiers, overrides, exemptions and blocks. */
import { didYouMean, quote } from '../faults.js'
import type { FieldReader } from '../field-reader.js'
import type { Ending, OverrideInput } from './document.js'
import { readLimits, refuseSplit } from './read-limits.js'
import type { Entry, Override, Rule } from './rule.js'
import { parseTime, readValue, SCOPE, TIER } from './words.js'

/** scope → value → tier */
export type TierMembers = ReadonlyMap<string, ReadonlyMap<string, string>>

/** Whom a tier, an override or a list means. */
type ScopedValue = Pick<Entry, 'scope' | 'value'>

export function readTierMembers(document: FieldReader): TierMembers {
  const tiers = new Map<string, Map<string, string>>()
  for (const [tier, members] of document.entries('tiers', 'subjects by tier') ?? []) {
    const path = `tiers.${tier}`
    if (!TIER.test(tier)) document.note({ path, message: `${quote(tier)} is not a tier's name` })
    for (const [at, member] of document.list(members, path, 'scope:value')) {
      const entry = readScopedValue(document, member, at)
      if (entry === undefined) continue
      if (typeof entry.value !== 'string') {
        document.note({ path: at, message: 'a tier is given to single addresses, not to networks' })
        continue
      }
      const values = tiers.get(entry.scope) ?? new Map<string, string>()
      tiers.set(entry.scope, values)
      const other = values.get(entry.value)
      if (other !== undefined && other !== tier)
        document.note({ path: at, message: `${quote(member)} is in tier ${other} already` })
      values.set(entry.value, tier)
    }
  }
  return tiers
}

/** What an exemption, a block and an override may say besides whom they mean. */
export const ENDING_FIELDS = {
  until: readUntil,
  reason: (fields: FieldReader): string | null => fields.text('reason') ?? null,
} satisfies Record<keyof Ending, unknown>

/** Exemptions or blocks. */
export function readEntries(document: FieldReader, field: 'exemptions' | 'blocks'): Entry[] {
  return document.list(document.get(field), field, 'subjects').flatMap(([path, written]) => {
    if (typeof written === 'string') {
      const entry = readScopedValue(document, written, path)
      return entry === undefined
        ? []
        : [{ ...entry, until: Number.POSITIVE_INFINITY, reason: null }]
    }
    const fields = document.child(written, path, 'scope:value, or an object')
    if (fields === undefined) return []
    const scopes = fields.names().filter((name) => !Object.hasOwn(ENDING_FIELDS, name))
    if (scopes.length !== 1 || !SCOPE.test(scopes[0]!)) {
      fields.fault('', 'expected one scope with its value, and until and reason if need be')
      return []
    }
    const text = fields.text(scopes[0]!)
    const entry = text === undefined ? undefined : scopedValue(fields, scopes[0]!, text, path)
    const ending = readEnding(fields)
    return entry === undefined || ending === undefined ? [] : [{ ...entry, ...ending }]
  })
}

function readEnding(fields: FieldReader): Pick<Entry, 'until' | 'reason'> | undefined {
  const until = ENDING_FIELDS.until(fields)
  const reason = ENDING_FIELDS.reason(fields)
  return until === undefined ? undefined : { until, reason }
}

/** Microseconds since the epoch; Infinity where no end is stated; undefined after noting that it is no time. */
function readUntil(fields: FieldReader): number | undefined {
  const until = fields.get('until')
  if (until === undefined) return Number.POSITIVE_INFINITY
  const ms = until instanceof Date ? until.getTime() : parseTime(until)
  if (Number.isFinite(ms)) return ms * 1000
  const example = '2026-12-31 or 2026-12-31T12:00:00Z'
  return fields.fault('until', `${quote(until)} is not a time such as ${example}`)
}

/** The fields of an override, and what is expected where a required one is missing. */
export const OVERRIDE_FIELDS = {
  scope: 'the scope that the rule counts by',
  value: 'the value that the limits are for',
  rule: 'the name of a rule',
  limits: null,
  until: null,
  reason: null,
} satisfies Record<keyof OverrideInput, string | null>

/** `rules`: all rules of the document, since an override must be of one of them. */
export function readOverrides(
  document: FieldReader,
  all: readonly (Rule | null)[],
  timezone: string,
): Override[] {
  const list = document.list(document.get('overrides'), 'overrides', 'overrides')
  const rules = byName(list.length === 0 ? [] : all)
  return list.flatMap(([path, written]) => {
    const fields = document.child(written, path, 'an override')
    if (fields === undefined) return []
    fields.refuseUnknown(Object.keys(OVERRIDE_FIELDS), 'an override')
    for (const [field, expected] of Object.entries(OVERRIDE_FIELDS))
      if (expected !== null && !fields.has(field)) fields.fault(field, 'is missing', { expected })
    const [scope, value, rule] = [fields.text('scope'), fields.text('value'), fields.text('rule')]
    const limits = readLimits(fields, 'limits', timezone)
    const ending = readEnding(fields)
    if (scope === undefined || value === undefined || rule === undefined || ending === undefined)
      return []
    refuseStranger(fields, scope, rule, rules)
    refuseSplit(fields, fields.pathOf('limits'), limits, rules.get(rule)?.shards ?? 1)
    const entry = scopedValue(fields, scope, value, path)
    if (entry === undefined) return []
    if (typeof entry.value === 'string')
      return [{ scope, value: entry.value, rule, limits, ...ending }]
    fields.fault('value', 'an override is for a single address, not for a network')
    return []
  })
}

/** An override of a rule that does not exist, or counts another scope, would do nothing. */
function refuseStranger(
  fields: FieldReader,
  scope: string,
  name: string,
  rules: ReadonlyMap<string, Rule>,
): void {
  const named = rules.get(name)
  if (named === undefined)
    fields.fault(
      'rule',
      `${quote(name)} is not the name of a rule${didYouMean(name, rules.keys())}`,
    )
  else if (named.scope !== scope)
    fields.fault('scope', `is ${quote(scope)}, and ${name} counts by ${named.scope}`)
}

/** By name and by family; of a family the first. */
function byName(rules: readonly (Rule | null)[]): Map<string, Rule> {
  const named = new Map<string, Rule>()
  for (const rule of rules) {
    if (rule === null) continue
    named.set(rule.name, rule)
    if (!named.has(rule.family)) named.set(rule.family, rule)
  }
  return named
}

function readScopedValue(
  document: FieldReader,
  written: unknown,
  path: string,
): ScopedValue | undefined {
  const match = typeof written === 'string' ? /^([a-z][a-z0-9_]{0,31}):(.*)$/s.exec(written) : null
  if (match !== null) return scopedValue(document, match[1]!, match[2]!, path)
  return document.note({ path, message: `${quote(written)} is not a scope:value` })
}

function scopedValue(
  reader: FieldReader,
  scope: string,
  text: string,
  path: string,
): ScopedValue | undefined {
  const value = readValue(scope, text)
  if (scope === 'global') reader.note({ path, message: 'the scope global has no values' })
  else if (typeof value === 'string' || 'bits' in value) return { scope, value }
  else reader.note({ path, message: value.fault })
  return undefined
}
