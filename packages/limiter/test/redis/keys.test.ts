/** Where things are in Redis: no two share a key, and each is in the slot that Redis says. */
import * as fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Keys, slotOf } from '../../src/stores/redis/keys.js'
import { RedisServer } from './servers.js'

const keys = new Keys('sluice')

const NAMES = fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9_.-]{0,20}$/)
const SCOPES = fc.stringMatching(/^[a-z][a-z0-9_]{0,31}$/)
/** Texts that try to look like parts of a key, and any others, halves of surrogates included. */
const TEXTS = fc.oneof(
  fc.stringMatching(/^[a{}:|%=\\/ 0-9-]{1,12}$/),
  fc.string({ unit: 'binary', minLength: 1 }),
  fc.string({ minLength: 1 }),
  fc
    .array(fc.integer({ min: 0, max: 0xffff }), { minLength: 1, maxLength: 6 })
    .map((units) => String.fromCharCode(...units)),
)
/** Columns as they are named: a letter, a window or a calendar, an ordinal. */
const COLUMNS = fc.constantFrom('e1000000', 'c60000000', 'e1000000#1', 'c1000000#2')

interface Place {
  readonly namespace: string
  readonly scope: string
  readonly value: string
  readonly kind: 'row' | 'beside' | 'record'
  readonly rule: string
  readonly column: string
  readonly id: string
}

const PLACES: fc.Arbitrary<Place> = fc.record({
  namespace: NAMES,
  scope: SCOPES,
  value: TEXTS,
  kind: fc.constantFrom('row', 'beside', 'record'),
  rule: NAMES,
  column: COLUMNS,
  id: TEXTS,
})

/** Another place that differs little from the first, or not at all. */
const NEIGHBOURS = PLACES.chain((one) =>
  fc.tuple(
    fc.constant(one),
    fc.record({
      namespace: fc.oneof(fc.constant(one.namespace), NAMES),
      scope: fc.oneof(fc.constant(one.scope), SCOPES),
      value: fc.oneof(fc.constant(one.value), TEXTS, fc.constant(inHexadecimal(one.value))),
      kind: fc.constantFrom('row', 'beside', 'record'),
      rule: fc.oneof(fc.constant(one.rule), NAMES),
      column: COLUMNS,
      id: fc.oneof(fc.constant(one.id), TEXTS, fc.constant(inHexadecimal(one.id))),
    }) as fc.Arbitrary<Place>,
  ),
)

/** As an escaped text looks. */
function inHexadecimal(text: string): string {
  return `%${text.charCodeAt(0).toString(16).padStart(4, '0')}${text.slice(1)}`
}

/** Two whose keys would read the same if nothing were escaped: the border of value and id is moved. */
const LOOK_ALIKES = fc.tuple(PLACES, TEXTS, TEXTS).map(([place, middle, end]) => {
  const record = { ...place, kind: 'record' } as const
  return [
    { ...record, id: `${middle}}:=${end}` },
    { ...record, value: `${place.value}}:=${middle}`, id: end },
  ] as const
})

const PAIRS = fc.oneof({ weight: 3, arbitrary: NEIGHBOURS }, LOOK_ALIKES)

function keyOf({ namespace, scope, value, kind, rule, column, id }: Place): string {
  const tag = keys.tag(namespace, scope, value)
  if (kind === 'record') return keys.record(tag, id)
  return kind === 'row' ? keys.row(tag, rule) : `${keys.row(tag, rule)}:${column}`
}

/** What a key must tell apart. */
function meaningOf({ namespace, scope, value, kind, rule, column, id }: Place): string {
  const own = { row: [rule], beside: [rule, column], record: [id] }[kind]
  return JSON.stringify([namespace, scope, value, kind, ...own])
}

describe('keys', () => {
  let server: RedisServer
  beforeAll(async () => {
    server = await RedisServer.start({ args: ['--cluster-enabled', 'yes'] })
  })
  afterAll(() => server.stop())

  it('are shared by nothing that differs', () => {
    fc.assert(
      fc.property(PAIRS, ([one, other]) => {
        expect(keyOf(one) === keyOf(other)).toBe(meaningOf(one) === meaningOf(other))
      }),
      { numRuns: 20_000 },
    )
  })

  it('are printable ASCII with one pair of braces, whatever goes in', () => {
    fc.assert(
      fc.property(PLACES, (place) => {
        expect(keyOf(place)).toMatch(/^sluice:\{[!-z|~]+\}:[!-z|~]+$/)
      }),
      { numRuns: 5000 },
    )
  })

  it('are in the slot of their tag, as Redis reckons it', async () => {
    const places = fc.sample(PLACES, 3000)
    const pipeline = server.admin.pipeline()
    for (const place of places) pipeline.call('CLUSTER', 'KEYSLOT', keyOf(place))
    const answers = (await pipeline.exec())!.map(([, slot]) => slot)
    expect(
      places.map(({ namespace, scope, value }) => slotOf(keys.tag(namespace, scope, value))),
    ).toEqual(answers)
  })

  it('of one subject value are in one slot, whatever the rule', () => {
    fc.assert(
      fc.property(PLACES, NAMES, (place, rule) => {
        const tagOf = (key: string) => /\{(.*)\}/.exec(key)![1]
        for (const kind of ['row', 'beside', 'record'] as const)
          expect(tagOf(keyOf({ ...place, rule, kind }))).toBe(
            tagOf(keyOf({ ...place, kind: 'row' })),
          )
      }),
      { numRuns: 2000 },
    )
  })

  it('start with a prefix that cannot break them', () => {
    for (const prefix of ['', 'a b', '{a}', 'ä', 'x'.repeat(65), 'a\n'])
      expect(() => new Keys(prefix)).toThrow(/prefix is .*; expected up to 64 letters/)
    expect(new Keys('a:b.c_d-1').row('t', 'r')).toBe('a:b.c_d-1:{t}:r')
  })
})
