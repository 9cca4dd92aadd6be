/** Reads one rule of a document, with its tiers. */
import { quote, type Warning } from '../faults.js'
import type { FieldReader } from '../field-reader.js'
import { strictBecause } from './lease-terms.js'
import { type Normalize, normalizePattern } from './normalize.js'
import { type Pattern, parsePattern } from './pattern.js'
import { refuseSplit } from './read-limits.js'
import type { Rule } from './rule.js'
import {
  DEFAULT_FIELDS,
  type FieldContext,
  RULE_FIELD_NAMES,
  RULE_FIELDS,
  readFields,
} from './rule-fields.js'
import { NAME } from './words.js'

/** What the document's default rule is called. */
export const DEFAULT_RULE = 'default'

/** What the rules of a document need of the whole. */
export interface ReadContext extends FieldContext {
  /** The rule that is being read. */
  name: string
  readonly normalize: Normalize
  readonly warnings: Warning[]
  order: number
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] }

/** A rule that states nothing. */
const BLANK: Rule = {
  name: '',
  family: '',
  ...DEFAULT_FIELDS,
  pattern: [],
  normalPattern: null,
  order: 0,
}

/** The rule, and another one for each of its tiers. Faults are noted, and what is faulty is left out. */
export function readRule(name: string, reader: FieldReader, context: ReadContext): Rule[] {
  reader.refuseUnknown(RULE_FIELD_NAMES, name === DEFAULT_RULE ? 'default_rule' : `rule ${name}`)
  if (!NAME.test(name))
    reader.fault(
      '',
      `the name ${quote(name)} is not letters, digits, _ . - (and @tier), at most 100`,
    )
  warnOfFieldsWithoutEffect(reader, context)
  context.name = name
  // A copy has the shape of all others, so that reading very many is quick.
  const rule: Mutable<Rule> = { ...BLANK }
  rule.name = name
  rule.family = name.includes('@') ? name.split('@')[0]! : name
  readFields(reader, context, rule)
  rule.pattern = readPattern(reader, rule.resource)
  rule.normalPattern = normalizePattern(rule.pattern, context.normalize)
  rule.order = context.order++
  refuseSplit(reader, reader.pathOf('shards'), rule.limits, rule.shards)
  warnOfStrict(rule, reader.pathOf('lease'), context)
  return reader.has('tiers') ? [rule, ...readVariants(rule, reader, context)] : [rule]
}

function readPattern(reader: FieldReader, resource: string): Pattern {
  const parsed = parsePattern(resource)
  if (typeof parsed !== 'string') return parsed
  reader.fault('resource', `${quote(resource)} ${parsed}`)
  return []
}

/** A rule for each of the tiers that have limits of their own. */
function readVariants(rule: Rule, reader: FieldReader, context: ReadContext): Rule[] {
  return RULE_FIELDS.tiers.read(reader, context).map(({ tier, limits, path }) => {
    const name = `${rule.family}@${tier}`
    const variant = { ...rule, name, tier, limits, order: context.order++ }
    refuseSplit(reader, path, limits, rule.shards)
    warnOfStrict(variant, path, context)
    return variant
  })
}

const WITHOUT_EFFECT = RULE_FIELD_NAMES.filter(
  (name) => RULE_FIELDS[name].effect === 'not in force yet',
)

function warnOfFieldsWithoutEffect(reader: FieldReader, { warnings }: ReadContext): void {
  for (const name of WITHOUT_EFFECT)
    if (reader.has(name))
      warnings.push({
        code: 'not_in_force_yet',
        path: reader.pathOf(name),
        message: 'is not in force yet',
      })
}

function warnOfStrict({ lease, limits }: Rule, path: string, { warnings }: ReadContext): void {
  const message = strictBecause(lease, limits)
  if (message !== undefined) warnings.push({ code: 'never_leased', path, message })
}
