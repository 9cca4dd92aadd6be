/** Which role may call which route, and which namespaces a token may decide for: every route of a running service. */
import { ROUTE_IDS, type RouteId, routeOf } from '@sluice/contract'
import { RuleSet } from '@sluice/limiter'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Answer, ask, askJson, startService, type TestService } from '../service.js'

/** The roles as callers know them. Written by hand, apart from the tables of the code. */
const ROLES = ['client', 'reader', 'operator', 'admin'] as const
type Role = (typeof ROLES)[number]

/** What a token of each role may do. */
const HAS: Readonly<Record<Role, readonly Role[]>> = {
  client: ['client'],
  reader: ['reader'],
  operator: ['client', 'reader', 'operator'],
  admin: ['client', 'reader', 'operator', 'admin'],
}

/** The role that each route needs. */
const NEEDS: Readonly<Record<RouteId, Role | 'anyone'>> = {
  check: 'client',
  checkBatch: 'client',
  quota: 'client',
  refund: 'client',
  reset: 'operator',
  reserve: 'client',
  settle: 'client',
  renew: 'client',
  release: 'client',
  explain: 'reader',
  auth: 'client',
  health: 'anyone',
  readiness: 'anyone',
  metrics: 'reader',
  openapi: 'reader',
  listRules: 'reader',
  createRule: 'admin',
  getRule: 'reader',
  replaceRule: 'admin',
  patchRule: 'admin',
  deleteRule: 'admin',
  ruleHistory: 'reader',
  rollbackRule: 'admin',
  listNamespaces: 'reader',
  getDocument: 'reader',
  applyDocument: 'admin',
  subjectLimits: 'reader',
  setTier: 'operator',
  setOverride: 'operator',
  deleteOverride: 'operator',
  listExemptions: 'reader',
  createExemption: 'admin',
  deleteExemption: 'admin',
  listBlocks: 'reader',
  createBlock: 'operator',
  deleteBlock: 'operator',
  listCosts: 'reader',
  setCost: 'admin',
  deleteCost: 'admin',
  listTokens: 'reader',
  createToken: 'admin',
  revokeToken: 'admin',
  listAudit: 'reader',
  usage: 'reader',
  violations: 'reader',
  hot: 'reader',
}

const RULES = {
  rules: {
    'per-user': { scope: 'user', resource: '/a', limits: '1000/h' },
    jobs: { scope: 'user', resource: '/jobs', limits: '100 concurrent for 60s' },
  },
} as const
const ROOT = 'a-token-of-more-than-16'
const subject = { user: 'ada' }
const check = { subject, resource: '/a' }
const ownHold = { hold: 'own', subject, resource: '/jobs' }

let service: TestService
beforeAll(async () => {
  service = await startService({
    rules: JSON.stringify(RULES),
    token: ROOT,
    // Opens the embedded database, which has the tokens.
    flags: { dev: 'true' },
  })
  await service.service.tenants.use(RuleSet.compile({ namespace: 'other', ...RULES }))
}, 60_000)
afterAll(() => service.stop())

function call(token: string, method: string, path: string, body?: unknown, headers: object = {}) {
  const { host, port } = service
  const all = { Authorization: `Bearer ${token}`, ...headers }
  return askJson({ host, port, method, path, headers: all }, body)
}

async function newToken(role: Role, namespaces: readonly string[] | null): Promise<string> {
  const made = await call(ROOT, 'POST', '/v1/tokens', { name: `a ${role}`, role, namespaces })
  expect(made.status).toBe(201)
  return made.body.token
}

function codeOf({ body }: Answer): string | undefined {
  return body?.error?.code
}

/** A good body for each decision route. It names `namespace` where one is given. */
function goodBodies(namespace?: string): Partial<Record<RouteId, object>> {
  const at = namespace === undefined ? {} : { namespace }
  const one = { ...at, ...check }
  return {
    check: one,
    checkBatch: { checks: [one, one] },
    quota: one,
    refund: { ...one, cost: 1 },
    reset: { ...at, subject },
    reserve: one,
    settle: { ...at, reservation: 'x', cost: 1 },
    renew: { ...at, ...ownHold },
    release: { ...at, ...ownHold },
    explain: one,
  }
}

const HEADERS: Partial<Record<RouteId, object>> = {
  auth: { 'X-Sluice-Scope-User': 'ada', 'X-Sluice-Resource': '/a' },
}

/** Decision routes get a good body. Other routes get none, so that nothing is changed. */
function callRoute(token: string, id: RouteId, body = goodBodies()[id]) {
  const { method, path } = routeOf(id)
  return call(token, method, path.replaceAll(/\{\w+\}/g, 'x'), body, HEADERS[id])
}

describe.each(ROLES)('a token of role %s', (role) => {
  let token: string
  beforeAll(async () => {
    token = await newToken(role, null)
  })

  it.each(ROUTE_IDS)('is let in or refused, as its role says: %s', async (id) => {
    const needed = NEEDS[id]
    const isAllowed = needed === 'anyone' || HAS[role].includes(needed)
    // A refund that sends no receipt is a grant, which is tested below.
    const body = id === 'refund' ? { receipt: 'x', cost: 1 } : goodBodies()[id]
    const answer = await callRoute(token, id, body)
    if (isAllowed) {
      expect([answer.status, codeOf(answer)]).not.toEqual([403, 'forbidden'])
      expect(answer.status).not.toBe(401)
      return
    }
    expect([answer.status, codeOf(answer)]).toEqual([403, 'forbidden'])
    expect(answer.body.error.message).toMatch(
      new RegExp(`^this needs the role ${needed}; .* is of role ${role}$`),
    )
  })

  it('may grant what was not taken only as an operator', async () => {
    const answer = await callRoute(token, 'refund')
    if (HAS[role].includes('operator'))
      expect([answer.status, answer.body.refunded]).toEqual([200, { requests: 1 }])
    else {
      const needed = HAS[role].includes('client') ? 'operator' : 'client'
      expect([answer.status, codeOf(answer)]).toEqual([403, 'forbidden'])
      expect(answer.body.error.message).toContain(`this needs the role ${needed};`)
    }
  })
})

describe('the OpenAPI document', () => {
  it.each(ROUTE_IDS)('says which role is needed: %s', async (id) => {
    const { method, path } = routeOf(id)
    const { body } = await callRoute(ROOT, 'openapi')
    const { description, security } = body.paths[path][method.toLowerCase()]
    const needed = NEEDS[id]
    expect(description).toBe(needed === 'anyone' ? 'Needs no token.' : `Needs the role ${needed}.`)
    expect(security).toEqual(needed === 'anyone' ? [] : [{}, { token: [needed] }])
  })
})

describe('a caller without a token', () => {
  it.each(ROUTE_IDS)('has only health and readiness: %s', async (id) => {
    const { method, path } = routeOf(id)
    const { host, port } = service
    const at = path.replaceAll(/\{\w+\}/g, 'x')
    const { status } = await ask({ host, port, method, path: at, headers: {} }, null)
    if (NEEDS[id] === 'anyone') expect(status).toBe(200)
    else expect(status).toBe(401)
  })
})

describe('a token of one namespace', () => {
  const bodied = ROUTE_IDS.filter((id) => routeOf(id).kind === 'decision' && id !== 'auth')
  let token: string
  beforeAll(async () => {
    token = await newToken('admin', ['other'])
  })

  it.each(bodied)('gets 403 where it names another: %s', async (id) => {
    const answer = await callRoute(token, id, goodBodies('default')[id])
    expect([answer.status, codeOf(answer)]).toEqual([403, 'forbidden'])
    expect(answer.body.error).toMatchObject({
      field: 'namespace',
      message: expect.stringContaining('is not for namespace "default"'),
    })
    const own = await callRoute(token, id, goodBodies('other')[id])
    expect(own.status).not.toBe(403)
  })

  it('decides in its own where it names none, by headers too', async () => {
    const used = async () => {
      const { body } = await callRoute(ROOT, 'quota', goodBodies('other').quota)
      return body.used as number
    }
    await callRoute(token, 'reset')
    for (const [i, id] of (['check', 'reserve', 'auth'] as const).entries()) {
      expect((await callRoute(token, id)).status).toBe(200)
      expect([id, await used()]).toEqual([id, i + 1])
    }
    const of = await newToken('admin', ['other', 'third'])
    const refused = await callRoute(of, 'auth')
    expect([refused.status, codeOf(refused)]).toEqual([403, 'forbidden'])
  })

  it('gets nothing for what was given out in another', async () => {
    const { body: taken } = await callRoute(ROOT, 'check', { ...check, include: ['receipt'] })
    const { body: reserved } = await callRoute(ROOT, 'reserve')
    const { body: held } = await callRoute(ROOT, 'check', { subject, resource: '/jobs' })
    const sent: [RouteId, object, number][] = [
      ['refund', { receipt: taken.receipt }, 404],
      ['settle', { reservation: reserved.reservation, cost: 0 }, 404],
      ['renew', { hold: held.hold }, 404],
      ['release', { hold: held.hold }, 200],
    ]
    for (const [id, body, otherwise] of sent) {
      const unnamed = await callRoute(token, id, body)
      expect([id, unnamed.status, codeOf(unnamed)]).toEqual([id, 403, 'forbidden'])
      const other = await callRoute(token, id, { namespace: 'other', ...body })
      expect([id, other.status]).toEqual([id, otherwise])
      if (id === 'release') expect(other.body).toEqual({ released: false })
    }
    // All of them are still good where they were given out.
    for (const [id, body] of sent)
      expect([id, (await callRoute(ROOT, id, body)).status]).toEqual([id, 200])
  })

  it('gets no metrics, which are of all', async () => {
    const answer = await callRoute(token, 'metrics')
    expect([answer.status, codeOf(answer)]).toEqual([403, 'forbidden'])
  })
})
