/** A rule as callers send it: read into what a document would say, with every fault named by the body's own fields. */
import { FIXED_RULE_FIELDS } from '@sluice/contract'
import type { RuleInput } from '@sluice/limiter'
import { didYouMean, NAME, OWN_FIELDS, quote } from '@sluice/limiter/transport'
import type { WireFault } from '../error-codes.js'
import type { NamespaceSettings } from '../feed/change.js'
import { contentOf, type RuleRow } from './content.js'
import { invalid, type WireWarning, wireFaults, wireWarnings } from './faults.js'

export type Fields = Readonly<Record<string, unknown>>

/** What an answer has and nobody may change: accepted as it is, so that an answer can be sent back. */
const FIXED_FIELDS = Object.keys(FIXED_RULE_FIELDS)
/** What an answer may have besides, and is not read. */
const NOT_READ = ['warnings']
const KNOWN = ['name', ...OWN_FIELDS, ...FIXED_FIELDS, ...NOT_READ]

/** For a rule whose own name is faulty, so that its other faults are found too. */
const UNNAMED = 'rule'

interface Kin {
  readonly name: string
  readonly body: RuleInput
}

/** What the rule is read together with. */
export interface RuleSurroundings {
  readonly settings: NamespaceSettings
  /** The other variants of its family. */
  readonly kin: readonly Kin[]
  /** What must stay as it is. */
  readonly fixed: Fields
}

/** A rule that is good, and what is in doubt about it. */
export interface ReadRule {
  readonly row: RuleRow
  readonly warnings?: readonly WireWarning[]
}

/** Throws 422 with every fault. */
export function readRuleBody(body: Fields, { settings, kin, fixed }: RuleSurroundings): ReadRule {
  const faults = [
    ...unknownFields(body),
    ...changedFields(body, fixed),
    ...nameFaults(body['name']),
  ]
  const isNamed = nameFaults(body['name']).length === 0
  const name = isNamed ? String(body['name']) : UNNAMED
  const others = kin.filter((other) => other.name !== name)
  const rules = Object.fromEntries([...others, { name, body: inputOf(body) }].map(entryOf))
  const content = contentOf({ ...settings, rules })
  if (Array.isArray(content)) faults.push(...wireFaults(content, `rules.${name}`, 'name'))
  if (faults.length > 0 || Array.isArray(content)) throw invalid(faults)
  const row = content.rules.find((rule) => rule.name === name)!
  return { row, ...wireWarnings(content.warnings, `rules.${name}`) }
}

const entryOf = ({ name, body }: Kin): [string, RuleInput] => [name, body]

/** Null where the name cannot be one. */
export function familyOf({ name }: Fields): string | null {
  return typeof name === 'string' && NAME.test(name) ? name.split('@')[0]! : null
}

/** Null is how an answer says that there is none. */
function inputOf(body: Fields): RuleInput {
  const stated = OWN_FIELDS.filter((field) => body[field] !== undefined && body[field] !== null)
  return Object.fromEntries(stated.map((field) => [field, body[field]])) as unknown as RuleInput
}

function unknownFields(body: Fields): WireFault[] {
  return Object.keys(body)
    .filter((field) => !KNOWN.includes(field))
    .map((field) => ({
      field: field.slice(0, 64),
      message: `is unknown${didYouMean(field, KNOWN)}`,
    }))
}

function changedFields(body: Fields, fixed: Fields): WireFault[] {
  return FIXED_FIELDS.filter(
    (field) => body[field] !== undefined && body[field] !== fixed[field],
  ).map((field) => ({ field, message: `is ${quote(body[field])}, and cannot be set` }))
}

function nameFaults(name: unknown): WireFault[] {
  if (name === undefined || name === null) return [{ field: 'name', message: 'is missing' }]
  if (typeof name === 'string' && NAME.test(name)) return []
  const message = `${quote(name)} is not letters, digits, _ . - (and @tier), at most 100`
  return [{ field: 'name', message }]
}

/** A merge patch (RFC 7396): null takes a field away. */
export function mergePatch(target: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch
  // Without a prototype: `__proto__` is a name like any other, and is refused like any other.
  const merged = Object.assign(Object.create(null), isObject(target) ? target : {}) as Record<
    string,
    unknown
  >
  for (const [field, value] of Object.entries(patch)) {
    if (value === null) delete merged[field]
    else merged[field] = mergePatch(merged[field], value)
  }
  return merged
}

function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Taking away a field that no rule has is a mistake like any other, and is refused as one. */
function unknownNulls(patch: Fields): Fields {
  const names = Object.keys(patch).filter((name) => patch[name] === null && !KNOWN.includes(name))
  return Object.fromEntries(names.map((name) => [name, null]))
}

/** A resource with methods before it takes the place of both. */
export function patchedRule(name: string, body: RuleInput, patch: Fields): Fields {
  const resource = patch['resource']
  const namesMethods = typeof resource === 'string' && /^[A-Z][A-Z|-]* +\S/.test(resource)
  const { methods, ...rest } = body
  const base = namesMethods || methods === undefined ? rest : { ...rest, methods }
  const patched = mergePatch({ name, ...base }, patch) as Fields
  return { ...patched, ...unknownNulls(patch) }
}
