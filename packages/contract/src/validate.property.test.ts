/** The validator agrees with Ajv on every body and query that a contract checks. */
import { Ajv2020 } from 'ajv/dist/2020.js'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ROUTE_IDS, routeOf } from './routes/index.js'
import { propertiesOf, SchemaPrinter, type TSchema } from './schema.js'
import { validate } from './validate.js'

/** Without formats, which Ajv has in a package of its own. */
const ajv = new Ajv2020({ strict: false, formats: { 'date-time': true } })

const checked = ROUTE_IDS.flatMap((id): [string, TSchema][] => {
  const { body, bodyCheckedBy, query } = routeOf(id)
  const all: [string, TSchema][] = [[`query of ${id}`, query]]
  return body !== null && bodyCheckedBy === 'schema' ? [...all, [`body of ${id}`, body]] : all
})

interface Plain extends TSchema {
  readonly required?: string[]
  readonly anyOf?: unknown
  readonly oneOf?: unknown
}

/** Ajv's opinion, where it and the validator are told the same. */
function oracle(schema: TSchema): (value: unknown) => boolean {
  const printer = new SchemaPrinter('#/$defs/')
  const printed = printer.print(withoutReaders(schema))
  return ajv.compile({ ...printed, $defs: printer.definitions })
}

/** What has a reader of its own may be anything; which fields go together the handler says. */
function withoutReaders(schema: TSchema): TSchema {
  const properties = Object.entries(propertiesOf(schema))
  const own = (name: string) => propertiesOf(schema)[name] as { isCheckedElsewhere?: boolean }
  const { required = [], anyOf: _some, oneOf: _one, ...rest } = schema as Plain
  return {
    ...rest,
    properties: Object.fromEntries(
      properties.map(([name, one]) => [name, own(name).isCheckedElsewhere ? {} : one]),
    ),
    required: required.filter((name) => own(name).isCheckedElsewhere !== true),
  }
}

const values = fc.oneof(
  fc.constantFrom(
    'user',
    'admin',
    'client',
    '',
    'x'.repeat(1025),
    'a\u0000',
    '2026-01-01T00:00:00Z',
    null,
    true,
    0,
    1,
    1000,
    1001,
    1.5,
    -1,
    9e15,
    [],
    ['GET'],
    ['default', 5],
    {},
    { tokens: 1 },
    { tokens: -1 },
    { 'Bad unit': 1 },
  ),
  fc.jsonValue({ maxDepth: 2 }),
) as fc.Arbitrary<unknown>

describe.each(checked)('the %s', (_name, schema) => {
  it('is judged as Ajv judges it', () => {
    const isValid = oracle(schema)
    const names = [...Object.keys(propertiesOf(schema)), 'other']
    const bodies = fc
      .tuple(fc.subarray(names), fc.array(values, { minLength: names.length }))
      .map(([some, all]) => Object.fromEntries(some.map((name, i) => [name, all[i]])))
    fc.assert(
      fc.property(bodies, (body) => {
        // Of a text Ajv does not say here whether it is a time.
        const faults = validate(schema, body).filter(
          ({ field, message }) => !(typeof body[field] === 'string' && message.includes('a time')),
        )
        expect([body, faults.length === 0]).toEqual([body, isValid(body)])
      }),
      { numRuns: 300 },
    )
  })
})

describe('what is wrong', () => {
  const faultsOf = (id: (typeof ROUTE_IDS)[number], body: unknown) =>
    validate(routeOf(id).body!, body).map(({ field, message }) => `${field} ${message}`)

  it('is said with what came, what was expected, and what was probably meant', () => {
    expect(faultsOf('createToken', { name: 'ci', role: 'redaer', namespces: [] })).toEqual([
      'role is "redaer"; expected client, reader, operator or admin',
      'namespces is unknown; did you mean "namespaces"?',
      'namespaces is missing; expected a list of names, or null for all',
    ])
    expect(faultsOf('rollbackRule', { version: '7' })).toEqual([
      'version is "7"; expected a version of the rule\'s history',
    ])
    expect(faultsOf('createBlock', { scope: 'user', value: 'a\u0007' })).toEqual([
      'value holds control characters',
    ])
    expect(faultsOf('settle', { reservation: 'x', costs: { tokens: -1 } })).toEqual([
      'costs.tokens is -1; expected a whole number from 0 to 1000000000',
    ])
  })
})
