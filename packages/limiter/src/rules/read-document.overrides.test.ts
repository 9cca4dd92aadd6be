/** Overrides in a document: which are accepted, and what the others are told. */
import { describe, expect, it } from 'vitest'
import { SluiceError } from '../errors.js'
import { printFault } from '../faults.js'
import type { RulesDocument } from '../index.js'
import { RuleSet } from './rule-set.js'

function compile(document: unknown): RuleSet | string[] {
  try {
    return RuleSet.compile(document as RulesDocument)
  } catch (error) {
    if (error instanceof SluiceError && error.code === 'invalid_rules')
      return error.faults.map(printFault)
    throw error
  }
}

const faultsOf = (document: unknown) => {
  const compiled = compile(document)
  return compiled instanceof RuleSet ? [] : compiled
}
const rule = (more: object = {}) => ({ scope: 'user', limits: '10/s', ...more })

describe('an override', () => {
  const overrides = (more: object) => ({
    rules: { a: rule({ tiers: { pro: '20/s' } }) },
    overrides: [{ scope: 'user', value: 'ada', rule: 'a', limits: '30/s', ...more }],
  })

  const missing = 'is missing; expected'
  const notTime = 'is not a time such as 2026-12-31 or 2026-12-31T12:00:00Z'

  it.each<[more: object, ...faults: string[]]>([
    [{}],
    [{ rule: 'a@pro', until: '2030-01-01', reason: 'a deal' }],
    [{ until: new Date(0) }],
    [{ until: '2030-01-01T12:00:00.5+02:00' }],
    [{ rule: 'a@prp' }, 'rule: "a@prp" is not the name of a rule; did you mean "a@pro"?'],
    [{ rule: undefined }, `rule: ${missing} the name of a rule`],
    [{ scope: undefined }, `scope: ${missing} the scope that the rule counts by`],
    [{ value: undefined }, `value: ${missing} the value that the limits are for`],
    [{ scope: 'org' }, 'scope: is "org", and a counts by user'],
    [
      { scope: 5, value: 5, rule: 5 },
      ...['scope', 'value', 'rule'].map((f) => `${f}: 5 is not a text`),
    ],
    [{ limits: '10/x' }, 'limits: unknown unit "x"; expected s, min, h, d or w'],
    [{ limits: undefined }, `limits: ${missing} one or more, such as 10/s`],
    [{ until: '2026-02-31' }, `until: "2026-02-31" ${notTime}`],
    [{ until: '2026-02-03T12:00' }, `until: "2026-02-03T12:00" ${notTime}`],
    [{ until: '2026-02-03T25:00:00Z' }, `until: "2026-02-03T25:00:00Z" ${notTime}`],
    [{ until: 1_900_000_000 }, `until: 1900000000 ${notTime}`],
    [{ until: new Date(Number.NaN) }, `until: null ${notTime}`],
  ])('%j is accepted, or told what is wrong', (more, ...faults) => {
    expect(faultsOf(overrides(more))).toEqual(faults.map((fault) => `overrides[0].${fault}`))
  })

  it('is for somebody', () => {
    expect(faultsOf(overrides({ value: '' }))).toEqual(['overrides[0]: is empty'])
  })

  it('is for single addresses', () => {
    const rules = { a: rule({ scope: 'ip' }) }
    const entry = { scope: 'ip', rule: 'a', limits: '1/s' }
    expect(faultsOf({ rules, overrides: [{ ...entry, value: '10.0.0.0/8' }] })).toEqual([
      'overrides[0].value: an override is for a single address, not for a network',
    ])
    expect(faultsOf({ rules, overrides: [{ ...entry, value: '::ffff:10.0.0.1' }] })).toEqual([])
  })
})
