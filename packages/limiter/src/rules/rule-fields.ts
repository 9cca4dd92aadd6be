/**
 * The fields of a rule, one entry each: how a field is read, its default, when two values are the same,
 * and what a change of it means. Everything that lists rule fields uses this table. To add a field, add it
 * to `RuleInput` and `RULE_FIELDS`; the compiler names the other tables that lack it.
 */
import type { FieldReader } from '../field-reader.js'
import { type Limit, printLimit } from '../limits/limit.js'
import type { LimitInput } from '../limits/long-form.js'
import { type Labels, readLabels } from './labels.js'
import { type LeaseInput, readLease } from './lease-terms.js'
import { readMethods, splitMethods } from './methods.js'
import { readLimits } from './read-limits.js'
import {
  readMessage,
  readRollout,
  readRuleValue,
  readScope,
  readShards,
  readTarget,
  readTier,
  readTiers,
  readUnit,
  type TierLimits,
} from './read-rule-fields.js'

export const FAILURE_MODES = ['open', 'closed', 'local'] as const
export type FailureMode = (typeof FAILURE_MODES)[number]
export const REACHES = ['regional', 'global'] as const
export type Reach = (typeof REACHES)[number]
export const PRIORITIES = ['critical', 'normal', 'bulk'] as const
export type Priority = (typeof PRIORITIES)[number]

export type OneOrMore<T> = T | readonly T[]
export type LimitsInput = OneOrMore<LimitInput>

/** A rule as a document states it. */
export interface RuleInput<Scope extends string = string> {
  /** What is counted apart: `user`, `api_key`, `ip`, `org`, `global` or a name of your own. */
  readonly scope: Scope
  /** One value of the scope; for `ip` an address or a CIDR. */
  readonly value?: string
  /** Only for the subjects of this tier. */
  readonly tier?: string
  /** `/v1/search`, `/users/:id`, `/v1/*`, a name, or `*`; with a method before it if there is one. */
  readonly resource?: string
  readonly methods?: OneOrMore<string>
  readonly limits: LimitsInput
  /** Other limits for the subjects of a tier: a rule `name@tier` with the same counters. */
  readonly tiers?: Readonly<Record<string, LimitsInput>>
  /** Applies besides the most specific rule, instead of contesting with it. */
  readonly additive?: boolean
  /** What the limits count; `requests` unless given. */
  readonly unit?: string
  readonly enabled?: boolean
  /** Counted and reported, never enforced. */
  readonly shadow?: boolean
  /** Percent of its subjects, chosen by hash, for which it is enforced; for the others it is in shadow. */
  readonly rollout?: number
  readonly failure_mode?: FailureMode
  /** Not in force yet. */
  readonly reach?: Reach
  /** How many counters share a subject's load over Redis, each with its part of the limits; 1 unless given. */
  readonly shards?: number
  /** Whether instances take ahead of time and decide from that; as the instance does unless given. */
  readonly lease?: LeaseInput
  /** The text for denied callers, in place of the standard message; at most 500 characters. */
  readonly message?: string
  /** For finding rules, such as `{ team: 'search' }`: at most 16. */
  readonly labels?: Labels
  /** The target whose load the limits follow. Not in force yet. */
  readonly adaptive?: string
  /** How important its requests are. Not in force yet. */
  readonly priority?: Priority
  readonly description?: string
}

export type RuleField = keyof RuleInput

/** What a rule's fields need of the document around them. */
export interface FieldContext {
  /** The rule's name. */
  readonly name: string
  readonly timezone: string
  /** The document's default. */
  readonly failureMode: FailureMode
}

export interface RuleFieldDefinition<Value> {
  /** The value that a rule states; the default where it states none, or a faulty one, which is noted. */
  readonly read: (reader: FieldReader, context: FieldContext) => Value
  readonly default: Value
  equals(a: Value, b: Value): boolean
  /**
   * What a change affects: `matching` is which requests the rule governs and for whom it is enforced;
   * `counters` means that subjects may start with unused counters.
   */
  readonly change: 'matching' | 'counters' | 'nothing'
  /** Whether the field takes part in decisions, is shown to denied callers or only in lists, or has no effect yet. */
  readonly effect: 'decides' | 'shown to callers' | 'shown in lists' | 'not in force yet'
  /** Every rule must state it. */
  readonly isRequired: boolean
  /** The default rule may have it. */
  readonly inDefaultRule: boolean
  /** The variants of a rule share counters, so that they must agree in this field. */
  readonly sameInFamily: boolean
  /** Instances of the previous release cannot read a rule that has it. */
  readonly isNew: boolean
  /** Read even when absent: its default comes from another field or from the document. */
  readonly isAlwaysRead: boolean
}

type MissingEntry = RuleFieldDefinition<never> & { readonly inDefaultRule: boolean }

/** An entry of the table; what is not given is as for most fields. */
function field<Value, const InDefaultRule extends boolean = true>(given: {
  readonly read: RuleFieldDefinition<Value>['read']
  readonly default: NoInfer<Value>
  readonly equals?: (a: NoInfer<Value>, b: NoInfer<Value>) => boolean
  readonly change: RuleFieldDefinition<Value>['change']
  readonly effect?: RuleFieldDefinition<Value>['effect']
  readonly isRequired?: boolean
  readonly inDefaultRule?: InDefaultRule
  readonly sameInFamily?: boolean
  readonly isNew?: boolean
  readonly isAlwaysRead?: boolean
}): RuleFieldDefinition<Value> & { readonly inDefaultRule: InDefaultRule } {
  return {
    equals: Object.is,
    effect: 'decides',
    isRequired: false,
    inDefaultRule: true as InDefaultRule,
    sameInFamily: false,
    isNew: false,
    isAlwaysRead: false,
    ...given,
  }
}

const isSameJson = (a: unknown, b: unknown) => JSON.stringify(a) === JSON.stringify(b)
const printTier = ({ tier, limits }: TierLimits) => [tier, limits.map(printLimit)]

const FIELDS = {
  scope: field({
    read: readScope,
    default: '',
    isRequired: true,
    isAlwaysRead: true,
    change: 'counters',
    sameInFamily: true,
  }),
  value: field({
    read: readRuleValue,
    default: null,
    equals: isSameJson,
    change: 'matching',
    inDefaultRule: false,
  }),
  tier: field({
    read: (reader, { name }) => readTier(reader, name),
    default: null,
    isAlwaysRead: true,
    change: 'matching',
    inDefaultRule: false,
  }),
  resource: field({
    read: (reader) => splitMethods(reader.text('resource') ?? '*').resource,
    default: '*',
    isAlwaysRead: true,
    change: 'matching',
    inDefaultRule: false,
  }),
  /** Upper case, sorted; null for all. */
  methods: field({
    read: readMethods,
    default: null,
    equals: isSameJson,
    isAlwaysRead: true,
    change: 'matching',
    inDefaultRule: false,
  }),
  limits: field({
    read: (reader, { timezone }): readonly Limit[] => readLimits(reader, 'limits', timezone),
    default: [],
    equals: (a, b) => isSameJson(a.map(printLimit), b.map(printLimit)),
    isRequired: true,
    isAlwaysRead: true,
    change: 'counters',
  }),
  tiers: field({
    read: (reader, { timezone }) => readTiers(reader, timezone),
    default: [],
    equals: (a, b) => isSameJson(a.map(printTier), b.map(printTier)),
    change: 'matching',
    inDefaultRule: false,
  }),
  additive: field({
    read: (reader) => reader.flag('additive'),
    default: false,
    change: 'matching',
    inDefaultRule: false,
    sameInFamily: true,
  }),
  unit: field({
    read: readUnit,
    default: 'requests',
    change: 'matching',
    sameInFamily: true,
  }),
  enabled: field({
    read: (reader) => (reader.has('enabled') ? reader.flag('enabled') : true),
    default: true,
    change: 'matching',
  }),
  shadow: field({
    read: (reader) => reader.flag('shadow'),
    default: false,
    change: 'matching',
    sameInFamily: true,
  }),
  /** Percent of its subjects for which it is enforced. */
  rollout: field({ read: readRollout, default: 100, change: 'matching' }),
  failure_mode: field({
    read: (reader, { failureMode }): FailureMode =>
      reader.oneOf('failure_mode', FAILURE_MODES) ?? failureMode,
    default: 'local',
    isAlwaysRead: true,
    change: 'nothing',
  }),
  reach: field({
    read: (reader): Reach => reader.oneOf('reach', REACHES) ?? 'regional',
    default: 'regional',
    change: 'nothing',
    effect: 'not in force yet',
  }),
  shards: field({
    read: readShards,
    default: 1,
    change: 'counters',
    sameInFamily: true,
  }),
  /** Null: as the instance does. */
  lease: field({
    read: readLease,
    default: null,
    equals: isSameJson,
    change: 'nothing',
  }),
  message: field({
    read: readMessage,
    default: null,
    change: 'nothing',
    effect: 'shown to callers',
    isNew: true,
  }),
  labels: field({
    read: readLabels,
    default: {},
    equals: isSameJson,
    change: 'nothing',
    effect: 'shown in lists',
    isNew: true,
  }),
  adaptive: field({
    read: readTarget,
    default: null,
    change: 'nothing',
    effect: 'not in force yet',
    isNew: true,
  }),
  priority: field({
    read: (reader): Priority | null => reader.oneOf('priority', PRIORITIES) ?? null,
    default: null,
    change: 'nothing',
    effect: 'not in force yet',
    isNew: true,
  }),
  description: field({
    read: (reader) => reader.text('description') ?? null,
    default: null,
    change: 'nothing',
    effect: 'shown in lists',
  }),
}

/** Of the fields of `RuleInput` one that has no entry does not compile, here and not where the table is used. */
export const RULE_FIELDS: {
  readonly [F in RuleField]: F extends keyof typeof FIELDS ? (typeof FIELDS)[F] : MissingEntry
} = FIELDS

/** The value that a field has once it is read. */
export type RuleFieldValue<F extends RuleField> =
  (typeof RULE_FIELDS)[F] extends RuleFieldDefinition<infer Value> ? Value : never

/** `failure_mode` of a document is `failureMode` of a rule. */
type Camel<S extends string> = S extends `${infer A}_${infer B}` ? `${A}${Capitalize<Camel<B>>}` : S

/** Fields that the default rule cannot have. */
export type NotInDefaultRule = {
  [F in RuleField]: (typeof RULE_FIELDS)[F]['inDefaultRule'] extends false ? F : never
}[RuleField]

/** Tiers of a rule become rules of their own. */
export type OwnField = Exclude<RuleField, 'tiers'>

/** The fields of a rule, each under its name in camel case. */
export type RuleFieldValues = {
  readonly [F in OwnField as Camel<F>]: RuleFieldValue<F>
}

export const RULE_FIELD_NAMES = Object.keys(RULE_FIELDS) as RuleField[]
export const OWN_FIELDS = RULE_FIELD_NAMES.filter((name): name is OwnField => name !== 'tiers')

const PROPERTIES = Object.fromEntries(
  OWN_FIELDS.map((name) => [name, name.replace(/_(.)/g, (_, c: string) => c.toUpperCase())]),
) as { readonly [F in OwnField]: Camel<F> }

/** A field of a rule, by its name in documents. */
export function fieldOf<F extends OwnField>(rule: RuleFieldValues, name: F): RuleFieldValue<F> {
  return rule[PROPERTIES[name]] as RuleFieldValue<F>
}

/** The fields of a rule that states nothing. */
export const DEFAULT_FIELDS = Object.fromEntries(
  OWN_FIELDS.map((name) => [PROPERTIES[name], RULE_FIELDS[name].default]),
) as RuleFieldValues

/** What reading needs of the table, found once: a document may have a hundred thousand rules. */
const READERS = OWN_FIELDS.map((name) => {
  const {
    isAlwaysRead,
    read,
  }: Pick<RuleFieldDefinition<unknown>, 'isAlwaysRead' | 'read'> = RULE_FIELDS[name]
  return { name, property: PROPERTIES[name], isAlwaysRead, read }
})

/** Reads every field but the tiers into a rule that has the defaults. Faults are noted. */
export function readFields(
  reader: FieldReader,
  context: FieldContext,
  into: RuleFieldValues,
): void {
  const values = into as unknown as Record<string, unknown>
  for (const { name, property, isAlwaysRead, read } of READERS)
    if (isAlwaysRead || reader.has(name)) values[property] = read(reader, context)
}

/** The names of the fields in which two rules differ. */
export function differingFields(a: RuleFieldValues, b: RuleFieldValues): OwnField[] {
  return OWN_FIELDS.filter((name) => !isSameField(a, b, name))
}

export function isSameField(a: RuleFieldValues, b: RuleFieldValues, name: OwnField): boolean {
  const field = RULE_FIELDS[name] as RuleFieldDefinition<unknown>
  return field.equals(fieldOf(a, name), fieldOf(b, name))
}
