/** `shards` and `lease` of a rule: read, refused with every fault, and warned of where they do less than they seem to. */
import { describe, expect, it } from 'vitest'
import { printWarning } from '../faults.js'
import { printFault, type RuleBook } from '../index.js'
import { writeLease } from './lease-terms.js'
import { readDocument } from './read-document.js'
import { RuleSet } from './rule-set.js'

function read(document: object): RuleBook {
  const book = readDocument(document)
  if (Array.isArray(book)) throw new Error(book.map(printFault).join('\n'))
  return book
}

function faultsOf(document: object): string[] {
  const book = readDocument(document)
  return Array.isArray(book) ? book.map(printFault) : []
}

const rule = (fields: object) => ({ rules: { a: { scope: 'user', limits: '100/s', ...fields } } })
const one = (fields: object) => read(rule(fields)).rules[0]!

describe('the shards of a rule', () => {
  it('are one unless given, and the same for its tiers', () => {
    expect(one({}).shards).toBe(1)
    const { rules } = read(rule({ shards: 8, tiers: { pro: '200/s' } }))
    expect(rules.map(({ name, shards }) => [name, shards])).toEqual([
      ['a', 8],
      ['a@pro', 8],
    ])
    expect(
      read({ default_rule: { scope: 'ip', limits: '9/s', shards: 2 } }).defaultRule?.shards,
    ).toBe(2)
  })

  it.each([0, -1, 1.5, 1025, '8', true, null])('are not %j', (shards) => {
    expect(faultsOf(rule({ shards }))).toEqual([
      `rules.a.shards: ${JSON.stringify(shards)} is not a whole number from 1 to 1024`,
    ])
  })

  it('are refused for every limit of rule, tiers and overrides that cannot be split so', () => {
    expect(
      faultsOf({
        ...rule({
          limits: ['100/s', '7/h'],
          shards: 8,
          tiers: { free: '5/s', pro: '10/s smooth' },
        }),
        overrides: [
          { scope: 'user', value: 'ada', rule: 'a', limits: ['8/s', '3 per 5m exact'] },
          { scope: 'user', value: 'bob', rule: 'a@free', limits: '8 concurrent for 60s' },
        ],
      }),
    ).toEqual([
      'rules.a.shards: 7/h in 8 shards leaves less than 1 to a shard; 7 is the most here',
      'rules.a.tiers.free: 5/s in 8 shards leaves less than 1 to a shard; 5 is the most here',
      expect.stringMatching(/^rules\.a\.tiers\.pro: 10\/s smooth cannot be split: /),
      'overrides[0].limits: 3 per 5m exact in 8 shards leaves less than 1 to a shard; 3 is the most here',
      expect.stringMatching(/^overrides\[1\]\.limits: 8 concurrent for 1m cannot be split: /),
    ])
  })

  it('are the same for all that share counters', () => {
    const kin = { 'a@pro': { scope: 'user', tier: 'pro', limits: '100/s', shards: 4 } }
    expect(faultsOf({ rules: { ...rule({ shards: 8 }).rules, ...kin } })).toEqual([
      'rules.a@pro: shares its counters with a, so scope, additive, unit, shadow and shards must be the same',
    ])
  })

  it('warn where a configured cost is much of what a shard holds', () => {
    const warnings = (shards: number, cost: number, more: object = {}) =>
      RuleSet.compile({
        ...rule({ shards, ...more }),
        costs: { '/x': cost },
      } as never).book.warnings.map(printWarning)
    expect(warnings(8, 3)).toEqual([])
    expect(warnings(8, 4)).toEqual([
      'costs./x: costs 4 requests, and a shard of a (100/s in 8) holds 12: such requests are denied when no shard has that much left; use fewer shards',
    ])
    expect(warnings(8, 4, { resource: '/y' })).toEqual([])
    expect(warnings(8, 4, { enabled: false })).toEqual([])
    expect(warnings(1, 90)).toEqual([])
    expect(warnings(8, 12)).toHaveLength(1)
    expect(warnings(8, 13)).toEqual([
      'costs./x: costs 13 requests, and a shard of a (100/s in 8) holds 12: such requests never pass; use fewer shards or a higher burst',
    ])
    expect(() => warnings(8, 101)).toThrow('never admits more than 100 at once')
  })
})

describe('the lease of a rule', () => {
  it.each([
    [undefined, null],
    [true, { isOn: true, ahead: null, most: null }],
    ['on', { isOn: true, ahead: null, most: null }],
    [false, { isOn: false, ahead: null, most: null }],
    ['off', { isOn: false, ahead: null, most: null }],
    [{}, { isOn: true, ahead: null, most: null }],
    [{ ahead: '50ms' }, { isOn: true, ahead: 50_000, most: null }],
    [
      { ahead: '400ms', most: 1000 },
      { isOn: true, ahead: 400_000, most: 1000 },
    ],
  ])('%j is read', (lease, terms) => {
    expect(one({ lease }).lease).toEqual(terms)
    expect(one({ lease }).shards).toBe(1)
  })

  it.each([true, false, { ahead: '50ms' }, { most: 2 }, { ahead: '10ms', most: 9 }])(
    '%j is written as it is read',
    (lease) => {
      expect(writeLease(one({ lease }).lease!)).toEqual(lease)
    },
  )

  it.each([
    ['yes', 'rules.a.lease: "yes" is not on, off or an object such as { ahead: 50ms, most: 1000 }'],
    [[], 'rules.a.lease: [] is not on, off or an object such as { ahead: 50ms, most: 1000 }'],
    [{ ahed: '50ms' }, 'rules.a.lease: unknown field "ahed" in a lease; did you mean "ahead"?'],
    [{ ahead: 50 }, 'rules.a.lease.ahead: 50 is not a duration from 10ms to 400ms'],
    [{ ahead: '9ms' }, 'rules.a.lease.ahead: "9ms" is not a duration from 10ms to 400ms'],
    [{ ahead: '1s' }, 'rules.a.lease.ahead: "1s" is not a duration from 10ms to 400ms'],
    [{ most: 1 }, 'rules.a.lease.most: 1 is not a whole number from 2 to 1_000_000_000'],
    [{ most: 2e9 }, 'rules.a.lease.most: 2000000000 is not a whole number from 2 to 1_000_000_000'],
  ])('%j is refused', (lease, fault) => {
    expect(faultsOf(rule({ lease }))).toEqual([fault])
  })

  it('is warned of where a limit is never leased', () => {
    const warnings = (fields: object) => read(rule(fields)).warnings.map(printWarning)
    expect(warnings({ lease: 'on', limits: ['5/s', '10/s smooth'] })).toEqual([
      'rules.a.lease: stays strict, because gcra is never leased',
    ])
    expect(warnings({ lease: {}, tiers: { pro: '10/s queue 5' } })).toEqual([
      'rules.a.tiers.pro: stays strict, because leaky_bucket is never leased',
    ])
    expect(warnings({ lease: 'off', limits: '8 concurrent for 60s' })).toEqual([])
    expect(warnings({ limits: '10/s smooth' })).toEqual([])
  })
})
