import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { RulesDocument } from '@sluice/limiter'
import { describe, expect, it } from 'vitest'
import { Deciding } from '../../test/usage/deciding.js'
import { HotRows, SAMPLED } from './hot-rows.js'

const rulesOf = (namespace: string, fewOf = 'user'): RulesDocument => ({
  namespace,
  rules: {
    few: { scope: fewOf, limits: '10/d fixed', tiers: { pro: '20/d fixed' } },
    org: { scope: 'org', limits: '1M/s' },
  },
})

type Namespace = 'default' | 'other'

class World {
  now = 0
  readonly hot = new HotRows({ now: () => this.now, seed: 1 })
  readonly #deciding = {
    default: new Deciding(rulesOf('default')),
    other: new Deciding(rulesOf('other')),
  }

  ask(
    times: number,
    subject: Record<string, string>,
    { isAsked = false, namespace = 'default' }: { isAsked?: boolean; namespace?: Namespace } = {},
  ) {
    for (let i = 0; i < times; i++)
      this.hot.decided(this.#deciding[namespace].ask({ subject }), namespace, isAsked)
  }
}

describe('hot rows', () => {
  it('forget: what was asked a minute ago counts a quarter, and in time not at all', () => {
    const world = new World()
    world.ask(16_000, { org: 'acme' })
    world.now = 10_000
    const [before] = world.hot.of('default')
    expect(before!.perSecond).toBeGreaterThan(1300)
    world.now = 70_000
    const [after] = world.hot.of('default')
    // A quarter of it, over 32.5 seconds: 10 and 30 and 30 of which count a quarter, a half and whole.
    expect(after!.perSecond / before!.perSecond).toBeCloseTo(0.25 / (world.hot.windowSeconds / 10))
    world.now = 3_600_000
    expect(world.hot.of('default')).toEqual([])
    world.now = Number.MAX_SAFE_INTEGER
    expect(world.hot.windowSeconds).toBeLessThanOrEqual(60)
  })

  it('tell a steady rate at any time', () => {
    const world = new World()
    for (let second = 1; second <= 300; second++) {
      world.now = second * 1000
      world.hot.age()
      world.ask(1600, { org: 'acme' })
      if (second < 5) continue
      const [row] = world.hot.of('default')
      expect(Math.abs(row!.perSecond - 1600)).toBeLessThan(160)
    }
  })

  it('tell what each row denied, and what the store was asked for', () => {
    const world = new World()
    world.ask(16_000, { user: 'ada', org: 'acme' }, { isAsked: true })
    world.ask(16_000, { org: 'acme' })
    const [org, user] = world.hot.of('default')
    expect(org).toMatchObject({ rule: 'org', value: 'acme', deniedShare: 0, share: 1 })
    expect(org!.askedPerSecond / org!.perSecond).toBeCloseTo(0.5, 1)
    expect(user).toMatchObject({ rule: 'few', variant: 'few', value: 'ada' })
    expect(user!.deniedShare).toBeCloseTo(0.999, 2)
    expect(user!.share).toBeCloseTo(0.5, 1)
    expect(user!.askedPerSecond).toBe(user!.perSecond)
  })

  it('are those of one namespace, and shares are of its decisions', () => {
    const world = new World()
    world.ask(1000, { org: 'acme' })
    world.ask(9000, { org: 'acme' }, { namespace: 'other' })
    expect(world.hot.of('none')).toEqual([])
    for (const namespace of ['default', 'other'])
      expect(world.hot.of(namespace)).toMatchObject([{ namespace, value: 'acme', share: 1 }])
  })

  it('have the first decision, so that an instance that decides has rows', () => {
    const world = new World()
    world.ask(1, { org: 'acme' })
    expect(world.hot.of('default')).toHaveLength(1)
    expect(world.hot.rules(20)).toMatchObject([{ namespace: 'default', rule: 'org' }])
    expect(world.hot.rules(20)[0]!.perSecond).toBe(SAMPLED)
  })

  it('name a rule once, also when its scope has changed', () => {
    const hot = new HotRows({ now: () => 0, seed: 1 })
    for (const scope of ['user', 'ip'])
      for (let i = 0; i < 100; i++) {
        const deciding = new Deciding(rulesOf('default', scope))
        hot.decided(deciding.ask({ subject: { [scope]: '10.0.0.1' } }), 'default', false)
      }
    expect(hot.of('default').map(({ scope }) => scope)).toHaveLength(2)
    expect(hot.rules(20).map(({ rule }) => rule)).toEqual(['few'])
  })

  it('name the hottest rules, as many as are asked for', () => {
    const hot = new HotRows({ now: () => 0, seed: 1 })
    const names = Array.from({ length: 40 }, (_, i) => `r${i}`)
    const rules = names.map((name) => [
      name,
      { scope: 'user', resource: `/${name}`, limits: '1M/s' },
    ])
    const deciding = new Deciding({ rules: Object.fromEntries(rules) as never })
    for (const [i, name] of names.entries())
      for (let n = 0; n < 100 * (i + 1); n++)
        hot.decided(
          deciding.ask({ subject: { user: 'ada' }, resource: `/${name}` }),
          'default',
          false,
        )
    const found = hot.rules(20)
    expect(found).toHaveLength(20)
    expect(found.map(({ rule }) => rule)).toContain('r39')
    expect(found.map(({ rule }) => rule)).not.toContain('r0')
  })

  it('keep the names of their subjects, not the bodies that those came in', () => {
    setFlagsFromString('--expose-gc')
    const gc = runInNewContext('gc') as () => void
    const world = new World()
    gc()
    const before = process.memoryUsage().heapUsed
    for (let i = 0; i < 200; i++) {
      const body = Buffer.alloc(500_000, `body ${i} `).toString('latin1')
      world.ask(31, { org: body.slice(0, 20) })
    }
    gc()
    expect(world.hot.of('default')).toHaveLength(200)
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(50_000_000)
  })
})
