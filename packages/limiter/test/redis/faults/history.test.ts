/** The checks find what they are there for, and nothing in what is well. */
import { describe, expect, it } from 'vitest'
import { excess, overAdmitted, overAdmittedLocally } from './admissions.js'
import {
  type Answer,
  brokenBreakers,
  decidedByOtherClocks,
  degradedWhileWell,
  exactWhileAway,
  failedProbes,
  type History,
  late,
  neverOpened,
  wrongByMode,
} from './history.js'

const START = 1_780_000_000_000

function answer(at: number, fields: Partial<Answer> = {}): Answer {
  return {
    worker: 0,
    asked: at,
    answered: at + 1,
    askedWall: START + at,
    answeredWall: START + at + 1,
    resource: 'bucket',
    key: 'hot',
    breakers: { before: { n: 'closed' }, after: { n: 'closed' } },
    allowed: true,
    degraded: null,
    decidedAt: (START + at) * 1000,
    reason: null,
    rule: 'bucket',
    ...fields,
  }
}

const history = (answers: readonly Answer[], rest: Partial<History> = {}): History => ({
  answers,
  stalls: [],
  memory: [],
  errors: [],
  ...rest,
})
const many = (n: number, make: (i: number) => Answer) =>
  Array.from({ length: n }, (_, i) => make(i))
const moments = (...at: number[]) => at.map((each) => ({ from: each, to: each }))

describe('excess', () => {
  const bucket = { kind: 'bucket', burst: 2, amount: 1, window: 1_000_000 } as const
  const aligned = { kind: 'aligned', limit: 2, window: 1_000_000 } as const
  const every = { kind: 'every', limit: 2, window: 1_000_000 } as const

  it('of a bucket: more than the burst and what has been refilled, in any span', () => {
    expect(excess(moments(0, 0, 999_999, 2_000_000), bucket)).toBeNull()
    expect(excess(moments(0, 0, 999_998), bucket)).toContain('3 within 999998')
    expect(excess(moments(0, 5_000_000, 5_000_000, 5_500_000), bucket)).toContain('3 within 500000')
  })

  it('of windows: aligned ones by themselves, others wherever they start', () => {
    const acrossTheEdge = moments(900_000, 950_000, 1_000_000, 1_050_000)
    expect(excess(acrossTheEdge, aligned)).toBeNull()
    expect(excess(acrossTheEdge, every)).toContain('3 within 100000')
    expect(excess(moments(0, 1, 999_999), aligned)).toContain('3 in the window from 0')
    expect(excess(moments(0, 1, 1_000_000, 1_000_001), every)).toBeNull()
  })

  it('is none if the admissions could have been elsewhere in their intervals', () => {
    const loose = [...moments(0, 0), { from: 0, to: 1_000_000 }]
    expect(excess(loose, bucket)).toBeNull()
    expect(excess(loose, every)).toBeNull()
    expect(excess([...moments(0, 0), { from: 0, to: 900_000 }], bucket)).not.toBeNull()
  })
})

describe('a history with', () => {
  it('one admission too many', () => {
    expect(overAdmitted(history(many(20, () => answer(0))))).toEqual([])
    expect(overAdmitted(history(many(21, () => answer(0))))).toHaveLength(1)
    const twoKeys = many(40, (i) => answer(0, { key: `key${i % 2}` }))
    expect(overAdmitted(history(twoKeys))).toEqual([])
    const degraded = many(40, () => answer(0, { degraded: 'store_timeout' }))
    expect(overAdmitted(history(degraded))).toEqual([])
  })

  it('a loss: the time before and the time after are taken apart', () => {
    const both = [...many(20, () => answer(0)), ...many(20, () => answer(10))]
    expect(overAdmitted(history(both))).toHaveLength(1)
    expect(overAdmitted(history(both), [START + 5])).toEqual([])
  })

  it('instances that each give the whole limit without the store', () => {
    const local = (n: number) =>
      history(
        many(n, (i) => answer(0, { worker: i % 3, resource: 'local', degraded: 'breaker_open' })),
      )
    expect(overAdmittedLocally(local(12), 3)).toEqual([])
    expect(overAdmittedLocally(local(36), 3)).toHaveLength(1)
  })

  it('answers after the deadline, unless the instance had no processor', () => {
    const slow = answer(0, { answered: 251 })
    const stall = { worker: 0, of: 'loop', from: 100, to: 200 } as const
    expect(late(history([answer(0, { answered: 149 })]), 100)).toEqual([])
    expect(late(history([slow]), 100)).toHaveLength(1)
    expect(late(history([slow], { stalls: [stall] }), 100)).toEqual([])
    expect(late(history([slow], { stalls: [{ ...stall, worker: 1 }] }), 100)).toHaveLength(1)
  })

  it('answers degraded without need, or exact without a store', () => {
    const span = { from: START, to: START + 1000 }
    const timeout = history([answer(500, { degraded: 'store_timeout' })])
    expect(degradedWhileWell(timeout, span)).toHaveLength(1)
    expect(degradedWhileWell(timeout, { from: START + 600, to: START + 1000 })).toEqual([])
    const stalls = [{ worker: 0, of: 'store', from: 440, to: 490 } as const]
    expect(degradedWhileWell({ ...timeout, stalls }, span)).toEqual([])
    const refused = history([answer(500, { degraded: 'store_refused' })], { stalls })
    expect(degradedWhileWell(refused, span)).toHaveLength(1)
    expect(exactWhileAway(history([answer(500)]), span)).toHaveLength(1)
    expect(exactWhileAway(timeout, span)).toEqual([])
  })

  it('a decision by the clock of the instance', () => {
    expect(decidedByOtherClocks(history([answer(0)]))).toEqual([])
    const skewed = answer(0, { decidedAt: (START + 300_000) * 1000 })
    expect(decidedByOtherClocks(history([skewed]))).toHaveLength(1)
  })

  it('a rule that does not fail by its mode', () => {
    const degraded = 'breaker_open'
    const wrong = [
      answer(0, { degraded }),
      answer(0, { degraded, allowed: false, reason: 'limited' }),
      answer(0, { degraded, resource: 'open', allowed: false, reason: 'limited' }),
      answer(0, { allowed: false, reason: 'store_down' }),
    ]
    const right = [
      answer(0, { degraded, allowed: false, reason: 'store_down' }),
      answer(0, { degraded, resource: 'open' }),
      answer(0, { degraded, resource: 'local' }),
      answer(0, { degraded, resource: 'local', allowed: false, reason: 'limited' }),
      answer(0, { allowed: false, reason: 'limited' }),
    ]
    expect(wrongByMode(history(wrong))).toHaveLength(wrong.length)
    expect(wrongByMode(history(right))).toEqual([])
  })

  it('a breaker that does not open, does not stay open, or opens again for nothing', () => {
    const [open, failed] = [{ degraded: 'breaker_open' }, { degraded: 'store_unreachable' }]
    const kept = [answer(0, failed), answer(1, open), answer(9000, open), answer(10_001)]
    const isOpen = { before: { n: 'open' }, after: { n: 'open' } } as const
    const probes = { before: { n: 'open' }, after: { n: 'half_open' } } as const
    const halfOpen = { before: { n: 'half_open' }, after: { n: 'half_open' } } as const
    const well = [
      answer(0, { ...open, breakers: isOpen }),
      answer(1, { ...failed, breakers: probes }),
      answer(2, { ...failed, breakers: halfOpen, answered: 9 }),
      answer(3, { ...open, breakers: halfOpen }),
      answer(9, { breakers: halfOpen }),
      answer(10, failed),
    ]
    expect(brokenBreakers(history(well))).toEqual([])
    expect(brokenBreakers(history([answer(0, { ...failed, breakers: isOpen })]))).toHaveLength(1)
    expect(brokenBreakers(history([answer(0, { breakers: isOpen })]))).toHaveLength(1)
    const second = answer(3, { ...failed, breakers: halfOpen, answered: 8 })
    const third = answer(4, { ...failed, breakers: halfOpen })
    expect(brokenBreakers(history([...well, second]))).toEqual([])
    expect(brokenBreakers(history([...well, second, third]))).toHaveLength(1)
    expect(brokenBreakers(history([...well, second, { ...third, worker: 1 }]))).toEqual([])
    const elsewhere = { before: { m: 'half_open' }, after: { m: 'half_open' } } as const
    expect(brokenBreakers(history([...well, second, { ...third, breakers: elsewhere }]))).toEqual(
      [],
    )
    const moved = { before: { n: 'open' }, after: { m: 'open' } } as const
    expect(brokenBreakers(history([answer(0, { breakers: moved })]))).toEqual([])
    expect(neverOpened(history(kept), 1)).toEqual([])
    expect(neverOpened(history(kept), 2)).toHaveLength(1)
    const again = history([...kept, answer(10_002, failed)])
    expect(failedProbes(history(kept), START + 3000)).toEqual([])
    expect(failedProbes(again, START + 3000)).toHaveLength(1)
  })
})
