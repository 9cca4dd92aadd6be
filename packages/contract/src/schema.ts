/**
 * The functions that schemas are written with. A schema is plain JSON Schema 2020-12, as in OpenAPI 3.1, with a type
 * of TypeBox, so that it is also a TypeScript type. Only TypeBox's types are used: its functions would add 18 ms to
 * the start of the server. Four keywords are our own, and are not printed:
 * - `expected`: what an error says that the value should be.
 * - `refused`: the error of a field that this body may not have.
 * - `isCheckedElsewhere`: the handler checks this part itself.
 * - `isNew`: answers of the previous release do not have this field.
 */
import { LONGEST_VALUE } from '@sluice/limiter/transport'
import type {
  Static,
  TArray,
  TBoolean,
  TInteger,
  TNumber,
  TObject,
  TOptional,
  TProperties,
  TSchema,
  TString,
  TUnion,
  TUnsafe,
} from 'typebox'

export type { Static, TObject, TProperties, TSchema, TUnsafe }

/** Gives a plain schema its TypeBox type. */
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- it names what the schema is
const as = <T>(schema: object): T => schema as T

/** A plain schema for values of type T. */
export const raw = <T>(schema: object): TUnsafe<T> => ({ ...schema }) as TUnsafe<T>

/** Other keywords of a schema. */
export type Keywords = Readonly<Record<string, unknown>>

export const text = (description: string, more: Keywords = {}): TString =>
  as<TString>({ type: 'string', description, expected: 'a text', ...more })

export const flag = (description: string, more: Keywords = {}): TBoolean =>
  as<TBoolean>({ type: 'boolean', description, expected: 'true or false', ...more })

export const oneOf = <const T extends string>(
  words: readonly T[],
  description: string,
  more: Keywords = {},
): TUnsafe<T> => raw<T>({ type: 'string', enum: [...words], description, ...more })

export const literal = <const T extends string | number | boolean>(value: T, description: string) =>
  raw<T>({ const: value, description })

export const LARGEST_COUNT = 1_000_000_000

/** A whole number from 0. */
export const count = (description: string, most = LARGEST_COUNT): TInteger =>
  whole(0, most, description)

export const whole = (
  minimum: number,
  maximum: number,
  description: string,
  more: Keywords = {},
): TInteger =>
  as<TInteger>({
    type: 'integer',
    minimum,
    maximum,
    description,
    expected: `a whole number from ${minimum} to ${maximum}`,
    ...more,
  })

/** Versions and revisions. */
export const number = (description: string): TInteger => count(description, Number.MAX_SAFE_INTEGER)

export const seconds = (description: string): TNumber =>
  as<TNumber>({ type: 'number', minimum: 0, description })

export const percent = (description: string): TNumber =>
  as<TNumber>({ type: 'number', minimum: 0, maximum: 100, description })

/** A share of a whole, from 0 to 1. */
export const share = (description: string): TNumber =>
  as<TNumber>({ type: 'number', minimum: 0, maximum: 1, description })

export const time = (description: string): TString =>
  text(description, { format: 'date-time', expected: 'a time such as 2026-12-31T12:00:00Z' })

/** The pattern of texts without control characters; not empty. */
export const PLAIN = '^[^\\u0000-\\u001f\\u007f]+$'

const NOT_IN_LINES = '\\u0000-\\u001f\\u007f\\u202a-\\u202e\\u2066-\\u2069'

/** The pattern of lines that people read: no characters that change the order in which text is shown, and more than spaces. */
export const LINE = `^[^${NOT_IN_LINES}]*[^${NOT_IN_LINES}\\s][^${NOT_IN_LINES}]*$`

/** A text that names a subject. */
export const value = (description: string): TString =>
  text(description, { minLength: 1, maxLength: LONGEST_VALUE, pattern: PLAIN })

export const list = <T extends TSchema>(items: T, description = '', more: Keywords = {}) =>
  as<TArray<T>>({
    type: 'array',
    items,
    ...(description === '' ? {} : { description }),
    expected: 'a list',
    ...more,
  })

/** An object that maps names to values. */
export const table = <T extends TSchema>(values: T, description: string, more: Keywords = {}) =>
  raw<Record<string, Static<T>>>({
    type: 'object',
    additionalProperties: values,
    description,
    expected: 'an object',
    ...more,
  })

/** Allows null as well. */
export function orNull<T extends TSchema>(schema: T): TUnsafe<Static<T> | null> {
  const { type, enum: words, ...rest } = schema as TSchema & { type?: unknown; enum?: unknown[] }
  if (typeof type !== 'string' || '$id' in schema)
    return raw<Static<T> | null>({ anyOf: [schema, { type: 'null' }] })
  const withNull = words === undefined ? {} : { enum: [...words, null] }
  return raw<Static<T> | null>({ ...rest, type: [type, 'null'], ...withNull })
}

export const anyOf = <T extends TSchema[]>(schemas: [...T], more: Keywords = {}) =>
  as<TUnion<T>>({ anyOf: schemas, ...more })

type Optionals<P extends TProperties> = { [K in keyof P]: TOptional<P[K]> }

/** An object with these fields and no others; `optional` fields may be absent. */
// oxlint-disable-next-line typescript/no-generated-empty-object-type -- no field is optional
export function object<R extends TProperties, O extends TProperties = Record<never, never>>(
  required: R,
  optional: O = {} as O,
  more: Keywords = {},
): TObject<R & Optionals<O>> {
  return as<TObject<R & Optionals<O>>>({
    type: 'object',
    properties: { ...required, ...optional },
    ...(Object.keys(required).length === 0 ? {} : { required: Object.keys(required) }),
    additionalProperties: false,
    expected: 'an object',
    ...more,
  })
}

/** Anything that JSON can say. */
export const anything = (description: string) => raw<unknown>({ description })

/** A schema that only documents what to send: the handler checks the value itself, with its own errors. */
export const checkedElsewhere = <T extends TSchema>(schema: T): T => ({
  ...schema,
  isCheckedElsewhere: true,
})

/** A field that other bodies have and this one refuses, with the reason. */
export const refusedField = (why: string) =>
  raw<never>({ not: {}, description: `${why[0]!.toUpperCase()}${why.slice(1)}.`, refused: why })

/** A field of answers that the previous release did not have. */
export const newField = <T extends TSchema>(schema: T): T => ({ ...schema, isNew: true })

/** Gives a schema a name, by which printed documents refer to it. */
export const named = <T extends TSchema>(name: string, schema: T): T => ({ ...schema, $id: name })

/** The properties of an object. */
export const propertiesOf = (schema: TSchema): Readonly<Record<string, TSchema>> =>
  (schema as { properties?: Record<string, TSchema> }).properties ?? {}

/** Prints schemas for one document, and collects those that have a name as its definitions. */
export class SchemaPrinter {
  readonly definitions: Record<string, Keywords> = {}
  readonly #prefix: string
  readonly #others: Readonly<Record<string, TSchema>>
  readonly #nameOf: (name: string) => string

  /**
   * `prefix`: where the document has its definitions, such as `#/components/schemas/`. `others`: schemas to print
   * instead of those with the same name. `nameOf`: the name of a definition in the document.
   */
  constructor(
    prefix: string,
    others: Readonly<Record<string, TSchema>> = {},
    nameOf = (name: string) => name,
  ) {
    this.#prefix = prefix
    this.#others = others
    this.#nameOf = nameOf
  }

  /** Plain JSON Schema; a schema that has a name becomes a reference. */
  print(given: TSchema): Keywords {
    const { $id: name } = given as { $id?: string }
    if (name === undefined) return this.#body(given) as Keywords
    const printed = this.#nameOf(name)
    if (!(printed in this.definitions)) {
      // Entered first: a schema may refer to itself.
      this.definitions[printed] = {}
      this.definitions[printed] = this.#body(this.#others[name] ?? given) as Keywords
    }
    return { $ref: `${this.#prefix}${printed}` }
  }

  #body(schema: TSchema): unknown {
    const { $id: _id, ...rest } = schema as Record<string, unknown>
    return Object.fromEntries(
      Object.entries(rest)
        .filter(([keyword, value]) => value !== undefined && !OWN_KEYWORDS.has(keyword))
        .map(([keyword, value]) => [keyword, this.#value(keyword, value)]),
    )
  }

  #value(keyword: string, value: unknown): unknown {
    if (DATA.has(keyword)) return value
    if (Array.isArray(value)) return value.map((one) => (isSchema(one) ? this.print(one) : one))
    if (!isSchema(value)) return value
    if (!TABLES.has(keyword)) return this.print(value)
    const entries = Object.entries(value as Record<string, TSchema>)
    return Object.fromEntries(entries.map(([name, inner]) => [name, this.print(inner)]))
  }
}

const OWN_KEYWORDS = new Set(['expected', 'isCheckedElsewhere', 'isNew', 'refused'])
/** Keywords whose value is data, not a schema. */
const DATA = new Set(['enum', 'const', 'examples', 'default', 'required'])
/** Keywords whose value has a schema under each name. */
const TABLES = new Set(['properties', 'patternProperties', '$defs'])

function isSchema(value: unknown): value is TSchema {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
