import { describe, expect, it } from 'vitest'
import { ERROR_CODES, type ErrorCode } from '../errors.js'
import { type TSchema } from '../schema.js'
import { ROUTE_IDS, routeOf } from './index.js'

/** Errors of any request, whatever its route. */
const OF_ANY_ROUTE: readonly ErrorCode[] = [
  'timed_out',
  'headers_too_large',
  'method_not_allowed',
  'internal',
]
/** Reasons of a denial, which is a decision and no error. */
const OF_DECISIONS: readonly ErrorCode[] = ['too_expensive', 'blocked', 'store_down']

/** What `validate` reads, and what only says something to people and their tools. */
const KEYWORDS = new Set(
  `type enum const anyOf items properties required additionalProperties propertyNames minItems maxItems
  maxProperties minLength maxLength minimum maximum pattern format expected isCheckedElsewhere isNew
  refused not oneOf description examples $id`.split(/\s+/),
)

function* schemasIn(schema: TSchema): IterableIterator<Record<string, unknown>> {
  const node = schema as Record<string, unknown> & { isCheckedElsewhere?: boolean }
  yield node
  if (node.isCheckedElsewhere === true) return
  const { items, additionalProperties, properties = {}, anyOf = [] } = node
  const inner = [items, additionalProperties, ...Object.values(properties as object)]
  for (const one of [...inner, ...(anyOf as unknown[])])
    if (typeof one === 'object' && one !== null) yield* schemasIn(one as TSchema)
}

describe('contracts', () => {
  it('have every error between them', () => {
    const stated = new Set<string>(ROUTE_IDS.flatMap((id) => routeOf(id).errors))
    const others = new Set<string>([...OF_ANY_ROUTE, ...OF_DECISIONS])
    expect(
      Object.keys(ERROR_CODES).filter((code) => !stated.has(code) && !others.has(code)),
    ).toEqual([])
  })

  it('use only keywords that the validator knows, where it checks', () => {
    for (const id of ROUTE_IDS) {
      const { body, bodyCheckedBy, query } = routeOf(id)
      const checked = body !== null && bodyCheckedBy === 'schema' ? [query, body] : [query]
      for (const schema of checked.flatMap((one) => [...schemasIn(one)]))
        expect([id, ...Object.keys(schema).filter((word) => !KEYWORDS.has(word))]).toEqual([id])
    }
  })

  it('have one operation for each method and path', () => {
    const places = ROUTE_IDS.map(routeOf).map(({ method, path }) => `${method} ${path}`)
    expect(new Set(places).size).toBe(places.length)
  })

  it('have bodies of the sizes that payload_too_large names', () => {
    const sizes: number[] = [
      ...ERROR_CODES.payload_too_large.meaning.matchAll(/(\d+) ([KM]B)/g),
    ].map(([, number, unit]) => Number(number) * (unit === 'MB' ? 1_048_576 : 1024))
    const longest = new Set(
      ROUTE_IDS.map((id) => routeOf(id).longestBody).filter((most) => most > 0),
    )
    expect(sizes.toSorted((a, b) => a - b)).toEqual([...longest].toSorted((a, b) => a - b))
  })
})
