/** What the previous release cannot read is stored only when no instance of it is left. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { until } from '../../../limiter/test/redis/servers.js'
import { BUILD_WITHIN_MS, readBuilds } from './builds.js'
import { admin, rule } from './fleet.js'
import { type Instance, MixedFleet, putDocument } from './mixed-fleet.js'
import { upgradeDocument } from './upgrade-rules.js'

const DEFAULT = { scope: 'ip', limits: '5/s' }
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

const TOLD = rule('told', '3/h', { resource: '/told', message: 'Later, please.' })

describe('what the previous release cannot read', () => {
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
      const created = await admin(control!.process, 'POST', '/v1/rules', TOLD)
      expect([created.status, created.body.error.code, created.body.error.field]).toEqual([
        409,
        'older_instances',
        'message',
      ])
      const { planes } = (await admin(control!.process, 'GET', '/readyz')).body
      const older = planes.filter((plane: { older?: boolean }) => plane.older)
      expect(older).toHaveLength(left)
      // Of a rule that is there, what the others can read is changed.
      const { items } = (await admin(control!.process, 'GET', '/v1/rules')).body
      const path = `/v1/rules/${items[0].id}`
      const patch = (fields: object) =>
        admin(control!.process, 'PATCH', path, fields, { 'If-Match': '*' })
      expect((await patch({ labels: { team: 'x' } })).body.error?.code).toBe('older_instances')
      // A rule as it was answered has defaults of fields that the others do not know.
      const { body: rule } = await admin(control!.process, 'GET', path)
      const replace = { 'If-Match': '*' }
      expect((await admin(control!.process, 'PUT', path, rule, replace)).status).toBe(200)
      expect((await patch({ description: `${i}`, message: null })).status).toBe(200)
      const document = { ...upgradeDocument(), default_rule: { ...DEFAULT, message: 'x' } }
      expect((await putDocument(control!.process, document)).body.error?.field).toBe('message')
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
    expect((await admin(control!.process, 'POST', '/v1/rules', TOLD)).status).toBe(201)
    for (const instance of fleet.instances)
      await until(`${instance.name} has it`, async () => (await limitOf(instance, '/told')) === 3)
  })
})
