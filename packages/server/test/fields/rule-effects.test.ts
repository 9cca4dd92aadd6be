/** Every field of a rule, changed alone, has the effect on decisions and counters that its entry in the table states. */
import { once } from 'node:events'
import { createLimiter, type Request, type RulesDocument } from '@sluice/limiter'
import { ioredisOptions, redisStore } from '@sluice/limiter/redis'
import { OWN_FIELDS, RULE_FIELDS } from '@sluice/limiter/transport'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { RedisServer } from '../../../limiter/test/redis/servers.js'
import { BASE, changed, documentOf } from './changed-rules.js'

let redis: RedisServer
let client: Redis
beforeAll(async () => {
  redis = await RedisServer.start()
  client = new Redis(redis.url, ioredisOptions)
  await once(client, 'ready')
})
afterAll(async () => {
  client.disconnect()
  await redis.stop()
})

/** Requests that tell rules apart: by scopes, values, tiers, methods, resources and units. */
const REQUESTS: readonly Request[] = [
  { cost: 200 },
  { cost: 200, method: 'POST' },
  { cost: 200, tier: 'pro' },
  { cost: 200, resource: '/b' },
  { costs: { tokens: 300 } },
  { costs: { requests: 20, tokens: 10 } },
].flatMap((more) =>
  [{ user: 'ada', org: 'acme' }, { user: 'bob' }, { org: 'acme' }].map((subject) => ({
    subject,
    resource: '/a',
    ...more,
  })),
)

let prefixes = 0

const rulesOf = (rule: object) => {
  const { rules } = documentOf(rule)
  return { rules: rules! }
}

/** Everything that callers can see of how a document decides: over Redis, with leases, and while Redis is away. */
async function decisionsBy(document: RulesDocument): Promise<unknown> {
  const prefix = `fields-${prefixes++}`
  const now = Date.UTC(2026, 0, 1)
  const inMemory = createLimiter({ ...document, rules: document.rules!, clock: () => now })
  const decided: unknown[] = []
  for (let round = 0; round < 7; round++)
    for (const request of REQUESTS) decided.push(String(await inMemory.check(request)))
  const away = new Redis({ ...ioredisOptions, port: 1, lazyConnect: true })
  const alone = createLimiter({
    ...document,
    rules: document.rules!,
    store: redisStore(away, { deadlineMs: 20 }),
  })
  for (const request of REQUESTS) {
    const { allowed, limits } = await alone.check(request)
    decided.push([allowed, limits.map(({ rule, remaining }) => [rule, remaining])])
  }
  await alone.close()
  away.disconnect()
  const store = redisStore(client, { prefix, leases: true, deadlineMs: 20_000 })
  const leased = createLimiter({ ...document, rules: document.rules!, store })
  for (let i = 0; i < 30; i++)
    await Promise.all(
      Array.from({ length: 4 }, () => leased.check({ subject: { user: 'hot' }, resource: '/a' })),
    )
  const most = store.health.leases.tokens.granted
  await leased.close()
  const keys = (await client.keys(`${prefix}*`))
    .map((key) => key.includes('#'))
    .toSorted((a, b) => Number(a) - Number(b))
  return { decided, isLeased: most > 0, keys }
}

/** What denied callers are told. */
async function toldBy(document: RulesDocument): Promise<readonly string[]> {
  const limiter = createLimiter({ ...document, rules: document.rules!, clock: () => 0 })
  const told: string[] = []
  for (const request of REQUESTS) {
    const { cost: _cost, ...rest } = request
    const decision = await limiter.check({ ...rest, costs: { requests: 5001, tokens: 5001 } })
    if (!decision.allowed) told.push(await decision.toResponse().text())
  }
  return told
}

/** Which rules apply to each request, and whether they are enforced. */
async function matchedBy(document: RulesDocument): Promise<unknown> {
  const limiter = createLimiter({ ...document, rules: document.rules!, clock: () => 0 })
  const matched = REQUESTS.map(async (request) => {
    const { limits } = await limiter.check({ ...request, dryRun: true })
    return limits.map(({ rule, shadow }) => [rule, shadow])
  })
  return Promise.all(matched)
}

/** What is counted of the rule `a` for ada, or for her organisation; null where the rule does not apply. */
async function usedUnder(
  limiter: ReturnType<typeof createLimiter>,
  resource: string,
): Promise<number | null> {
  const subject = { user: 'ada', org: 'acme' }
  const costs = { requests: 1, tokens: 1 }
  const request = { subject, resource, method: 'GET', tier: 'pro', costs }
  const { limits } = await limiter.peek(request)
  return limits.find(({ rule }) => rule === 'a')?.used ?? null
}

describe.each(OWN_FIELDS)('the field %s', (field) => {
  const { effect, change } = RULE_FIELDS[field]

  it(`has the effect that it states: ${effect}`, async () => {
    const before = await decisionsBy(documentOf(BASE))
    const after = await decisionsBy(documentOf(changed(field)))
    if (effect === 'decides') expect(after).not.toEqual(before)
    else expect(after).toEqual(before)
    if (effect === 'decides') return
    const told = [documentOf(BASE), documentOf(changed(field))].map(toldBy)
    const [one, other] = await Promise.all(told)
    if (effect === 'shown to callers') expect(other).not.toEqual(one)
    else expect(other).toEqual(one)
  })

  it(`changes ${change === 'nothing' ? 'nothing of' : ''} which requests it governs, as it states`, async () => {
    const before = await matchedBy(documentOf(BASE))
    const after = await matchedBy(documentOf(changed(field)))
    if (change === 'matching') expect(after).not.toEqual(before)
    if (change === 'nothing') expect(after).toEqual(before)
  })

  it(`${change === 'counters' ? 'starts counters anew' : 'leaves what was used'} when it is changed`, async () => {
    const prefix = `counters-${prefixes++}`
    const store = redisStore(client, { prefix, deadlineMs: 20_000 })
    const limiter = createLimiter({ ...rulesOf(BASE), store })
    await limiter.check({ subject: { user: 'ada', org: 'acme' }, resource: '/a', cost: 10 })
    expect(await usedUnder(limiter, '/a')).toBe(10)
    limiter.setRules(rulesOf(changed(field)))
    let used = await usedUnder(limiter, field === 'resource' ? '/b' : '/a')
    if (used === null) {
      // It cannot be seen while the rule does not apply.
      limiter.setRules(rulesOf(BASE))
      used = await usedUnder(limiter, '/a')
    }
    await limiter.close()
    expect(used).toBe(change === 'counters' ? 0 : 10)
  })
})
