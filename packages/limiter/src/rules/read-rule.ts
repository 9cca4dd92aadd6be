/** Reads one rule of a document, with its tiers. */
import { quote } from '../faults.js'
import type { FieldReader } from '../field-reader.js'
import { isFault, parseLimit } from '../limits/grammar.js'
import type { Limit } from '../limits/limit.js'
import { readLongForm } from '../limits/long-form.js'
import { MOST_SHARDS, splitFault } from '../limits/split.js'
import type { FailureMode } from './document.js'
import { readLease, strictBecause } from './lease-terms.js'
import { type Normalize, normalizePattern } from './normalize.js'
import { parsePattern } from './pattern.js'
import type { Rule } from './rule.js'
import { METHOD, NAME, readValue, SCOPE, TIER, UNIT } from './words.js'

const FIELDS = [
  'scope',
  'value',
  'tier',
  'resource',
  'methods',
  'limits',
  'tiers',
  'additive',
  'unit',
  'enabled',
  'shadow',
  'failure_mode',
  'description',
  'rollout',
  'reach',
  'shards',
  'lease',
]
const NOT_IN_FORCE_YET = ['reach']
const FAILURE_MODES: readonly FailureMode[] = ['open', 'closed', 'local']
const MOST_LIMITS = 16
/** What the document's default rule is called. */
export const DEFAULT_RULE = 'default'

/** What the parts of a document need of the whole. */
export interface ReadContext {
  readonly timezone: string
  readonly failureMode: FailureMode
  readonly normalize: Normalize
  readonly warnings: string[]
  order: number
  /** The entries of an object, or undefined after noting that it is none. */
  object(value: unknown, path: string, what: string): [string, unknown][] | undefined
}

/** The rule and one more for each of its tiers; what is faulty is noted and left out. */
export function readRule(name: string, reader: FieldReader, context: ReadContext): Rule[] {
  reader.refuseUnknown(FIELDS, name === DEFAULT_RULE ? 'default_rule' : `rule ${name}`)
  if (!NAME.test(name))
    reader.fault(
      '',
      `the name ${quote(name)} is not letters, digits, _ . - (and @tier), at most 100`,
    )
  const scope = reader.text('scope')
  if (scope === undefined) {
    if (!reader.has('scope'))
      reader.fault('scope', 'is missing', {
        expected: 'user, api_key, ip, org, global or a name of your own',
      })
  } else if (!SCOPE.test(scope))
    reader.fault(
      'scope',
      `${quote(scope)} is not a small letter, then small letters, digits or _, at most 32`,
    )
  const tier = readTier(name, reader)
  const limits = readLimits(reader, 'limits', context.timezone)
  for (const field of NOT_IN_FORCE_YET) {
    if (reader.has(field)) context.warnings.push(`${reader.pathOf(field)} is not in force yet`)
  }
  const family = name.split('@')[0]!
  const rule: Rule = {
    name,
    family,
    scope: scope ?? '',
    value: readRuleValue(reader, scope ?? ''),
    tier,
    ...readResource(reader, context.normalize),
    limits,
    additive: reader.flag('additive'),
    unit: readUnit(reader),
    enabled: reader.has('enabled') ? reader.flag('enabled') : true,
    shadow: reader.flag('shadow'),
    rollout: readRollout(reader),
    failureMode: reader.oneOf('failure_mode', FAILURE_MODES) ?? context.failureMode,
    shards: readShards(reader),
    lease: readLease(reader),
    description: reader.text('description') ?? null,
    order: context.order++,
  }
  refuseSplit(reader, reader.pathOf('shards'), rule.limits, rule.shards)
  warnOfStrict(rule, reader.pathOf('lease'), context)
  return [rule, ...readTiers(rule, reader, context)]
}

function readShards(reader: FieldReader): number {
  const shards = reader.has('shards') ? reader.get('shards') : 1
  if (Number.isInteger(shards) && (shards as number) >= 1 && (shards as number) <= MOST_SHARDS)
    return shards as number
  reader.fault('shards', `${quote(shards)} is not a whole number from 1 to ${MOST_SHARDS}`)
  return 1
}

/** Notes every limit that cannot be split so. */
export function refuseSplit(
  reader: FieldReader,
  path: string,
  limits: readonly Limit[],
  shards: number,
): void {
  for (const limit of limits) {
    const message = splitFault(limit, shards)
    if (message !== undefined) reader.note({ path, message })
  }
}

function warnOfStrict({ lease, limits }: Rule, path: string, { warnings }: ReadContext): void {
  const why = strictBecause(lease, limits)
  if (why !== undefined) warnings.push(`${path}: ${why}`)
}

function readTier(name: string, reader: FieldReader): string | null {
  const tier = reader.text('tier') ?? null
  if (tier !== null && !TIER.test(tier)) reader.fault('tier', `${quote(tier)} is not a tier's name`)
  const named = name.split('@')[1]
  if (named !== undefined && named !== tier)
    reader.fault(
      'tier',
      `a rule named ${quote(name)} is of tier ${quote(named)}, not ${quote(tier)}`,
    )
  return tier
}

function readTiers(rule: Rule, reader: FieldReader, context: ReadContext): Rule[] {
  if (!reader.has('tiers')) return []
  const tiers = context.object(reader.get('tiers'), reader.pathOf('tiers'), 'limits by tier')
  if (rule.tier !== null) reader.fault('tiers', 'a rule of one tier has no others')
  return (tiers ?? []).map(([tier, limits]) => {
    if (!TIER.test(tier)) reader.fault('tiers', `${quote(tier)} is not a tier's name`)
    const path = `${reader.pathOf('tiers')}.${tier}`
    const read = readLimitList(limits, path, reader, context.timezone)
    const name = `${rule.family}@${tier}`
    const variant = { ...rule, name, tier, limits: read, order: context.order++ }
    refuseSplit(reader, path, read, rule.shards)
    warnOfStrict(variant, path, context)
    return variant
  })
}

function readRuleValue(reader: FieldReader, scope: string): Rule['value'] {
  const text = reader.text('value')
  if (text === undefined) return null
  if (scope === 'global') reader.fault('value', 'the scope global has no values')
  const value = readValue(scope, text)
  if (typeof value === 'string' || 'bits' in value) return value
  reader.fault('value', value.fault)
  return null
}

function readUnit(reader: FieldReader): string {
  const unit = reader.text('unit') ?? 'requests'
  if (!UNIT.test(unit))
    reader.fault('unit', `${quote(unit)} is not a small letter, then small letters, digits or _`)
  return unit
}

function readRollout(reader: FieldReader): number {
  const rollout = reader.get('rollout') ?? 100
  if (typeof rollout === 'number' && rollout >= 0 && rollout <= 100) return rollout
  reader.fault('rollout', `${quote(rollout)} is not a number of percent from 0 to 100`)
  return 100
}

type Resource = Pick<Rule, 'resource' | 'pattern' | 'normalPattern' | 'methods'>

/** `resource` may start with methods: `GET /x`, `GET|HEAD /x`. */
export function splitMethods(text: string): { methods: string[] | null; resource: string } {
  const match = /^([A-Z][A-Z|-]*) +(\S.*)$/.exec(text)
  if (match === null) return { methods: null, resource: text }
  return { methods: match[1]!.split('|'), resource: match[2]! }
}

function readResource(reader: FieldReader, normalize: Normalize): Resource {
  const split = splitMethods(reader.text('resource') ?? '*')
  const stated = reader.get('methods')
  let methods = split.methods
  if (stated !== undefined) {
    if (methods !== null)
      reader.fault('methods', 'the resource names methods already; write them in one place')
    const list: unknown[] = Array.isArray(stated) ? stated : [stated]
    methods = list.filter((method) => typeof method === 'string')
    for (const other of list.filter((method) => typeof method !== 'string'))
      reader.fault('methods', `${quote(other)} is not a method`)
    if (list.length === 0) reader.fault('methods', 'is empty; leave it out for all methods')
  }
  for (const method of methods ?? []) {
    if (!METHOD.test(method))
      reader.fault(
        stated === undefined ? 'resource' : 'methods',
        `${quote(method)} is not a method`,
      )
  }
  const parsed = parsePattern(split.resource)
  if (typeof parsed === 'string') reader.fault('resource', `${quote(split.resource)} ${parsed}`)
  const pattern = typeof parsed === 'string' ? [] : parsed
  return {
    resource: split.resource,
    pattern,
    normalPattern: normalizePattern(pattern, normalize),
    methods: sortedMethods(methods),
  }
}

export function sortedMethods(methods: readonly string[] | null): string[] | null {
  return methods === null ? null : [...new Set(methods.map((m) => m.toUpperCase()))].sort()
}

export function readLimits(reader: FieldReader, field: string, timezone: string): Limit[] {
  if (!reader.has(field)) {
    reader.fault(field, 'is missing', { expected: 'one or more, such as 10/s' })
    return []
  }
  return readLimitList(reader.get(field), reader.pathOf(field), reader, timezone)
}

function readLimitList(
  value: unknown,
  path: string,
  owner: FieldReader,
  timezone: string,
): Limit[] {
  const list = Array.isArray(value) ? value : [value]
  const expected = 'one or more limits, such as 10/s'
  if (list.length === 0) owner.note({ path, message: 'is empty', expected })
  if (list.length > MOST_LIMITS)
    owner.note({ path, message: `has ${list.length} limits; at most ${MOST_LIMITS}` })
  const limits: Limit[] = []
  for (const [i, item] of list.slice(0, MOST_LIMITS).entries()) {
    const at = Array.isArray(value) ? `${path}[${i}]` : path
    const limit = readLimit(item, at, owner, timezone)
    if (limit !== undefined) limits.push(limit)
  }
  return limits
}

function readLimit(
  item: unknown,
  path: string,
  owner: FieldReader,
  timezone: string,
): Limit | undefined {
  if (typeof item !== 'string') {
    const reader = owner.child(item, path, 'a limit such as 10/s')
    return reader === undefined ? undefined : readLongForm(reader, timezone)
  }
  const limit = parseLimit(item, timezone)
  if (!isFault(limit)) return limit
  owner.note({ ...limit, path })
  return undefined
}
