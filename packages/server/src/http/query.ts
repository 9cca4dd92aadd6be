/** Reads the query of a request by its contract: each parameter at most once, and no unknown ones. */
import { propertiesOf, type RouteContract, type TSchema, validate } from '@sluice/contract'
import { hasControlCharacters, quote } from '@sluice/limiter/transport'
import { badField, refuseUnknown } from './body.js'

const LONGEST_PARAMETER = 4096

/** The parameters that were sent. Throws 400 that names the first bad one. */
export function readQuery(contract: RouteContract, query: URLSearchParams): object {
  const schemas = propertiesOf(contract.query)
  const values: Record<string, unknown> = {}
  for (const [name, text] of query) {
    if (contract.takesAnyQuery && !Object.hasOwn(schemas, name)) continue
    refuseUnknown({ [name]: text }, Object.keys(schemas))
    if (values[name] !== undefined) throw badField(name, 'is given twice')
    if (text.length > LONGEST_PARAMETER || hasControlCharacters(text))
      throw badField(name, `is ${quote(text)}; expected a short text without control characters`)
    values[name] = read(name, text, schemas[name]!)
  }
  for (const name of contract.requiredQuery)
    if (values[name] === undefined)
      throw badField(name, validate(schemas[name]!, undefined)[0]!.message)
  return values
}

const FLAGS = new Map([
  ['true', true],
  ['1', true],
  ['false', false],
  ['0', false],
])

/** A number or a flag where the schema says so, else the text. */
function read(name: string, text: string, schema: TSchema): unknown {
  const { type } = schema as { type?: string }
  let value: unknown = text
  if (type === 'integer' && /^\d{1,15}$/.test(text)) value = Number(text)
  if (type === 'boolean') value = FLAGS.get(text) ?? text
  const [fault] = validate(schema, value)
  if (fault !== undefined) throw badField(name, fault.message)
  return value
}
