import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { until } from '../../../limiter/test/redis/servers.js'
import { SluiceProcess } from '../process.js'
import { admin, Fleet, limitAt, rule } from './fleet.js'

let fleet: Fleet
let controls: SluiceProcess[]
let planes: SluiceProcess[]
let id: string
let etag: string

beforeAll(async () => {
  fleet = await Fleet.start()
  controls = [await fleet.control(), await fleet.control()]
  planes = [await fleet.plane(), await fleet.plane()]
  const made = await admin(controls[0]!, 'POST', '/v1/rules', rule('x', '10/h'))
  expect(made.status).toBe(201)
  id = made.body.id
  etag = made.headers['etag']!
}, 120_000)
afterAll(() => fleet.stop(), 60_000)

/** Changes the rule; what it answers. */
async function change(limits: string, by = controls[0]!) {
  const answer = await admin(
    by,
    'PATCH',
    `/v1/rules/${id}`,
    { limits: [limits] },
    { 'If-Match': etag },
  )
  if (answer.status === 200) etag = answer.headers['etag']!
  return answer
}

async function everywhere(limit: number, among = [...controls, ...planes]): Promise<void> {
  for (const sluice of among)
    await until(`it allows ${limit}`, async () => (await limitAt(sluice)) === limit)
}

describe('a fleet', () => {
  it('decides by a change everywhere, whichever control plane took it; the one that did at once', async () => {
    await everywhere(10)
    expect((await change('11/h', controls[1])).status).toBe(200)
    expect(await limitAt(controls[1]!)).toBe(11)
    await everywhere(11)
  })

  it('shares what is used between all of them', async () => {
    const user = { subject: { user: 'shared' }, resource: '/x' }
    const all = [...controls, ...planes]
    let allowed = 0
    for (let i = 0; i < 30; i++)
      if ((await all[i % all.length]!.post('/v1/check', user)).status === 200) allowed++
    expect(allowed).toBe(11)
  })

  it('shows how far each data plane has come', async () => {
    const { revision } = (await controls[0]!.get('/readyz')).body.rules
    await until('all say so', async () => {
      const { body } = await controls[1]!.get('/readyz')
      return (
        body.planes.length === 4 &&
        body.planes.every((plane: { revision: number }) => plane.revision === revision)
      )
    })
    const { text } = await planes[0]!.get('/metrics')
    expect(text.match(/^sluice_plane_revision\{/gm)).toHaveLength(4)
    expect(text).toContain(`sluice_rules_revision ${revision}`)
    expect(text).toContain('sluice_feed_away 0')
  })

  it('answers the routes of the control plane only where there is one', async () => {
    for (const [method, path] of [
      ['GET', '/v1/rules'],
      ['POST', '/v1/rules'],
      ['GET', '/v1/violations'],
      ['GET', '/v1/tokens'],
      ['PUT', '/v1/document'],
    ] as const) {
      const answer = await admin(planes[0]!, method, path, method === 'GET' ? undefined : {})
      expect([answer.status, answer.body.error.code]).toEqual([404, 'not_a_control_plane'])
    }
  })

  it('knows a token everywhere, and forgets it everywhere', async () => {
    const made = await admin(controls[0]!, 'POST', '/v1/tokens', {
      name: 'reader',
      role: 'reader',
      namespaces: ['default'],
    })
    expect(made.status).toBe(201)
    const headers = { Authorization: `Bearer ${made.body.token}` }
    const check = (sluice: SluiceProcess) =>
      admin(sluice, 'POST', '/v1/check', { subject: { user: 'ada' } }, headers)
    for (const sluice of [...controls, ...planes])
      await until('it is known', async () => (await check(sluice)).status === 403)
    expect((await admin(controls[1]!, 'GET', '/v1/rules', undefined, headers)).status).toBe(200)
    // What all namespaces have in common is nothing for those of one.
    expect((await admin(planes[0]!, 'GET', '/metrics', undefined, headers)).status).toBe(403)
    const ready = await admin(planes[0]!, 'GET', '/readyz', undefined, headers)
    expect([ready.status, ready.body.planes]).toEqual([200, undefined])
    await admin(controls[0]!, 'DELETE', `/v1/tokens/${made.body.id}`)
    for (const sluice of [...controls, ...planes])
      await until('it is forgotten', async () => (await check(sluice)).status === 401)
  })

  it('says why somebody was denied, at any control plane, wherever it was decided', async () => {
    const user = { subject: { user: 'denied' }, resource: '/x' }
    const from = new Date(Date.now() - 1000).toISOString()
    for (let i = 0; i < 15; i++) await planes[i % 2]!.post('/v1/check', user)
    const path = `/v1/violations?scope=user&value=denied&from=${from}`
    await until('it is told', async () => {
      const { body } = await admin(controls[1]!, 'GET', path)
      return body.totals?.count === 4
    })
    const { body } = await admin(controls[0]!, 'GET', path)
    expect(body.items[0]).toMatchObject({
      scope: 'user',
      value: 'denied',
      rule: 'x',
      resource: '/x',
      limit: '11/h',
    })
    const usage = await admin(controls[0]!, 'GET', `/v1/usage?scope=user&value=denied&from=${from}`)
    expect(usage.body.totals).toEqual({ allowed: 11, denied: 4, cost: 11 })
  })

  it('goes on deciding while PostgreSQL is away, refuses changes, and takes them again when it is back', async () => {
    await fleet.postgres.kill()
    const refused = await change('12/h')
    expect([refused.status, refused.body.error.code]).toEqual([503, 'database_unavailable'])
    expect(refused.body.error.retryable).toBe(true)
    for (const sluice of [...controls, ...planes]) expect(await limitAt(sluice)).toBe(11)
    const ready = await controls[0]!.get('/readyz')
    expect([ready.status, ready.body.database.away]).toEqual([200, true])
    await fleet.postgres.start()
    await until('changes are taken', async () => (await change('12/h')).status === 200)
    await everywhere(12)
  })

  it('goes on where Redis is away: control planes by the database, data planes by what they know', async () => {
    await fleet.redis.kill()
    await until('it is noticed', async () =>
      (await planes[0]!.get('/metrics')).text.includes('sluice_feed_away 1'),
    )
    expect((await change('13/h')).status).toBe(200)
    await everywhere(13, controls)
    for (const plane of planes) expect(await limitAt(plane)).toBe(12)
    await fleet.redis.start()
    await everywhere(13)
  })

  it('starts a data plane by its last known rules while Redis is away', async () => {
    const plane = await fleet.plane()
    await everywhere(13, [plane])
    await plane.stop()
    await fleet.redis.kill()
    const again = await fleet.plane(plane.folder)
    expect(await limitAt(again)).toBe(13)
    await fleet.redis.start()
    expect((await change('14/h')).status).toBe(200)
    await everywhere(14)
    await again.stop()
  })

  it('starts a control plane by its last known rules while PostgreSQL is away', async () => {
    const control = await fleet.control()
    await everywhere(14, [control])
    await control.stop()
    await fleet.postgres.kill()
    const again = await fleet.control(control.folder)
    expect(await limitAt(again)).toBe(14)
    await fleet.postgres.start()
    await until('changes are taken', async () => (await change('15/h', again)).status === 200)
    await everywhere(15, [again, ...controls, ...planes])
    await again.stop()
  })

  it('brings a data plane up to date that stood still meanwhile', async () => {
    const [frozen] = planes
    frozen!.child.kill('SIGSTOP')
    for (let i = 0; i < 12; i++) expect((await change(`${20 + i}/h`)).status).toBe(200)
    await everywhere(31, [...controls, planes[1]!])
    frozen!.child.kill('SIGCONT')
    await everywhere(31)
  })

  it('is brought up to date where Redis has lost everything', async () => {
    await fleet.redis.admin.flushall()
    expect((await change('32/h')).status).toBe(200)
    await everywhere(32)
  })

  it('loses no answered change when control planes are killed, and publishes it without them', async () => {
    for (let round = 0; round < 4; round++) {
      const victim = await fleet.control()
      await everywhere(32 + round, [victim])
      const answer = await change(`${33 + round}/h`, victim)
      victim.child.kill('SIGKILL')
      expect(answer.status).toBe(200)
      await victim.ended
      await everywhere(33 + round)
    }
    const { body } = await admin(controls[0]!, 'GET', `/v1/rules/${id}/history?limit=1000`)
    const versions = body.items.map(({ version }: { version: number }) => version)
    expect(versions).toEqual(versions.map((_: number, i: number) => versions.length - i))
  })

  it('follows PostgreSQL back to an earlier time, and on from there', async () => {
    const earlier = await fleet.copyDatabase()
    expect((await change('60/h')).status).toBe(200)
    expect(
      (await admin(controls[0]!, 'POST', '/v1/rules', rule('gone', '2/h', { resource: '/gone' })))
        .status,
    ).toBe(201)
    await everywhere(60)
    for (const sluice of controls) await sluice.stop()
    fleet.useDatabase(earlier)
    controls = [await fleet.control(), await fleet.control()]
    etag = (await admin(controls[0]!, 'GET', `/v1/rules/${id}`)).headers['etag']!
    expect((await change('61/h')).status).toBe(200)
    await everywhere(61)
    for (const plane of planes) expect(await limitAt(plane, '/gone')).toBeNull()
    for (let i = 0; i < 3; i++) expect((await change(`${62 + i}/h`)).status).toBe(200)
    await everywhere(64)
  })

  it('lets one of two racing writers win, on different control planes', async () => {
    for (let round = 0; round < 5; round++) {
      const answers = await Promise.all(
        controls.map((by, i) =>
          admin(by, 'PATCH', `/v1/rules/${id}`, { limits: [`${50 + i}/h`] }, { 'If-Match': etag }),
        ),
      )
      expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 412])
      etag = answers.find(({ status }) => status === 200)!.headers['etag']!
    }
  })
})
