import { existsSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { RedisServer, until } from '../../../limiter/test/redis/servers.js'
import { SluiceProcess } from '../process.js'
import { admin, Fleet, limitAt, rule } from './fleet.js'

let fleet: Fleet
let control: SluiceProcess
let id: string
let etag: string
beforeAll(async () => {
  fleet = await Fleet.start()
  control = await fleet.control()
  const made = await admin(control, 'POST', '/v1/rules', rule('x', '10/h'))
  id = made.body.id
  etag = made.headers['etag']!
}, 120_000)
afterAll(() => fleet.stop(), 60_000)

async function change(limits: string): Promise<void> {
  const path = `/v1/rules/${id}`
  const answer = await admin(control, 'PATCH', path, { limits: [limits] }, { 'If-Match': etag })
  expect(answer.status).toBe(200)
  etag = answer.headers['etag']!
}

const allows = (sidecar: SluiceProcess, limit: number) =>
  until(`it allows ${limit}`, async () => (await limitAt(sidecar)) === limit)

describe('a sidecar', () => {
  it('follows the control plane, whatever rules file lies where it starts', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'sluice-sidecar-'))
    writeFileSync(join(folder, 'sluice.yaml'), 'rules:\n  x: { scope: user, limits: 3/h }\n')
    const sidecar = await fleet.sidecar(folder)
    expect(sidecar.words).toContain('of a control plane, 1 rule; followed over Redis')
    await allows(sidecar, 10)
    await change('11/h')
    await allows(sidecar, 11)
    const answer = await admin(sidecar, 'GET', '/v1/rules')
    expect([answer.status, answer.body.error.code]).toEqual([404, 'not_a_control_plane'])
    await sidecar.stop('SIGKILL')
  })

  it('has what it decided in the history of the control plane', async () => {
    const sidecar = await fleet.sidecar()
    const asked = { subject: { user: 'told' }, resource: '/x' }
    await sidecar.post('/v1/check', asked)
    const path = '/v1/usage?scope=user&value=told'
    await until(
      'it is told',
      async () => (await admin(control, 'GET', path)).body.totals.allowed === 1,
    )
    await sidecar.stop('SIGKILL')
  })

  it('starts with Redis away from the last known rules, and is exact and up to date when it is back', async () => {
    await change('12/h')
    const first = await fleet.sidecar()
    await allows(first, 12)
    await until('it is kept', () => existsSync(join(first.folder, '.sluice', 'rules.ndjson')))
    await first.stop('SIGKILL')
    await fleet.redis.kill()
    const sidecar = await fleet.sidecar(first.folder)
    const answer = await sidecar.post('/v1/check', { subject: { user: 'ada' }, resource: '/x' })
    expect(answer.status).toBe(200)
    expect(answer.body).toMatchObject({ degraded: true, rule: 'x', limit: 12 })
    expect(sidecar.words).toContain('Started degraded')
    await change('13/h')
    await fleet.redis.start()
    await allows(sidecar, 13)
    await until('it is exact again', async () => {
      const { body } = await sidecar.post('/v1/check', { subject: { user: 'bob' }, resource: '/x' })
      return body.allowed === true && body.degraded === undefined
    })
    await sidecar.stop('SIGKILL')
  })

  it('is not ready while it knows no rules, and is once it does', async () => {
    const away = await RedisServer.start()
    await away.kill()
    const args = ['sidecar', '--redis', away.url, '--port', '0', '--drain-delay', '0']
    const sidecar = new SluiceProcess(args)
    await until('it says so', async () => {
      const { status, body } = await sidecar.get('/readyz')
      return status === 503 && body.reason === 'no rules are known yet'
    })
    expect(sidecar.words).toContain('everything is allowed until they are')
    await away.start()
    const other = await fleet.run(['--database', fleet.database, '--redis', away.url])
    await until('it is ready', async () => (await sidecar.get('/readyz')).status === 200)
    expect(await limitAt(sidecar)).toBe(13)
    await Promise.all([other.stop('SIGKILL'), sidecar.stop('SIGKILL')])
    await away.stop()
  })
})
