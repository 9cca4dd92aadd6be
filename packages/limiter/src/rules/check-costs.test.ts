/** A configured cost that a rule can never admit is refused; one that it need not admit is not. */
import { describe, expect, it } from 'vitest'
import { SluiceError } from '../errors.js'
import { printFault } from '../faults.js'
import type { RulesDocument } from './document.js'
import { RuleSet } from './rule-set.js'

const LOW = '10/s'
const HIGH = '100/s'

function faultsOf(document: RulesDocument): string[] {
  try {
    RuleSet.compile(document)
    return []
  } catch (error) {
    if (error instanceof SluiceError) return error.faults.map(printFault)
    throw error
  }
}

const user = (resource: string, limits: typeof LOW | typeof HIGH, more: object = {}) => ({
  scope: 'user',
  resource,
  limits,
  ...more,
})

describe('a configured cost', () => {
  it('above the burst of a rule there is refused, with what would never pass', () => {
    const rules = {
      s: user('/x', LOW),
      t: user('/y', '10/s', { limits: ['100/s', '5/h burst 7'] }),
    }
    expect(faultsOf({ rules, costs: { '/x': 20, 'GET /y': 8, '*': 10 } })).toEqual([
      'costs./x: costs 20 requests, and s (10/s) never admits more than 10 at once (lower the cost, or raise the burst)',
      'costs.GET /y: costs 8 requests, and t (5/h burst 7) never admits more than 7 at once (lower the cost, or raise the burst)',
      'costs.*: costs 10 requests, and t (5/h burst 7) never admits more than 7 at once (lower the cost, or raise the burst)',
    ])
  })

  it.each<[what: string, document: RulesDocument]>([
    ['of a wider pattern', { rules: { s: user('/v1/search', LOW) }, costs: { '/v1/*': 20 } }],
    ['of a narrower pattern', { rules: { s: user('/v1/*', LOW) }, costs: { '/v1/search': 20 } }],
    ['where patterns cross', { rules: { s: user('/:a/b', LOW) }, costs: { '/a/:b': 20 } }],
    ['of its second method', { rules: { s: user('POST /x', LOW) }, costs: { 'GET|POST /x': 20 } }],
    ['of the other methods', { rules: { s: user('/x', LOW) }, costs: { '/x': 20, 'GET /x': 5 } }],
    [
      'where the more specific rule is of one method',
      { rules: { a: user('GET /x', HIGH), b: user('/x', LOW) }, costs: { '/x': 20 } },
    ],
    ['of the default rule', { default_rule: { scope: 'user', limits: LOW }, costs: { '/x': 20 } }],
    [
      'of an override',
      {
        rules: { s: user('*', HIGH) },
        overrides: [{ scope: 'user', value: 'ada', rule: 's', limits: LOW }],
        costs: { '/x': 20 },
      },
    ],
    ['of a tier', { rules: { s: user('*', HIGH, { tiers: { free: LOW } }) }, costs: { '/x': 20 } }],
    [
      'of one value',
      { rules: { s: user('*', HIGH), a: user('*', LOW, { value: 'ada' }) }, costs: { '/x': 20 } },
    ],
    [
      'of a network',
      { rules: { a: { scope: 'ip', value: '10.0.0.0/8', limits: LOW } }, costs: { '/x': 20 } },
    ],
    [
      'of a network whose first address has a rule of its own',
      {
        rules: {
          wide: { scope: 'ip', value: '10.0.0.0/8', limits: LOW },
          narrow: { scope: 'ip', value: '10.0.0.0/24', limits: HIGH },
        },
        costs: { '/x': 20 },
      },
    ],
    [
      'of an additive rule besides',
      {
        rules: { s: user('/x', HIGH), a: user('*', LOW, { additive: true }) },
        costs: { '/x': 20 },
      },
    ],
    [
      'of its own unit',
      { rules: { t: user('*', LOW, { unit: 'tokens' }) }, costs: { '/x': { tokens: 20 } } },
    ],
  ])('is refused for the burst %s', (_what, document) => {
    expect(faultsOf(document)).toEqual([expect.stringContaining('never admits more than 10')])
  })

  it.each<[what: string, document: RulesDocument]>([
    ['of the burst itself', { rules: { s: user('/x', LOW) }, costs: { '/x': 10 } }],
    ['elsewhere', { rules: { s: user('/x', LOW) }, costs: { '/y': 20, '/x/*': 20 } }],
    ['of another method', { rules: { s: user('POST /x', LOW) }, costs: { 'GET /x': 20 } }],
    ['of another unit', { rules: { s: user('/x', LOW) }, costs: { '/x': { tokens: 20 } } }],
    [
      'that a narrower one replaces',
      { rules: { s: user('/x', LOW) }, costs: { '*': 20, '/x': 2 } },
    ],
    [
      'where a more specific rule replaces the low one',
      { rules: { g: user('*', LOW), s: user('/x', HIGH) }, costs: { '/x': 20 } },
    ],
    [
      'where a more specific rule of the same value replaces the low one',
      {
        rules: { g: user('*', LOW, { value: 'ada' }), s: user('/x', HIGH, { value: 'ada' }) },
        costs: { '/x': 20 },
      },
    ],
    [
      'where a more specific rule of the same tier replaces the low one',
      {
        rules: { g: user('*', LOW, { tier: 'pro' }), s: user('/x', HIGH, { tier: 'pro' }) },
        costs: { '/x': 20 },
      },
    ],
    [
      'where the default rule does not apply',
      {
        rules: { s: user('/x', HIGH) },
        default_rule: { scope: 'user', limits: LOW },
        costs: { '/x': 20 },
      },
    ],
    [
      'of a disabled rule',
      { rules: { s: user('/x', LOW, { enabled: false }) }, costs: { '/x': 20 } },
    ],
  ])('is accepted %s', (_what, document) => {
    expect(faultsOf(document)).toEqual([])
  })
})
