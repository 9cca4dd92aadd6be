import { createLimiter, RuleSet, type RulesDocument } from '@sluice/limiter'
import type { DecisionRecord } from '@sluice/limiter/transport'
import { describe, expect, it } from 'vitest'
import { Meter } from './meter.js'

const documentOf = (limits: '1/d fixed' | '3/d fixed', name = 'a'): RulesDocument => ({
  rules: { [name]: { scope: 'user', limits }, other: { scope: 'ip', limits: '9/s' } },
})

class World {
  readonly meter = new Meter()
  readonly limiter = createLimiter({ rules: RuleSet.compile(documentOf('1/d fixed')) })

  use(document: RulesDocument) {
    this.limiter.setRules(RuleSet.compile(document))
    this.meter.use(this.limiter.rules)
  }

  ask(times: number, subject: Record<string, string> = { user: 'ada' }) {
    for (let i = 0; i < times; i++) {
      const decision = this.limiter.decide({ subject }) as unknown as DecisionRecord
      this.meter.decided(decision, {}, 'default')
    }
  }

  counts(): Record<string, number> {
    const counts = [...this.meter.decisions()].map(
      ({ rule, outcome, count }) => [`${rule} ${outcome}`, count] as const,
    )
    return Object.fromEntries(counts)
  }
}

describe('the meter', () => {
  it('goes on counting where it was when rules are replaced', () => {
    const world = new World()
    world.ask(2)
    world.use(documentOf('3/d fixed'))
    world.ask(5)
    world.ask(1, { ip: '10.0.0.1' })
    expect(world.counts()).toEqual({ 'a allowed': 3, 'a limited': 4, 'other allowed': 1 })
  })

  it('gives the place of a rule that is gone to another, which starts at nothing', () => {
    const world = new World()
    world.ask(2)
    world.use(documentOf('3/d fixed', 'b'))
    world.ask(1)
    expect(world.counts()).toEqual({ 'b allowed': 1 })
  })

  it('keeps as many labels as rules have at a time, however often they change', () => {
    const world = new World()
    for (let i = 0; i < 2000; i++) {
      world.use(documentOf('3/d fixed', `r${i}`))
      world.ask(1, { user: `user-${i}` })
    }
    expect(world.counts()).toEqual({ 'r1999 allowed': 1 })
    expect(world.meter.labels.length).toBeLessThan(5)
  })
})
