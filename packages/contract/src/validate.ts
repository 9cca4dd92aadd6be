/**
 * Checks a value against a schema, and says what is wrong in words: `limit is "x"; expected a whole number
 * from 1 to 1000`. It knows only the keywords that contracts use; a test fails for any other. It ignores `anyOf`
 * and `oneOf` beside a type, which say which fields go together: handlers check that.
 */
import {
  didYouMean,
  hasControlCharacters,
  lengthOf,
  list,
  parseTime,
  quote,
} from '@sluice/limiter/transport'
import { propertiesOf, type TSchema } from './schema.js'

export interface SchemaFault {
  /** `checks[2].cost`; empty for the whole value. */
  readonly field: string
  /** `is 5; expected a text` */
  readonly message: string
}

interface Node {
  readonly type?: string | readonly string[]
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly anyOf?: readonly TSchema[]
  readonly items?: TSchema
  readonly required?: readonly string[]
  readonly additionalProperties?: TSchema | boolean
  readonly propertyNames?: { readonly pattern: string }
  readonly minItems?: number
  readonly maxItems?: number
  readonly maxProperties?: number
  readonly minLength?: number
  readonly maxLength?: number
  readonly minimum?: number
  readonly maximum?: number
  readonly pattern?: string
  readonly format?: string
  readonly expected?: string
  readonly isCheckedElsewhere?: boolean
  readonly isNew?: boolean
  readonly refused?: string
}

type Fields = Readonly<Record<string, unknown>>

/** All faults of a value; empty where there are none. */
export function validate(schema: TSchema, value: unknown, path = ''): SchemaFault[] {
  const node = schema as Node
  if (node.isCheckedElsewhere === true) return []
  if (node.refused !== undefined) return [{ field: path, message: node.refused }]
  if (node.anyOf !== undefined && node.type === undefined)
    return node.anyOf.some((one) => validate(one, value).length === 0)
      ? []
      : [wrong(node, value, path)]
  if (!isOfType(node, value)) return [wrong(node, value, path)]
  if (node.enum !== undefined && !node.enum.includes(value)) return [wrong(node, value, path)]
  if (node.const !== undefined && node.const !== value) return [wrong(node, value, path)]
  if (typeof value === 'string') return textFaults(node, value, path)
  if (typeof value === 'number') return isInRange(node, value) ? [] : [wrong(node, value, path)]
  if (Array.isArray(value)) return listFaults(node, value, path)
  return typeof value === 'object' && value !== null
    ? objectFaults(schema, value as Fields, path)
    : []
}

/**
 * The first fault of an answer. The server may run another version, so this is a loose check: each required field
 * must be there with the right type, except for fields that the previous release did not have. Unknown fields,
 * words and ranges pass, and so does null for an optional field.
 */
export function shapeFault(schema: TSchema, value: unknown, path = ''): SchemaFault | undefined {
  const node = schema as Node
  const { type, anyOf, items, required = [], additionalProperties } = node
  if (type === undefined && anyOf !== undefined)
    return anyOf.some((one) => shapeFault(one, value) === undefined)
      ? undefined
      : wrong(node, value, path)
  if (!isOfType(node, value)) return wrong(node, value, path)
  const parts: [TSchema, unknown, string][] = []
  if (Array.isArray(value) && items !== undefined)
    for (const [i, item] of value.entries()) parts.push([items, item, `${path}[${i}]`])
  if (isFields(value)) {
    const properties = propertiesOf(schema)
    for (const name of new Set([...required, ...Object.keys(value)])) {
      const inner = Object.hasOwn(properties, name) ? properties[name] : additionalProperties
      const isOlder = value[name] === undefined && (inner as Node)?.isNew === true
      const mayBeNull = value[name] === null && !required.includes(name)
      if (typeof inner === 'object' && !mayBeNull && !isOlder)
        parts.push([inner, value[name], path === '' ? name : `${path}.${name}`])
    }
  }
  for (const part of parts) {
    const fault = shapeFault(...part)
    if (fault !== undefined) return fault
  }
  return undefined
}

function wrong(node: Node, value: unknown, path: string): SchemaFault {
  if (value === undefined)
    return { field: path, message: `is missing; expected ${expectedOf(node)}` }
  return { field: path, message: `is ${quote(value)}; expected ${expectedOf(node)}` }
}

function expectedOf({ expected, enum: words, const: only, type }: Node): string {
  if (expected !== undefined) return expected
  if (words !== undefined) return list(words.filter((word) => word !== null).map(String))
  if (only !== undefined) return quote(only)
  return type === 'number' ? 'a number' : 'another value'
}

function isOfType({ type }: Node, value: unknown): boolean {
  if (type === undefined) return true
  const types = typeof type === 'string' ? [type] : type
  return types.some((one) => {
    if (one === 'null') return value === null
    if (one === 'array') return Array.isArray(value)
    if (one === 'integer') return Number.isInteger(value)
    if (one === 'object') return isFields(value)
    return typeof value === one
  })
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isInRange({ minimum, maximum }: Node, value: number): boolean {
  return value >= (minimum ?? -Infinity) && value <= (maximum ?? Infinity)
}

function textFaults(node: Node, value: string, path: string): SchemaFault[] {
  const { minLength = 0, maxLength = Infinity, pattern, format } = node
  const fault = (message: string) => [{ field: path, message }]
  if (value.length < minLength) return fault('is empty')
  // Characters, as JSON Schema counts them.
  if (value.length > maxLength && lengthOf(value) > maxLength)
    return fault(`is longer than ${maxLength} characters`)
  if (format === 'date-time' && Number.isNaN(parseTime(value))) return [wrong(node, value, path)]
  // Patterns count characters too.
  if (pattern === undefined || new RegExp(pattern, 'u').test(value)) return []
  return hasControlCharacters(value)
    ? fault('holds control characters')
    : [wrong(node, value, path)]
}

function listFaults(
  { items, minItems = 0, maxItems = Infinity }: Node,
  value: readonly unknown[],
  path: string,
) {
  if (value.length < minItems) return [{ field: path, message: 'is empty' }]
  if (value.length > maxItems) return [{ field: path, message: `has more than ${maxItems} items` }]
  return items === undefined
    ? []
    : value.flatMap((item, i) => validate(items, item, `${path}[${i}]`))
}

function objectFaults(schema: TSchema, value: Fields, path: string): SchemaFault[] {
  const {
    required = [],
    additionalProperties = true,
    propertyNames,
    maxProperties = Infinity,
  } = schema as Node
  const properties = propertiesOf(schema)
  const pathOf = (name: string) => (path === '' ? name : `${path}.${name}`)
  const names = Object.keys(value)
  if (names.length > maxProperties)
    return [{ field: path, message: `has more than ${maxProperties} fields` }]
  const faults: SchemaFault[] = []
  for (const name of names) {
    const known = Object.hasOwn(properties, name) ? properties[name] : undefined
    const inner = known ?? additionalProperties
    if (inner === false) {
      const near = didYouMean(name, Object.keys(properties))
      faults.push({ field: pathOf(name.slice(0, 64)), message: `is unknown${near}` })
    } else if (propertyNames !== undefined && !new RegExp(propertyNames.pattern, 'u').test(name))
      faults.push({ field: path, message: `has ${quote(name)}, which is not a name` })
    else if (inner !== true) faults.push(...validate(inner, value[name], pathOf(name)))
  }
  for (const name of required)
    if (value[name] === undefined && (properties[name] as Node).isCheckedElsewhere !== true)
      faults.push(wrong(properties[name] as Node, undefined, pathOf(name)))
  return faults
}
