/** A setting that the previous release cannot read is stored only when no instance of it is left. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { until } from '../../../limiter/test/redis/servers.js'
import { BUILD_WITHIN_MS, readBuilds } from './builds.js'
import { admin } from './fleet.js'
import { type Instance, MixedFleet, putDocument } from './mixed-fleet.js'
import { upgradeDocument } from './upgrade-rules.js'

const NORMALIZED = { ...upgradeDocument(), normalize: { checks: 'on' } }

let fleet: MixedFleet
beforeAll(async () => {
  fleet = await MixedFleet.start(readBuilds(), 'previous')
  expect((await putDocument(fleet.of('control')[0]!.process, upgradeDocument())).status).toBe(200)
}, BUILD_WITHIN_MS)
afterAll(() => fleet?.stop(), 60_000)

async function limitOf(instance: Instance, resource: string): Promise<number | null> {
  return (await instance.post('/v1/quota', { subject: { user: 'ada' }, resource })).body.limit
}

describe('normalize', () => {
  it('is refused while an instance of the previous release runs, and nothing is changed', async () => {
    const [control, ...others] = fleet.instances
    await fleet.replace(control!, 'current')
    for (const [i, other] of others.entries()) {
      const refused = await putDocument(control!.process, NORMALIZED)
      const { code, field, message } = refused.body.error
      expect([refused.status, code, field]).toEqual([409, 'older_instances', 'normalize'])
      const left = others.length - i
      expect(message).toContain(`by ${left} instance`)
      const plan = await admin(control!.process, 'PUT', '/v1/document?dry_run=true', NORMALIZED, {
        'If-Match': '*',
      })
      expect(plan.body.error.code).toBe('older_instances')
      expect((await admin(control!.process, 'GET', '/v1/document')).body.normalize).toBeUndefined()
      await fleet.replace(other, 'current')
    }
  })

  it('is in force everywhere once all are replaced', async () => {
    const [control] = fleet.instances
    expect((await putDocument(control!.process, NORMALIZED)).status).toBe(200)
    for (const instance of fleet.instances) {
      await until(
        `${instance.name} normalises`,
        async () => (await limitOf(instance, '//fixed/')) === 40,
      )
      expect(await limitOf(instance, '/without-a-rule')).toBe(1000)
    }
  })
})
