/**
 * The previous release and this one decide beside each other over one Redis Cluster: what one takes, records,
 * holds or gives back, the other reads, also where a request has rows in several slots.
 */
import { randomUUID } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Cluster, startCluster } from '../../../limiter/test/redis/servers.js'
import { SluiceProcess } from '../process.js'
import { BUILD_WITHIN_MS, type Build, type Builds, readBuilds } from './builds.js'
import { CROSSINGS } from './crossings.js'
import { Instance, SAME_ANSWERS } from './mixed-fleet.js'
import { upgradeDocument } from './upgrade-rules.js'

const LIMIT = 10
/** Rules whose rows are of three scopes, so nearly always in three slots. */
const TOGETHER = {
  'per-user': { scope: 'user', resource: '/together', limits: [`${LIMIT} per 30d sliding`] },
  'per-org': { scope: 'org', resource: '/together', limits: [`${2 * LIMIT} per 30d fixed`] },
  'per-team': { scope: 'team', resource: '/together', limits: [`${2 * LIMIT} per 30d exact`] },
}

let cluster: Cluster
const instances: Instance[] = []

beforeAll(async () => {
  const builds = readBuilds()
  cluster = await startCluster()
  for (const build of ['previous', 'current'] as const) instances.push(start(builds, build))
  await Promise.all(instances.map((instance) => instance.ready()))
}, BUILD_WITHIN_MS)

afterAll(async () => {
  await Promise.all(instances.map(({ process }) => process.stop('SIGKILL')))
  await cluster?.stop()
})

function start(builds: Builds, build: Build): Instance {
  const hosts = cluster.nodes.map(({ host, port }) => `${host}:${port}`)
  return new Instance('plane', build, (folder) => {
    const rules = join(folder, 'rules.json')
    const document = upgradeDocument() as { rules: object }
    writeFileSync(rules, JSON.stringify({ ...document, rules: { ...document.rules, ...TOGETHER } }))
    const args = ['serve', '--port', '0', '--drain-delay', '0', '--rules', rules]
    const store = ['--redis', `redis+cluster://${hosts.join(',')}`, '--redis-deadline', '5000']
    return new SluiceProcess([...args, ...store], {
      folder,
      command: builds[build],
      environment: SAME_ANSWERS,
    })
  })
}

function someone() {
  const subject = { user: randomUUID(), org: randomUUID(), team: randomUUID() }
  return { subject, resource: '/together' }
}

/** What is left of each rule, on both instances. */
async function left(who: object): Promise<Record<string, number>> {
  const answers = await Promise.all(instances.map((one) => one.post('/v1/quota', who)))
  const [first, second] = answers.map(({ body }) =>
    Object.fromEntries(
      body.limits.map((one: { rule: string; remaining: number }) => [one.rule, one.remaining]),
    ),
  )
  expect(second).toEqual(first)
  return first!
}

describe.each([
  ['the previous release', 'this one', 0],
  ['this one', 'the previous release', 1],
] as const)('over a cluster, what %s begins and %s goes on with', (_one, _other, first) => {
  const pair = () => [instances[first]!, instances[1 - first]!] as const

  it.each(Object.keys(CROSSINGS) as (keyof typeof CROSSINGS)[])('%s', async (name) => {
    await CROSSINGS[name](...pair())
  })

  it('requests with rows in several slots take from all or from none', async () => {
    const [one, other] = pair()
    const who = someone()
    for (let i = 0; i < LIMIT; i++)
      expect((await (i % 2 === 0 ? one : other).post('/v1/check', who)).status).toBe(200)
    for (const by of [one, other]) expect((await by.post('/v1/check', who)).status).toBe(429)
    expect(await left(who)).toEqual({ 'per-user': 0, 'per-org': LIMIT, 'per-team': LIMIT })
  })

  it('receipts over several slots give back once', async () => {
    const [one, other] = pair()
    const who = someone()
    const { receipt } = (await one.post('/v1/check', { ...who, cost: 4 })).body
    for (const by of [other, one]) {
      const { status, body } = await by.post('/v1/refund', { receipt })
      expect([status, body.refunded]).toEqual([200, { requests: 4 }])
    }
    expect(await left(who)).toEqual({
      'per-user': LIMIT,
      'per-org': 2 * LIMIT,
      'per-team': 2 * LIMIT,
    })
  })

  it('answers under an idempotency key over several slots are replayed, and counted once', async () => {
    const [one, other] = pair()
    const who = someone()
    const keyed = { ...who, idempotency_key: randomUUID() }
    expect((await one.post('/v1/check', keyed)).body).toMatchObject({ allowed: true })
    for (const by of [other, one])
      expect((await by.post('/v1/check', keyed)).body).toMatchObject({
        allowed: true,
        replayed: true,
      })
    const { body } = await other.post('/v1/check', { ...keyed, cost: 2 })
    expect(body.error.code).toBe('idempotency_conflict')
    expect(await left(who)).toEqual({
      'per-user': LIMIT - 1,
      'per-org': 2 * LIMIT - 1,
      'per-team': 2 * LIMIT - 1,
    })
  })
})
