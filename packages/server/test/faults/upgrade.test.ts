/**
 * The previous release and this one decide beside each other, over one Redis and one PostgreSQL, while
 * instances are replaced one by one under load: forward, back, and forward in the other order.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { until } from '../../../limiter/test/redis/servers.js'
import { BUILD_WITHIN_MS, type Build, readBuilds } from './builds.js'
import { CROSSINGS, changeRules, useToken } from './crossings.js'
import { admin } from './fleet.js'
import { type Instance, MixedFleet, pick, putDocument } from './mixed-fleet.js'
import { MOST_COST, UpgradeLoad } from './upgrade-load.js'
import { COUNTED, upgradeDocument, windowsBetween } from './upgrade-rules.js'

/** Warnings and errors that an upgrade may cause. Everything else fails the test. */
const ALLOWED_COMPLAINTS = [
  // The first instances start before the rules are stored.
  / warn no_rules: /,
  // Usage is sent again when a starting instance is connected to Redis; none of it may be missing.
  / warn usage_waits: /,
  // The instance was stopped while it looked for usage to delete.
  / warn : old usage could not be tidied; .*after calling end on the pool$/,
  // A file of last known rules without a checksum is rewritten with one.
  /^current warn rules_file_version_1: /,
  // The previous release does not know that file: it sets it aside and takes the rules from their source.
  /^previous warn : \S+rules\.ndjson is set aside: it is of version 2 $/,
]

let fleet: MixedFleet
let load: UpgradeLoad
let startedAtMs: number

beforeAll(async () => {
  fleet = await MixedFleet.start(readBuilds(), 'previous')
  startedAtMs = Date.now()
  const stored = await putDocument(fleet.of('control')[0]!.process, upgradeDocument())
  expect(stored.status).toBe(200)
  await changeRules(fleet.of('control')[0]!, fleet.instances)
  load = new UpgradeLoad(fleet)
  load.start()
}, BUILD_WITHIN_MS)
afterAll(() => fleet?.stop(), 60_000)

/** Replaces one instance after another, and lets both builds work together after each. */
async function replaceAll(instances: readonly Instance[], build: Build): Promise<void> {
  for (const instance of instances) {
    await fleet.replace(instance, build)
    load.nextPhase()
    const { pair } = fleet
    if (pair !== null) {
      const { previous, current } = pair
      const [one, other] = Math.random() < 0.5 ? [previous, current] : [current, previous]
      for (const cross of Object.values(CROSSINGS)) await cross(one, other)
    }
    const control = pick(fleet.of('control'))!
    await changeRules(control, fleet.instances)
    await useToken(control, fleet.instances)
    expect(load.failures).toEqual([])
  }
  for (const instance of fleet.instances) expect(instance.build).toBe(build)
}

describe('an upgrade under load', () => {
  it('goes forward, data planes first', async () => {
    await replaceAll(
      [...fleet.of('plane'), ...fleet.of('sidecar'), ...fleet.of('control')],
      'current',
    )
  })

  it('goes back', async () => {
    const [control1, control2] = fleet.of('control')
    const [plane1, plane2] = fleet.of('plane')
    await replaceAll([control1!, plane1!, ...fleet.of('sidecar'), plane2!, control2!], 'previous')
  })

  it('goes forward, control planes first', async () => {
    await replaceAll(
      [...fleet.of('control'), ...fleet.of('plane'), ...fleet.of('sidecar')],
      'current',
    )
  })

  it('admitted what the limits allow, and counted everything', async () => {
    await load.stop()
    await load.exhaust()
    expect(load.failures).toEqual([])
    const windows = windowsBetween(startedAtMs, Date.now())
    for (const { rule, user, admitted, givenBack, lost } of load.accounts.values()) {
      const { limit, isWhole } = COUNTED[rule]!
      const what = `${rule} ${user}`
      const most = limit * windows + lost * MOST_COST
      expect(admitted - givenBack, what).toBeLessThanOrEqual(most)
      if (!isWhole || lost > 0 || windows > 1) continue
      expect(admitted - givenBack, what).toBe(limit)
      const asked = { subject: { user }, resource: `/${rule}` }
      for (const instance of fleet.instances) {
        const { remaining } = (await instance.post('/v1/quota', asked)).body
        expect(remaining, `${what} on ${instance.name}`).toBe(0)
      }
    }
    // Else nothing above could have failed.
    expect(load.accounts.size).toBeGreaterThan(2 * Object.keys(COUNTED).length)
    for (const count of Object.values(load.answers)) expect(count).toBeGreaterThan(500)
  })

  it('recorded every decision once, whichever build made it', async () => {
    const [control] = fleet.of('control')
    const from = new Date(startedAtMs - 60_000).toISOString()
    for (const { rule, user, answered, denied, lost } of load.accounts.values()) {
      if (lost > 0) continue
      const path = `/v1/usage?scope=user&value=${user}&rule=${rule}&from=${from}`
      let totals = { allowed: 0, denied: 0 }
      await until(`${path} has ${answered} decisions`, async () => {
        ;({ totals } = (await admin(control!.process, 'GET', path)).body)
        return totals.allowed + totals.denied >= answered
      })
      expect(totals, path).toMatchObject({ allowed: answered - denied, denied })
    }
  })

  it('left nothing that either build could not read', () => {
    const complaints = fleet
      .complaints()
      .filter((line) => !ALLOWED_COMPLAINTS.some((allowed) => allowed.test(line)))
    expect(complaints).toEqual([])
  })
})
