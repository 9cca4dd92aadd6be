/**
 * The fields of a rule as documents and the API have them: schema, documentation and printing. A field of
 * the library's table that is missing here does not compile.
 */

import { printLimit, type RuleField, type RuleInput } from '@sluice/limiter'
import {
  BUILT_IN_SCOPES,
  FAILURE_MODES,
  fieldOf,
  LONGEST_LABEL,
  LONGEST_MESSAGE,
  MOST_LABELS,
  type OwnField,
  PRIORITIES,
  printCidr,
  REACHES,
  RULE_FIELDS,
  type RuleFieldValue,
  type RuleFieldValues,
  writeLease,
} from '@sluice/limiter/transport'
import {
  flag,
  LINE,
  list,
  named,
  newField,
  object,
  oneOf,
  orNull,
  percent,
  raw,
  type Static,
  type TSchema,
  table,
  text,
  whole as wholeNumber,
} from '../schema.js'
import { limitLines, limitsInput } from './limit-schema.js'
import { LABEL_PATTERN, METHOD_PATTERN, SCOPE_PATTERN, TIER_PATTERN, whole } from './names.js'

export interface RuleFieldContract<F extends RuleField> {
  /** One sentence or two, for editors, the API's description and the reference. */
  readonly description: string
  /** As a document states it. */
  readonly input: TSchema
  /** As the API answers it; null: answers do not have it. */
  readonly answer: TSchema | null
  /** The value as documents and the API have it. */
  print(value: RuleFieldValue<F>): unknown
  /** What the author wrote is stored, not what it was resolved to. */
  readonly isStoredAsWritten?: true
  /** What was printed, in plans and logs; a text as it is and JSON for the rest unless given. */
  words?(printed: unknown): string
}

const same = (value: unknown) => value
const or = (none: string) => (printed: unknown) => (printed as string | null) ?? none

export const scopeName = raw<string>({
  description: 'What is counted apart: user, api_key, ip, org, global, or a name of your own.',
  anyOf: [{ enum: [...BUILT_IN_SCOPES] }, { type: 'string', pattern: whole(SCOPE_PATTERN) }],
})

export const failureMode = named(
  'failure_mode',
  oneOf(FAILURE_MODES, 'While the store is away: let pass, refuse, or decide in this process.'),
)

const leaseSizes = object(
  {},
  {
    ahead: text("How much time's worth of the local rate: 10ms to 400ms.", {
      pattern: whole('[0-9][0-9_]{0,15}ms'),
    }),
    most: wholeNumber(2, 1_000_000_000, 'The largest lease.'),
  },
)

const labels = table(
  text('A value.', { minLength: 1, maxLength: LONGEST_LABEL, pattern: LINE }),
  '',
  {
    propertyNames: { type: 'string', pattern: whole(LABEL_PATTERN) },
    maxProperties: MOST_LABELS,
  },
)

/** True, false, on or off. */
export const SWITCH = { enum: [true, false, 'on', 'off'] }

const CONTRACTS = {
  scope: {
    description: 'What is counted apart: user, api_key, ip, org, global, or a name of your own.',
    input: scopeName,
    answer: text('What is counted apart.'),
    print: same,
  },
  value: {
    description: 'One value of the scope; of ip an address or a CIDR.',
    input: text('', { minLength: 1 }),
    answer: orNull(text('')),
    print: (value) => (typeof value === 'object' && value !== null ? printCidr(value) : value),
    isStoredAsWritten: true,
    words: or('any'),
  },
  tier: {
    description: 'Only for subjects of this tier.',
    input: text('', { pattern: whole(TIER_PATTERN) }),
    answer: orNull(text('')),
    print: same,
    words: or('any'),
  },
  resource: {
    description:
      'A path (/v1/search, /users/:id, /v1/*), a name or *; a method may stand before it.',
    input: text('', { minLength: 1 }),
    answer: text(''),
    print: same,
  },
  methods: {
    description: 'Which methods; all unless given.',
    input: raw<RuleInput['methods']>({
      anyOf: [
        { type: 'string', pattern: whole(METHOD_PATTERN) },
        { type: 'array', items: { type: 'string', pattern: whole(METHOD_PATTERN) }, minItems: 1 },
      ],
    }),
    answer: orNull(list(text('A method.'))),
    print: same,
    words: (methods) => (methods as string[] | null)?.join('|') ?? 'all',
  },
  limits: {
    description: 'One limit, or several that must all pass.',
    input: limitsInput,
    answer: limitLines,
    print: (limits) => limits.map(printLimit),
    words: (limits) => (limits as string[]).join(', '),
  },
  tiers: {
    description: 'Other limits for the subjects of a tier, in the same counters.',
    input: table(limitsInput, '', {
      propertyNames: { type: 'string', pattern: whole(TIER_PATTERN) },
    }),
    answer: null,
    print: (tiers: RuleFieldValue<'tiers'>) =>
      Object.fromEntries(tiers.map(({ tier, limits }) => [tier, limits.map(printLimit)])),
  },
  additive: {
    description: 'Applies besides the most specific rule, instead of contesting with it.',
    input: flag(''),
    answer: flag(''),
    print: same,
  },
  unit: {
    description: 'What the limits count; requests unless given.',
    input: text('', { pattern: whole(SCOPE_PATTERN) }),
    answer: text(''),
    print: same,
  },
  enabled: {
    description: 'False: as if it were not there.',
    input: flag(''),
    answer: flag(''),
    print: same,
  },
  shadow: {
    description: 'Counted and reported, never enforced.',
    input: flag(''),
    answer: flag(''),
    print: same,
  },
  rollout: {
    description:
      'Percent of its subjects, chosen by hash, for which it is enforced; in shadow for the others.',
    input: percent(''),
    answer: percent(''),
    print: same,
    words: (rollout) => `${rollout as number}%`,
  },
  failure_mode: {
    description: 'While the store is away: let pass, refuse, or decide in this process.',
    input: failureMode,
    answer: oneOf(FAILURE_MODES, ''),
    print: same,
    isStoredAsWritten: true,
  },
  reach: {
    description: 'Where it counts: in each region apart, or in all together.',
    input: oneOf(REACHES, ''),
    answer: oneOf(REACHES, ''),
    print: same,
  },
  shards: {
    description:
      'How many counters share the load of one subject over Redis, each with its part of the limits; 1 unless given.',
    input: wholeNumber(1, 1024, ''),
    answer: wholeNumber(1, 1024, ''),
    print: same,
  },
  lease: {
    description:
      'Whether instances take ahead of time and decide from that; as the instance does unless given.',
    input: raw<RuleInput['lease']>({ anyOf: [SWITCH, leaseSizes] }),
    answer: raw<RuleInput['lease'] | null>({
      anyOf: [{ type: ['boolean', 'null'] }, leaseSizes],
    }),
    print: (lease) => (lease === null ? null : writeLease(lease)),
    words: leaseWords,
  },
  message: {
    description: `The text for denied callers, in place of the standard message: one line of at most ${LONGEST_MESSAGE} characters.`,
    input: text('', { minLength: 1, maxLength: LONGEST_MESSAGE, pattern: LINE }),
    answer: orNull(text('')),
    print: same,
    words: quotedText,
  },
  labels: {
    description: `For finding rules, such as { team: search }: at most ${MOST_LABELS}, keys and values at most ${LONGEST_LABEL} characters.`,
    input: labels,
    answer: labels,
    print: same,
    words: labelWords,
  },
  adaptive: {
    description: 'The target whose load the limits follow.',
    input: text('', { pattern: whole(TIER_PATTERN) }),
    answer: orNull(text('')),
    print: same,
    words: or('none'),
  },
  priority: {
    description: 'How important its requests are.',
    input: oneOf(PRIORITIES, ''),
    answer: orNull(oneOf(PRIORITIES, '')),
    print: same,
    words: or('unset'),
  },
  description: {
    description: 'For people.',
    input: text(''),
    answer: orNull(text('')),
    print: same,
    words: quotedText,
  },
} satisfies { readonly [F in RuleField]?: RuleFieldContract<F> }

/** A field that has no entry does not compile, here and not where the table is used. */
export const RULE_FIELD_CONTRACTS: {
  readonly [F in RuleField]: F extends keyof typeof CONTRACTS
    ? (typeof CONTRACTS)[F]
    : RuleFieldContract<F>
} = CONTRACTS

type AnswerSchema<F extends RuleField> = (typeof RULE_FIELD_CONTRACTS)[F]['answer']

/** The fields of a rule as the API answers them. */
export type AnsweredFields = {
  readonly [F in OwnField as AnswerSchema<F> extends TSchema
    ? F
    : never]: AnswerSchema<F> extends TSchema ? Static<AnswerSchema<F>> : never
}

/** In quotes, so that no text is taken for a word of ours. */
function quotedText(printed: unknown): string {
  return printed === null ? 'none' : JSON.stringify(printed)
}

/** Values are in quotes where it would not be seen where they end. */
function labelWords(labels: unknown): string {
  const texts = Object.entries(labels as Record<string, string>).map(([key, value]) =>
    /^[\w./-]+$/.test(value) ? `${key}:${value}` : `${key}:${JSON.stringify(value)}`,
  )
  return texts.length === 0 ? 'none' : texts.toSorted().join(' ')
}

function leaseWords(lease: unknown): string {
  if (lease === null) return 'unset'
  if (typeof lease !== 'object') return lease === true ? 'on' : 'off'
  // A database may have changed the order.
  const { ahead, most } = lease as { ahead?: string; most?: number }
  return JSON.stringify({ ahead, most })
}

const contractOf = <F extends RuleField>(name: F) =>
  RULE_FIELD_CONTRACTS[name] as unknown as RuleFieldContract<F>

/** The field's description, with what an author must know of its effect. */
export function describeField(name: RuleField): string {
  const { description } = contractOf(name)
  return RULE_FIELDS[name].effect === 'not in force yet'
    ? `${description} Not in force yet.`
    : description
}

/** The schema of a field, with its description. */
export function fieldSchema(name: RuleField, form: 'input' | 'answer'): TSchema {
  const schema = contractOf(name)[form]!
  if ('$id' in schema) return schema
  const described = { ...schema, description: describeField(name) }
  return RULE_FIELDS[name].isNew ? newField(described) : described
}

/** A field as documents and the API have it. */
export function printField(rule: RuleFieldValues, name: OwnField): unknown {
  return contractOf(name).print(fieldOf(rule, name))
}

/** What a rule that does not state the field has. */
export function printDefault(name: OwnField): unknown {
  return contractOf(name).print(RULE_FIELDS[name].default)
}

/** What was printed, in plans and logs. */
export function fieldWords(name: OwnField, printed: unknown): string {
  const contract = contractOf(name)
  if (contract.words !== undefined) return contract.words(printed)
  if (printed === null) return 'unset'
  return typeof printed === 'string' ? printed : JSON.stringify(printed)
}

/** Fields that were printed, in plans and logs: `10/s, enabled false`. */
export function fieldsInWords(
  names: readonly OwnField[],
  printed: { readonly [F in OwnField]?: unknown },
): string {
  const words = names.map((name) => {
    const value = fieldWords(name, printed[name])
    return name === 'limits' ? value : `${name} ${value}`
  })
  return words.join(', ')
}

/** Fields of which what the author wrote is stored. */
export function isStoredAsWritten(name: OwnField): boolean {
  return contractOf(name).isStoredAsWritten === true
}
