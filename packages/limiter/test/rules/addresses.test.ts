/** What addresses are counted as, and which of an address's rules governs it. */
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createLimiter, RuleSet, type RulesDocument } from '../../src/index.js'

function world(document: RulesDocument = {}) {
  const rules = RuleSet.compile({
    rules: { addresses: { scope: 'ip', limits: '1000/h' } },
    ...document,
  })
  const limiter = createLimiter({ rules, clock: () => 1_780_000_000_000 })
  /** How many this address has used after one more. */
  const used = async (ip: string) => 1000 - (await limiter.check({ subject: { ip } })).remaining!
  return { limiter, used }
}

describe('an address', () => {
  it('of IPv6 is counted by its /64', async () => {
    const { used } = world()
    expect(await used('2001:db8::1')).toBe(1)
    expect(await used('2001:db8::ffff:1')).toBe(2)
    expect(await used('2001:DB8:0:0:dead:beef::')).toBe(3)
    expect(await used('2001:db8::1%eth0')).toBe(4)
    expect(await used('2001:db8:0:1::1')).toBe(1)
    expect(await used('2001:db8:1::1')).toBe(1)
  })

  it.each([
    [128, '2001:db8::1', '2001:db8::1%en0', '2001:db8::2'],
    [56, '2001:db8:0:100::', '2001:db8:0:1ff::9', '2001:db8:0:200::'],
    [48, '2001:db8:7::', '2001:db8:7:ffff::', '2001:db8:8::'],
    [1, '::1', '7fff::', '8000::'],
  ])('of IPv6 is counted by its /%i if the rules say so', async (ipv6_prefix, one, same, other) => {
    const { used } = world({ defaults: { ipv6_prefix } })
    expect([await used(one), await used(same), await used(other)]).toEqual([1, 2, 1])
  })

  it('of IPv4 is counted by itself, also where it is mapped into IPv6', async () => {
    const { used } = world()
    expect(await used('203.0.113.7')).toBe(1)
    expect(await used('::ffff:203.0.113.7')).toBe(2)
    expect(await used('::FFFF:CB00:7107')).toBe(3)
    expect(await used('203.0.113.8')).toBe(1)
    expect(await used('::ffff:203.0.113.9')).toBe(1)
  })

  it('under the rule of a network is counted apart from the others', async () => {
    const { used } = world({
      rules: { net: { scope: 'ip', value: '10.0.0.0/8', limits: '1000/h' } },
    })
    expect(await used('10.0.0.1')).toBe(1)
    expect(await used('10.0.0.2')).toBe(1)
    expect(await used('::ffff:10.0.0.1')).toBe(2)
  })

  it('is reset in whatever spelling', async () => {
    const { limiter, used } = world()
    await used('2001:db8::1')
    await used('203.0.113.7')
    expect(await limiter.reset({ ip: '2001:DB8::9' })).toBe(1)
    expect(await limiter.reset({ ip: '::ffff:203.0.113.7' })).toBe(1)
    expect([await used('2001:db8::1'), await used('203.0.113.7')]).toEqual([1, 1])
  })

  it('is governed by the narrowest network, before the more specific resource', async () => {
    const { limiter } = world({
      rules: {
        wide: { scope: 'ip', value: '10.0.0.0/8', resource: '/a/b', limits: '1000/h' },
        narrow: { scope: 'ip', value: '10.0.0.0/24', limits: '1000/h' },
        one: { scope: 'ip', value: '10.0.0.1', limits: '1000/h' },
        any: { scope: 'ip', resource: '/a/b', limits: '1000/h' },
      },
    })
    const rule = async (ip: string) =>
      (await limiter.check({ subject: { ip }, resource: '/a/b' })).rule
    expect(await rule('10.0.0.1')).toBe('one')
    expect(await rule('10.0.0.2')).toBe('narrow')
    expect(await rule('10.0.1.1')).toBe('wide')
    expect(await rule('11.0.0.1')).toBe('any')
    expect(await rule('2001:db8::1')).toBe('any')
  })

  it('given back to gives back, also under an override of its own', async () => {
    for (const value of ['203.0.113.7', '2001:db8::5']) {
      const { limiter } = world({
        overrides: [{ scope: 'ip', value, rule: 'addresses', limits: '5000/h' }],
      })
      const subject = { ip: value }
      const decision = await limiter.check({ subject, cost: 5 })
      expect(decision).toMatchObject({ limit: 5000, remaining: 4995 })
      expect(await limiter.refund(decision)).toEqual({ requests: 5 })
      expect((await limiter.peek({ subject })).remaining).toBe(5000)
    }
  })

  it('is decided the same whether or not the rules look at networks', () => {
    const limits = { limits: '1000/h' } as const
    const plain = world().limiter
    const cidrs = world({
      rules: {
        addresses: { scope: 'ip', ...limits },
        net: { scope: 'ip', value: '255.255.255.255', ...limits },
      },
    }).limiter
    const texts = fc.oneof(
      fc.ipV4(),
      fc.ipV6(),
      fc.ipV4Extended(),
      fc.string({ unit: 'binary', maxLength: 20 }),
      fc.ipV4().map((ip) => `::ffff:${ip}`),
    )
    const answer = (limiter: typeof plain, ip: string) => {
      try {
        return limiter.checkSync({ subject: { ip }, dryRun: true }).allowed
      } catch (error) {
        return String(error)
      }
    }
    fc.assert(
      fc.property(texts, (ip) => {
        fc.pre(ip !== '255.255.255.255')
        expect(answer(cidrs, ip)).toBe(answer(plain, ip))
      }),
      { numRuns: 1000 },
    )
  })
})
