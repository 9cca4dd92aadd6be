/**
 * The rules document as a JSON Schema, for editors: everything that the reader accepts passes, and whatever
 * is of the wrong kind, misnamed or misspelt does not. A part or field that is missing does not compile.
 */
import {
  type DEFAULTS_FIELDS,
  type DOCUMENT_PARTS,
  type ENDING_FIELDS,
  type NORMALIZE_FIELDS,
  type OVERRIDE_FIELDS,
  RULE_FIELD_NAMES,
  RULE_FIELDS,
} from '@sluice/limiter/transport'
import {
  list,
  literal,
  named,
  raw,
  SchemaPrinter,
  type TSchema,
  text,
  whole as wholeNumber,
} from '../schema.js'
import { limitsInput } from './limit-schema.js'
import { NAME_PATTERN, SCOPE_PATTERN, TIER_PATTERN, whole } from './names.js'
import { failureMode, fieldSchema, SWITCH, scopeName } from './rule-fields.js'

type SchemaTable<Fields> = { readonly [F in keyof Fields]: TSchema }

const DAY = '\\d{4}-\\d\\d-\\d\\d'
const TIME = `^${DAY}(T[0-9:.]+(Z|[+-]\\d\\d:\\d\\d))?$`

const fields = (description: string, properties: object, required: readonly string[] = []) =>
  raw<object>({
    ...(description === '' ? {} : { description }),
    type: 'object',
    properties,
    additionalProperties: false,
    ...(required.length === 0 ? {} : { required }),
  })
const onOff = (description: string) => raw<boolean | string>({ description, ...SWITCH })
const scopedText = (pattern: string) => ({ type: 'string', pattern: whole(pattern) })
const names = (pattern: string) => ({ propertyNames: scopedText(pattern) })

const ending: SchemaTable<typeof ENDING_FIELDS> = {
  until: text('The end: a day, or a time with its zone, such as 2026-12-31T12:00:00Z.', {
    pattern: TIME,
  }),
  reason: text('Why, for those who look later.'),
}

const scopedValue = named(
  'scoped_value',
  raw<string>({ type: 'string', pattern: `^${SCOPE_PATTERN}:[^]+$` }),
)

/** One scope with its value, and an end and a reason if need be. */
const entryObject = raw<object>({
  type: 'object',
  properties: ending,
  patternProperties: {
    [`^(?!(?:${Object.keys(ending).join('|')})$)${SCOPE_PATTERN}$`]: {
      type: 'string',
      minLength: 1,
    },
  },
  additionalProperties: false,
  anyOf: [
    { minProperties: 3, maxProperties: 3, required: ['until', 'reason'] },
    { minProperties: 2, maxProperties: 2, required: ['until'], not: { required: ['reason'] } },
    { minProperties: 2, maxProperties: 2, required: ['reason'], not: { required: ['until'] } },
    {
      minProperties: 1,
      maxProperties: 1,
      not: { anyOf: [{ required: ['until'] }, { required: ['reason'] }] },
    },
  ],
})
const entry = named('entry', raw<unknown>({ anyOf: [scopedValue, entryObject] }))

const overrideFields: SchemaTable<typeof OVERRIDE_FIELDS> = {
  scope: scopeName,
  value: text('Whose limits.', { minLength: 1 }),
  rule: text("A rule's name; name@tier for one tier of it."),
  limits: limitsInput,
  ...ending,
}
const override = named('override', fields('', overrideFields, ['scope', 'value', 'rule', 'limits']))

const RULE_REQUIRED = RULE_FIELD_NAMES.filter((name) => RULE_FIELDS[name].isRequired)
const ruleFields = (isDefault: boolean) =>
  Object.fromEntries(
    RULE_FIELD_NAMES.filter((name) => !isDefault || RULE_FIELDS[name].inDefaultRule).map((name) => [
      name,
      fieldSchema(name, 'input'),
    ]),
  )
const rule = named('rule', fields('', ruleFields(false), RULE_REQUIRED))

const defaultsFields: SchemaTable<typeof DEFAULTS_FIELDS> = {
  failure_mode: failureMode,
  ipv6_prefix: wholeNumber(1, 128, 'IPv6 addresses are counted by this prefix; 64 unless given.'),
}

const normalizeFields: SchemaTable<typeof NORMALIZE_FIELDS> = {
  checks: onOff(
    'For checks too, not only for GET /v1/auth. Off unless given; fold_case: on or a stated trailing_slash turns it on.',
  ),
  trailing_slash: raw<string>({
    description: 'Whether /a/ is /a; drop unless given.',
    enum: ['drop', 'keep'],
  }),
  fold_case: onOff('Whether /A is /a; off unless given.'),
}

/** The fields of the parts of a document that have some, besides rules and limits, by their titles. */
export const DOCUMENT_OBJECTS: Readonly<Record<string, Readonly<Record<string, TSchema>>>> = {
  Defaults: defaultsFields,
  Normalize: normalizeFields,
  'An override': overrideFields,
  'An exemption or a block': ending,
}

const AMOUNT = { type: 'integer', minimum: 1, maximum: 1_000_000_000 }

export const DOCUMENT_PART_SCHEMAS: SchemaTable<typeof DOCUMENT_PARTS> = {
  version: literal(1, 'The version of this format.'),
  namespace: text('Counters of different namespaces are apart.', { pattern: whole(TIER_PATTERN) }),
  timezone: text('Of calendar windows that name none; UTC unless given.'),
  defaults: fields('What holds where nothing else is stated.', defaultsFields),
  normalize: fields(
    'How resources that begin with / are brought into one spelling before they are compared.',
    normalizeFields,
  ),
  scopes: list(
    raw<string>(scopedText(SCOPE_PATTERN)),
    'Scopes that requests may name though no rule does.',
  ),
  default_rule: fields(
    'Applies where no rule of a scope other than global does.',
    ruleFields(true),
    RULE_REQUIRED,
  ),
  tiers: raw<object>({
    description: 'Names of tiers, and who has them.',
    type: 'object',
    ...names(TIER_PATTERN),
    additionalProperties: { type: 'array', items: scopedValue },
  }),
  rules: raw<object>({
    description: 'Rules by name.',
    type: 'object',
    propertyNames: {
      allOf: [scopedText(NAME_PATTERN), { not: scopedText(`default(?:@${TIER_PATTERN})?`) }],
    },
    additionalProperties: rule,
  }),
  overrides: list(override, 'Other limits for one subject of one rule.'),
  costs: raw<object>({
    description: 'What a request costs that does not say, by method and resource.',
    type: 'object',
    additionalProperties: {
      anyOf: [AMOUNT, { type: 'object', ...names(SCOPE_PATTERN), additionalProperties: AMOUNT }],
    },
  }),
  exemptions: list(entry, 'Who passes all rules.'),
  blocks: list(entry, 'Who is refused before anything else.'),
}

/** The schema of a rules file. */
export function rulesFileSchema(): object {
  const printer = new SchemaPrinter('#/$defs/')
  const { description: _none, ...document } = printer.print(fields('', DOCUMENT_PART_SCHEMAS))
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'Sluice rules',
    description: 'Which requests may pass how often.',
    ...document,
    $defs: printer.definitions,
  }
}
