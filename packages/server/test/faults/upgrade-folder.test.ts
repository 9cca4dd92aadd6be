/**
 * One instance with counters, rules and history in its data folder, no Redis and no PostgreSQL: upgraded,
 * taken back to the previous release and upgraded again on the same folder.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { until } from '../../../limiter/test/redis/servers.js'
import { SluiceProcess } from '../process.js'
import { BUILD_WITHIN_MS, type Build, type Builds, readBuilds } from './builds.js'
import { admin, limitAt, rule } from './fleet.js'
import { complaintsOf, putDocument, SAME_ANSWERS } from './mixed-fleet.js'
import { givenBackBy } from './upgrade-load.js'
import { COUNTED, upgradeDocument } from './upgrade-rules.js'

/** Warnings that starting on a folder of the other build may cause. */
const ALLOWED_COMPLAINTS = [
  // The rules are stored after the first start.
  / warn no_rules: /,
  // A file of last known rules without a checksum is rewritten with one.
  /^current warn rules_file_version_1: /,
  // It reads the counters of version 2 only, and takes the file before, which it wrote itself.
  /^previous warn \S*: counters-\d+\.log is damaged \(.*it is of version 3, not 2\): set aside as \S+ $/,
  // The previous release does not know that file: it sets it aside and takes the rules from their source.
  /^previous warn : \S+rules\.ndjson is set aside: it is of version 2 $/,
]

const folder = mkdtempSync(join(tmpdir(), 'sluice-upgrade-folder-'))
/** The previous release forgets the counters of `default` when it starts; those of others it keeps. */
const NAMESPACE = 'shop'
const USER = { subject: { user: 'ada' }, namespace: NAMESPACE }

const DOCUMENT = `/v1/document?namespace=${NAMESPACE}`

let builds: Builds
let build: Build
let sluice: SluiceProcess | undefined
/** By every rule, what ada has used. */
let used = 0
let receipts: string[] = []
let holds: string[] = []
/** What was used, and held, when the previous release wrote its last file of counters. */
let writtenByPrevious: { readonly used: number; readonly holds: readonly string[] }

beforeAll(async () => {
  builds = readBuilds()
  await start('previous')
  expect((await putDocument(sluice!, upgradeDocument(), NAMESPACE)).status).toBe(200)
  expect((await admin(sluice!, 'POST', '/v1/rules', rule('x', '50/h'))).status).toBe(201)
  await use()
}, BUILD_WITHIN_MS)
afterAll(async () => {
  await sluice?.stop('SIGKILL')
  rmSync(folder, { recursive: true, force: true })
})

async function start(wanted: Build): Promise<void> {
  build = wanted
  const args = ['serve', '--port', '0', '--drain-delay', '0']
  sluice = new SluiceProcess(args, { folder, command: builds[wanted], environment: SAME_ANSWERS })
  await until('it is ready', async () => (await sluice!.get('/readyz')).status === 200)
  // Changes wait for the embedded database; decisions by its rules do too, after the first start.
  await until(
    'its database is open',
    async () => (await admin(sluice!, 'GET', '/v1/rules')).status === 200,
  )
}

/** Takes 3 under every rule and one hold; keeps a receipt that is not used and one that is. */
async function use(): Promise<void> {
  receipts = []
  for (const name of Object.keys(COUNTED)) {
    const asked = { ...USER, resource: `/${name}` }
    for (let i = 0; i < 3; i++) {
      const { status, body } = await sluice!.post('/v1/check', asked)
      expect(status).toBe(200)
      if (name === 'fixed') receipts.push(body.receipt)
    }
  }
  used += 3
  const { hold } = (await sluice!.post('/v1/check', { ...USER, resource: '/holds' })).body
  holds.push(hold)
  expect(givenBackBy(await sluice!.post('/v1/refund', { receipt: receipts[0] }))).toBe(1)
  await sluice!.post('/v1/check', { ...USER, resource: '/fixed' })
}

async function remainingOf(name: string): Promise<number> {
  return (await sluice!.post('/v1/quota', { ...USER, resource: `/${name}` })).body.remaining
}

/** Stops one build, starts the other: what was counted, used, held and stored is still so. */
async function move(wanted: Build): Promise<void> {
  const before = (await admin(sluice!, 'GET', DOCUMENT)).body
  const named = `rule-of-${build}-${used}`
  const added = rule(named, `${used + 500}/h`, { resource: `/${named}` })
  expect((await admin(sluice!, 'POST', '/v1/rules', added)).status).toBe(201)
  expect((await sluice!.stop()).code).toBe(0)
  expectNoComplaints()
  await start(wanted)
  await until('its rules are in force', async () => (await limitAt(sluice!, `/${named}`)) !== null)
  expect(await limitAt(sluice!, `/${named}`)).toBe(used + 500)
  expect((await admin(sluice!, 'GET', DOCUMENT)).body).toEqual(before)
  if (wanted === 'previous') return expectOlderCounters()
  for (const [name, { limit }] of Object.entries(COUNTED))
    expect([name, await remainingOf(name)]).toEqual([name, limit - used])
  expect(await remainingOf('holds')).toBe(5 - holds.length)
  await redeem()
}

/** Going back loses what was counted since: the counters are those of the file before. */
async function expectOlderCounters(): Promise<void> {
  used = writtenByPrevious.used
  holds = []
  for (const [name, { limit }] of Object.entries(COUNTED))
    expect([name, await remainingOf(name)]).toEqual([name, limit - used])
  for (const hold of writtenByPrevious.holds) await sluice!.post('/v1/release', { hold })
}

/** The used receipt gives nothing more; the other one is good, once. Holds live on. */
async function redeem(): Promise<void> {
  const left = COUNTED['fixed']!.limit - used
  const again = await sluice!.post('/v1/refund', { receipt: receipts[0] })
  expect([again.status, givenBackBy(again)]).toEqual([200, 1])
  expect(await remainingOf('fixed')).toBe(left)
  for (let i = 0; i < 2; i++) {
    const { status, body } = await sluice!.post('/v1/refund', { receipt: receipts[1] })
    expect([status, body.refunded]).toEqual([200, { requests: 1 }])
  }
  expect(await remainingOf('fixed')).toBe(left + 1)
  await sluice!.post('/v1/check', { ...USER, resource: '/fixed' })
  expect((await sluice!.post('/v1/renew', { hold: holds[0] })).status).toBe(200)
  for (const hold of holds)
    expect((await sluice!.post('/v1/release', { hold })).body).toEqual({ released: true })
  holds = []
}

function expectNoComplaints(): void {
  const complaints = complaintsOf(build, sluice!)
  expect(
    complaints.filter((line) => !ALLOWED_COMPLAINTS.some((allowed) => allowed.test(line))),
  ).toEqual([])
}

describe('a data folder', () => {
  it('of the previous release is read by this one', async () => {
    writtenByPrevious = { used, holds: [...holds] }
    const asked = { subject: { user: 'bob' }, resource: '/x' }
    expect((await sluice!.post('/v1/check', { ...asked, cost: 20 })).body.remaining).toBe(30)
    await move('current')
    expect((await sluice!.post('/v1/check', asked)).body.remaining).toBe(29)
    await use()
  })

  it('of this release is read by the previous one, with the counters that it wrote itself', async () => {
    await move('previous')
    await use()
  })

  it('is upgraded again', async () => {
    await move('current')
    expect((await sluice!.stop()).code).toBe(0)
    expectNoComplaints()
  })
})
