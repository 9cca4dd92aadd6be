/** Explanations in words: why a rule applies, and by what another one was set aside. */
import { describe, expect, it } from 'vitest'
import { createLimiter, type Request, RuleSet, type RulesDocument } from '../../src/index.js'

const LIMITS = { limits: '10/s' } as const

/** `rule: why`, of what applies and of what does not. */
async function explain(document: RulesDocument, request: Request) {
  const limiter = createLimiter({ rules: RuleSet.compile(document), clock: () => 0 })
  const { applied, setAside, ...rest } = await limiter.explain(request)
  return {
    ...rest,
    applied: applied.map(({ rule, why }) => `${rule}: ${why}`),
    setAside: setAside.map(({ rule, why }) => `${rule}: ${why}`),
  }
}

/** Why the second of two rules of one scope is set aside by the first. */
async function reason(winner: object, loser: object, request: Request): Promise<string> {
  const rules = {
    w: { scope: 'user', ...LIMITS, ...winner },
    l: { scope: 'user', ...LIMITS, ...loser },
  }
  const { applied, setAside } = await explain({ rules }, request)
  expect(applied).toEqual([expect.stringMatching(/^w: /)])
  expect(setAside).toHaveLength(1)
  expect(applied[0]!.slice(3)).toBe(setAside[0]!.slice(3))
  return setAside[0]!
}

describe('an explanation', () => {
  const ada = { subject: { user: 'ada' } }

  it('names the first thing in which the winner is more specific', async () => {
    expect(await reason({ value: 'ada' }, { resource: '/x' }, { ...ada, resource: '/x' })).toBe(
      'l: the named value of w beats any value',
    )
    expect(
      await reason(
        { resource: '/x' },
        { methods: 'GET' },
        { ...ada, resource: '/x', method: 'GET' },
      ),
    ).toBe('l: /x of w beats *')
    expect(
      await reason(
        { methods: ['PUT', 'GET'] },
        { tier: 'pro' },
        { ...ada, method: 'GET', tier: 'pro' },
      ),
    ).toBe('l: GET|PUT of w beats any method')
    expect(await reason({ tier: 'pro' }, {}, { ...ada, tier: 'pro' })).toBe(
      'l: tier pro of w beats no tier',
    )
    expect(
      await reason({ methods: 'GET' }, { methods: ['GET', 'PUT'] }, { ...ada, method: 'GET' }),
    ).toBe('l: the shorter list of methods of w beats the longer one')
  })

  it('takes patterns of one meaning for one', async () => {
    expect(
      await reason(
        { resource: 'GET /a/:y' },
        { resource: '/a/:x' },
        { ...ada, resource: '/a/1', method: 'GET' },
      ),
    ).toBe('l: GET of w beats any method')
  })

  it('takes networks of one meaning for one', async () => {
    const net = { scope: 'ip', value: '10.0.0.0/8' }
    const request = { subject: { ip: '10.1.1.1' }, resource: '/x' }
    expect(await reason({ ...net, resource: '/x' }, net, request)).toBe('l: /x of w beats *')
    expect(
      await reason({ scope: 'ip', value: '10.1.0.0/16' }, { ...net, resource: '/x' }, request),
    ).toBe('l: the narrower value of w beats a wider network')
    expect(await reason({ scope: 'ip', value: '10.1.1.1' }, net, request)).toBe(
      'l: the narrower value of w beats a wider network',
    )
  })

  it('falls back on the name', async () => {
    const rules = {
      b: { scope: 'user', ...LIMITS, methods: ['GET', 'PUT'] },
      a: { scope: 'user', ...LIMITS, methods: ['GET', 'POST'] },
    }
    const { setAside } = await explain({ rules }, { ...ada, method: 'GET' })
    expect(setAside).toEqual(['b: a comes before it by name'])
  })

  it('says what keeps a rule from applying though nothing beats it', async () => {
    const rules = {
      tokens: { scope: 'user', ...LIMITS, unit: 'tokens' },
      pro: { scope: 'user', ...LIMITS, tier: 'pro' },
    }
    expect((await explain({ rules }, ada)).setAside).toEqual([
      "pro: is for tier pro, and the request's is none",
      'tokens: counts tokens, and the request gives no costs.tokens',
    ])
    expect((await explain({ rules }, { ...ada, tier: 'max' })).setAside[0]).toBe(
      "pro: is for tier pro, and the request's is max",
    )
  })

  it('tells the only rule, the additive one, the shadow and the default apart', async () => {
    const document: RulesDocument = {
      rules: {
        one: { scope: 'user', resource: '/x', ...LIMITS },
        more: { scope: 'user', ...LIMITS, additive: true },
        trial: { scope: 'user', ...LIMITS, additive: true, shadow: true },
        shade: { scope: 'user', resource: '/y', ...LIMITS, shadow: true },
        all: { scope: 'global', ...LIMITS },
      },
      default_rule: { scope: 'ip', ...LIMITS },
    }
    const subject = { user: 'ada', ip: '10.0.0.1' }
    const x = await explain(document, { subject, resource: '/x' })
    expect(x.applied).toEqual([
      'one: the only rule of scope user',
      'more: additive',
      'trial: additive, in shadow',
      'all: the only rule of scope global',
    ])
    expect(x.setAside).toEqual(['default: applies only where no rule but a global one does'])
    const z = await explain(document, { subject: { ip: '10.0.0.1' }, resource: '/y' })
    expect(z.applied).toEqual([
      'all: the only rule of scope global',
      'default: no rule but a global one applies',
    ])
    expect(z.absentScopes).toEqual(['user'])
    const y = await explain(document, { subject, resource: '/y' })
    expect(y.applied).toContain('shade: the only rule of scope user in shadow')
  })

  it('has the tiers, the cost and the revision, and takes nothing', async () => {
    const limiter = createLimiter({
      tiers: { pro: ['org:acme'] },
      rules: { users: { scope: 'user', limits: '10/h', tiers: { pro: '20/h' } } },
      costs: { '/x': { requests: 2, tokens: 3 } },
      clock: () => 0,
    })
    const request = { subject: { user: 'ada', org: 'acme' }, resource: '/x' }
    for (let i = 0; i < 3; i++) {
      const { tiers, cost, revision, decision } = await limiter.explain(request)
      expect(tiers).toEqual({ user: 'pro', org: 'pro' })
      expect(cost).toEqual({ requests: 2, tokens: 3 })
      expect(revision).toBe(1)
      expect(decision).toMatchObject({ allowed: true, limit: 20, remaining: 20, rule: 'users@pro' })
    }
  })

  it('of who is blocked or exempt has no rules', async () => {
    const document = {
      rules: { a: { scope: 'user', ...LIMITS } },
      blocks: ['user:eve'] as const,
      exemptions: ['user:ada'] as const,
    }
    for (const [user, allowed] of [
      ['eve', false],
      ['ada', true],
    ] as const) {
      const { applied, setAside, decision } = await explain(document, { subject: { user } })
      expect({ applied, setAside, allowed: decision.allowed }).toEqual({
        applied: [],
        setAside: [],
        allowed,
      })
    }
  })
})
