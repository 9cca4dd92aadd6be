/** Blocks come before anything else, exemptions before all rules; both by exact value or network, until a time. */
import { BlockList, isIPv4 } from 'node:net'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createLimiter, type ListEntry, type RulesDocument } from '../../src/index.js'

const START = Date.parse('2026-06-15T00:00:00Z')

function world(document: Omit<RulesDocument, 'rules'>) {
  const time = { now: START }
  const limiter = createLimiter({
    ...document,
    rules: {
      users: { scope: 'user', limits: '3/h' },
      everything: { scope: 'global', limits: '1000/h' },
    },
    clock: () => time.now,
  })
  return { limiter, time }
}

describe('a block', () => {
  it('refuses before anything is counted, and says why', async () => {
    const { limiter } = world({ blocks: [{ user: 'eve', reason: 'card testing' }] })
    const decision = await limiter.check({ subject: { user: 'eve' } })
    expect(decision).toMatchObject({
      allowed: false,
      reason: 'blocked',
      retryAfterMs: null,
      scope: 'user',
      rule: null,
      limit: null,
      remaining: null,
      limits: [],
      state: 'throttled',
    })
    expect(String(decision)).toBe('user eve is blocked: card testing')
    expect((await limiter.peek({})).remaining).toBe(1000)
  })

  it('of any scope that is present is enough, and comes before exemptions', async () => {
    const { limiter } = world({ blocks: ['org:acme'], exemptions: ['user:ada'] })
    const both = await limiter.check({ subject: { user: 'ada', org: 'acme' } })
    expect(both).toMatchObject({ allowed: false, reason: 'blocked', scope: 'org' })
    expect((await limiter.check({ subject: { user: 'ada' } })).exempt).toBe(true)
    expect((await limiter.check({ subject: { org: 'Acme' } })).allowed).toBe(true)
  })

  it('ends by the clock, at the very time', async () => {
    const { limiter, time } = world({
      blocks: [
        { user: 'eve', until: '2026-06-16' },
        { user: 'bob', until: new Date('2026-06-15T00:00:00.001Z') },
        { user: 'tom', until: '2026-06-15T04:00:00+02:00' },
      ],
    })
    const blocked = async (user: string, at: string) => {
      time.now = Date.parse(at)
      return !(await limiter.peek({ subject: { user } })).allowed
    }
    expect(await blocked('eve', '2026-06-15T23:59:59.999Z')).toBe(true)
    expect(await blocked('eve', '2026-06-16T00:00:00.000Z')).toBe(false)
    expect(await blocked('bob', '2026-06-15T00:00:00.000Z')).toBe(true)
    expect(await blocked('bob', '2026-06-15T00:00:00.001Z')).toBe(false)
    expect(await blocked('tom', '2026-06-15T01:59:59.999Z')).toBe(true)
    expect(await blocked('tom', '2026-06-15T02:00:00.000Z')).toBe(false)
  })

  it('that has ended does not hide one that has not', async () => {
    const past = '2020-01-01'
    const { limiter } = world({
      blocks: [
        { ip: '10.0.0.1', until: past },
        { ip: '10.0.0.0/24', until: past },
        { ip: '10.0.0.0/8', reason: 'still' },
        { user: 'eve', reason: 'for good' },
        { user: 'eve', until: past, reason: 'over' },
      ],
    })
    expect(String(await limiter.check({ subject: { ip: '10.0.0.1' } }))).toBe(
      'ip 10.0.0.1 is blocked: still',
    )
    expect(String(await limiter.check({ subject: { user: 'eve' } }))).toBe(
      'user eve is blocked: for good',
    )
  })

  it('compares full addresses, whatever they are counted by', async () => {
    const { limiter } = world({
      blocks: ['ip:2001:db8::5', 'ip:192.0.2.0/24', 'ip:2001:db8:1::/48'],
    })
    const allowed = async (ip: string) => (await limiter.check({ subject: { ip } })).allowed
    expect(await allowed('2001:db8::5')).toBe(false)
    expect(await allowed('2001:DB8:0::0:5%eth0')).toBe(false)
    expect(await allowed('2001:db8::6')).toBe(true)
    expect(await allowed('2001:db8:1:ffff::1')).toBe(false)
    expect(await allowed('192.0.2.7')).toBe(false)
    expect(await allowed('::ffff:192.0.2.7')).toBe(false)
    expect(await allowed('192.0.3.7')).toBe(true)
  })
})

describe('an exemption', () => {
  it('lets through all rules and counts nothing', async () => {
    const { limiter } = world({ exemptions: ['user:health', 'ip:10.0.0.0/8'] })
    for (let i = 0; i < 10; i++) {
      const decision = await limiter.check({ subject: { user: 'health' } })
      expect(decision).toMatchObject({
        allowed: true,
        exempt: true,
        limits: [],
        limit: null,
        rule: null,
      })
      expect(decision.receipt).toBeNull()
    }
    expect((await limiter.check({ subject: { user: 'ada', ip: '10.1.2.3' } })).exempt).toBe(true)
    expect((await limiter.peek({})).remaining).toBe(1000)
    expect(String(await limiter.check({ subject: { user: 'health' } }))).toBe('allowed, exempt')
  })

  it('ends by the clock too', async () => {
    const { limiter, time } = world({ exemptions: [{ user: 'ada', until: '2026-06-16' }] })
    expect((await limiter.check({ subject: { user: 'ada' } })).exempt).toBe(true)
    time.now = Date.parse('2026-06-16')
    expect(await limiter.check({ subject: { user: 'ada' } })).toMatchObject({
      exempt: false,
      remaining: 2,
    })
  })
})

describe('lists', () => {
  const USERS = ['ada', 'bob', '__proto__', 'x'.repeat(500)]
  const ADDRESSES = [
    '10.0.0.1',
    '10.0.0.2',
    '10.128.0.1',
    '192.0.2.1',
    '2001:db8::1',
    '2001:db8:0:1::1',
  ]
  const NETWORKS = [
    '10.0.0.0/8',
    '10.0.0.0/31',
    '0.0.0.0/0',
    '2001:db8::/64',
    '::/0',
    '10.0.0.1/32',
  ]
  const entries = fc.record({
    who: fc.oneof(
      fc.constantFrom(...USERS).map((user) => ({ user })),
      fc.constantFrom(...ADDRESSES, ...NETWORKS).map((ip) => ({ ip })),
    ),
    until: fc.constantFrom(
      undefined,
      '2026-06-15',
      '2026-06-15T00:00:00.001Z',
      '2027-01-01',
      '1999-01-01',
    ),
  })
  type Entry = typeof entries extends fc.Arbitrary<infer E> ? E : never
  const subjects = fc.record(
    { user: fc.constantFrom(...USERS, 'zoe'), ip: fc.constantFrom(...ADDRESSES) },
    { requiredKeys: [] },
  )

  function names({ who, until }: Entry, subject: { user?: string; ip?: string }): boolean {
    if (until !== undefined && Date.parse(until) <= START) return false
    if ('user' in who) return who.user === subject.user
    if (subject.ip === undefined) return false
    const [network, bits] = who.ip.split('/') as [string, string?]
    if (isIPv4(network) !== isIPv4(subject.ip)) return false
    const family = isIPv4(network) ? 'ipv4' : 'ipv6'
    const list = new BlockList()
    list.addSubnet(network, Number(bits ?? (family === 'ipv4' ? 32 : 128)), family)
    return list.check(subject.ip, family)
  }

  const written = ({ who, until }: Entry) =>
    (until === undefined ? who : { ...who, until }) as unknown as ListEntry

  it('decide as a look at every entry does', () => {
    const lists = fc.array(entries, { maxLength: 8 })
    fc.assert(
      fc.property(lists, lists, fc.array(subjects), (blocks, exemptions, subjects) => {
        const { limiter } = world({
          blocks: blocks.map(written),
          exemptions: exemptions.map(written),
        })
        for (const subject of subjects) {
          const decision = limiter.checkSync({ subject, dryRun: true })
          const blocked = blocks.some((entry) => names(entry, subject))
          const exempt = !blocked && exemptions.some((entry) => names(entry, subject))
          expect([decision.allowed, decision.exempt]).toEqual([!blocked, exempt])
        }
      }),
      { numRuns: 500 },
    )
  })
})
