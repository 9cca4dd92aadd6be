import { describe, expect, it } from 'vitest'
import { byRule, Deciding, PlainCount, START, sumsOf } from '../../test/usage/deciding.js'
import { Tally } from './tally.js'

describe('a tally', () => {
  it('counts a denial under the rule that blocks, and nothing under the others', () => {
    const deciding = new Deciding({
      rules: {
        'per-user': { scope: 'user', limits: '1/h' },
        'per-org': { scope: 'org', limits: '100/h' },
      },
    })
    const tally = new Tally(START)
    for (let i = 0; i < 3; i++) deciding.ask({ subject: { user: 'ada', org: 'acme' } }, tally)
    expect(sumsOf([tally.take(START)])).toEqual({
      'default per-user user ada': [1, 2, 1],
      'default per-org org acme': [1, 0, 1],
    })
  })

  it('counts the blocked under no rule, and the exempt not at all', () => {
    const deciding = new Deciding({
      rules: { 'per-user': { scope: 'user', limits: '1/h' } },
      blocks: ['user:eve'],
      exemptions: ['user:root'],
    })
    const tally = new Tally(START)
    deciding.ask({ subject: { user: 'eve' }, resource: '/a?secret=1' }, tally)
    deciding.ask({ subject: { user: 'root' } }, tally)
    const counts = tally.take(START)
    expect(sumsOf([counts])).toEqual({ 'default null user eve': [0, 1, 0] })
    expect(counts.decisions).toBe(1)
    expect(counts.violations).toEqual([
      {
        at: START,
        namespace: 'default',
        rule: null,
        scope: 'user',
        value: 'eve',
        resource: '/a',
        limit: null,
        reason: 'blocked',
        count: 1,
      },
    ])
  })

  it('names the limit that blocks, of several, and why', () => {
    const deciding = new Deciding({
      rules: { 'per-user': { scope: 'user', limits: ['10/s', '2/h fixed'] } },
    })
    const tally = new Tally(START)
    for (const cost of [2, 1, 3]) deciding.ask({ subject: { user: 'ada' }, cost }, tally)
    expect(
      tally.take(START).violations.map(({ limit, reason, count }) => [limit, reason, count]),
    ).toEqual([
      ['2/h fixed', 'limited', 1],
      ['2/h fixed', 'too_expensive', 1],
    ])
  })

  it('tells seconds apart, and cuts what was asked for', () => {
    const deciding = new Deciding({ rules: { one: { scope: 'user', limits: '1/d fixed' } } })
    const tally = new Tally(START)
    const request = { subject: { user: 'ada' }, resource: `/${'x'.repeat(999)}` }
    for (let i = 0; i < 6; i++) {
      deciding.ask(request, tally)
      deciding.now += 400
    }
    const { violations } = tally.take(deciding.now)
    expect(violations.map(({ at, count }) => [at - START, count])).toEqual([
      [0, 2],
      [1000, 2],
      [2000, 1],
    ])
    expect(new Set(violations.map(({ resource }) => resource!.length))).toEqual(new Set([256]))
  })

  it('keeps no half characters of what was asked for, and nothing of a query', () => {
    const deciding = new Deciding({ rules: { one: { scope: 'user', limits: '1/d fixed' } } })
    const tally = new Tally(START)
    const resources = [`/${'x'.repeat(254)}😀`, '?a=b', 'half \ud83d', undefined]
    for (const resource of ['/', ...resources])
      deciding.ask(
        { subject: { user: 'ada' }, ...(resource === undefined ? {} : { resource }) },
        tally,
      )
    expect(tally.take(START).violations.map(({ resource, count }) => [resource, count])).toEqual([
      [`/${'x'.repeat(254)}\ufffd`, 1],
      [null, 2],
      ['half \ufffd', 1],
    ])
  })

  it('begins anew after each take', () => {
    const deciding = new Deciding({ rules: { one: { scope: 'user', limits: '10/s' } } })
    const tally = new Tally(START, { places: 2 })
    for (const user of ['a', 'b', 'c']) deciding.ask({ subject: { user } }, tally)
    tally.take(START + 2000)
    for (const user of ['d', 'e']) deciding.ask({ subject: { user } }, tally)
    const counts = tally.take(START + 4000)
    expect(counts).toMatchObject({ from: START + 2000, to: START + 4000, decisions: 2, error: 0 })
    expect(Object.keys(sumsOf([counts]))).toEqual(['default one user d', 'default one user e'])
  })

  it('keeps a heavy subject through a flood of others, and its memory bounded', () => {
    const deciding = new Deciding({ rules: { one: { scope: 'user', limits: '50/d fixed' } } })
    const tally = new Tally(START, { places: 512, violations: 100 })
    const plain = new PlainCount()
    const ask = (user: string) => {
      const request = { subject: { user }, resource: `/${user}`, cost: user === 'heavy' ? 1 : 51 }
      plain.decided(deciding.ask(request, tally), request, 'default')
    }
    for (let i = 0; i < 100_000; i++) {
      ask(`nobody-${i}`)
      if (i % 50 === 0) ask('heavy')
    }
    const counts = tally.take(START)
    const sums = sumsOf([counts])
    expect(byRule(sums)).toEqual(byRule(plain.sums))
    expect(Object.keys(sums).length).toBeLessThanOrEqual(513)
    expect(counts.error).toBeLessThan(2 * (counts.decisions / 512))
    const [allowed, denied] = sums['default one user heavy']!
    expect(2000 - allowed - denied).toBeLessThanOrEqual(counts.error)
    expect(counts.violations.length).toBeLessThanOrEqual(202)
    const sum = counts.violations.reduce((all, { count }) => all + count, 0)
    expect(sum).toBe(byRule(plain.sums)['default one user']![1])
    expect(
      counts.violations.some(({ value, resource }) => value !== null && resource === null),
    ).toBe(true)
  })
})
