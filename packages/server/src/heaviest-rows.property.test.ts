import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { CountedRule, HeaviestRows } from './heaviest-rows.js'

/** Few rows are heavy, many are not. */
const value = fc.tuple(fc.nat(120), fc.nat(120)).map(([a, b]) => String(Math.min(a, b)))
const decided = fc.record({
  rule: fc.nat(1),
  value,
  isDenied: fc.boolean(),
  amount: fc.integer({ min: 0, max: 9 }),
})
type Decided = typeof decided extends fc.Arbitrary<infer T> ? T : never

interface Sums {
  seen: number
  denied: number
  amount: number
}

class World {
  readonly rules = [new CountedRule(), new CountedRule()]
  readonly table: HeaviestRows<CountedRule>
  readonly exact = new Map<string, Sums>()
  count = 0

  constructor(readonly places: number) {
    this.table = new HeaviestRows(places)
  }

  decide({ rule, value, isDenied, amount }: Decided) {
    const place = this.table.count(this.rules[rule]!, value)
    if (isDenied) this.table.denied[place]!++
    this.table.amount[place]! += amount
    const sums = this.exact.get(`${rule} ${value}`) ?? { seen: 0, denied: 0, amount: 0 }
    sums.seen++
    if (isDenied) sums.denied++
    sums.amount += amount
    this.exact.set(`${rule} ${value}`, sums)
    this.count++
  }

  named(): Map<string, Sums> {
    const named = new Map<string, Sums>()
    for (const [i, { places }] of this.rules.entries())
      for (const [text, place] of places) {
        const { denied, amount } = this.table
        const seen = this.table.seen(place)
        named.set(`${i} ${text}`, { seen, denied: denied[place]!, amount: amount[place]! })
      }
    return named
  }

  /** No row has more than it had, or less by more than this; and the sums of each rule are exact. */
  expectWithin(error: number) {
    const named = this.named()
    const none = { seen: 0, denied: 0, amount: 0 }
    for (const [name, sums] of this.exact) {
      const found = named.get(name) ?? none
      expect(found.seen).toBeLessThanOrEqual(sums.seen)
      expect(found.denied).toBeLessThanOrEqual(sums.denied)
      expect(found.amount).toBeLessThanOrEqual(sums.amount)
      expect(sums.seen - found.seen).toBeLessThanOrEqual(error)
    }
    for (const [i, rule] of this.rules.entries())
      for (const key of ['seen', 'denied', 'amount'] as const) {
        const sum = (all: Map<string, Sums>) =>
          [...all].reduce((sofar, [name, s]) => sofar + (name.startsWith(`${i} `) ? s[key] : 0), 0)
        expect(rule[key] + sum(named)).toBe(sum(this.exact))
      }
  }
}

const decisions = fc.array(decided, { maxLength: 800 })
const places = fc.integer({ min: 1, max: 40 })

describe('the heaviest rows', () => {
  it('are counted short by at most one in so many places, and their rules exactly', () => {
    fc.assert(
      fc.property(decisions, places, (all, most) => {
        const world = new World(most)
        for (const one of all) world.decide(one)
        world.expectWithin(all.length / most)
        expect(world.named().size).toBe(Math.min(most, world.exact.size))
      }),
    )
  })

  it('keep the names that are asked for, within the error that is stated', () => {
    fc.assert(
      fc.property(decisions, places, fc.integer({ min: 1, max: 20 }), (all, most, names) => {
        const world = new World(most)
        for (const one of all) world.decide(one)
        const error = world.table.keepHeaviest(names)
        world.expectWithin(error)
        expect(world.named().size).toBeLessThanOrEqual(names)
        if (world.exact.size <= Math.min(most, names)) {
          expect(error).toBe(0)
          expect(world.named()).toEqual(world.exact)
        }
        world.table.clear()
        expect([...world.table]).toEqual([])
      }),
    )
  })

  it('keep their proportions when they are halved, and give up their places in time', () => {
    fc.assert(
      fc.property(decisions, places, (all, most) => {
        const world = new World(most)
        for (const one of all) world.decide(one)
        const before = world.named()
        world.table.halve()
        for (const [name, { seen, denied, amount }] of world.named()) {
          const whole = before.get(name)!
          expect([seen, denied, amount]).toEqual([
            whole.seen / 2,
            whole.denied / 2,
            whole.amount / 2,
          ])
        }
        for (let i = 0; i < 12; i++) world.table.halve()
        expect(world.named().size).toBe(0)
        for (const one of all.slice(0, most)) world.decide(one)
        for (const { seen } of world.table) expect(Number.isInteger(seen)).toBe(true)
      }),
    )
  })
})
