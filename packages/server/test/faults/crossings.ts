/** What is begun on one instance and ended on another: each a scenario over two instances, on keys of its own. */
import { randomUUID } from 'node:crypto'
import { expect } from 'vitest'
import { until } from '../../../limiter/test/redis/servers.js'
import { admin } from './fleet.js'
import type { Instance } from './mixed-fleet.js'
import { givenBackBy } from './upgrade-load.js'
import { COUNTED } from './upgrade-rules.js'

type Crossing = (one: Instance, other: Instance) => Promise<void>

/** A subject that nothing else asks about. */
function someone(resource: string): { subject: { user: string }; resource: string } {
  return { subject: { user: randomUUID() }, resource }
}

/** What both say of a subject, which must be the same. */
async function numbersOf(instances: readonly Instance[], who: object) {
  const answers = await Promise.all(instances.map((instance) => instance.post('/v1/quota', who)))
  const numbers = answers.map(({ status, body }) => {
    const { allowed, limit, remaining, rule, limits } = body
    const each = limits?.map(
      (one: { limit: number; remaining: number }) => [one.limit, one.remaining] as const,
    )
    return { status, allowed, limit, remaining, rule, each }
  })
  for (const one of numbers) expect(one).toEqual(numbers[0])
  return numbers[0]!
}

/** What one takes, the other counts, under every algorithm; then both say the same. */
const counts: Crossing = async (one, other) => {
  for (const [rule, { limit, limits }] of Object.entries(COUNTED)) {
    if (rule === 'leases') continue
    const who = someone(`/${rule}`)
    for (const by of [one, other, one])
      expect((await by.post('/v1/check', { ...who, cost: 5 })).status).toBe(200)
    const numbers = await numbersOf([one, other], who)
    expect(numbers).toMatchObject({ rule, limit, remaining: limit - 15 })
    expect(numbers.each).toHaveLength(limits.length)
  }
}

/** A receipt is redeemed once, by one of both, when both are asked at once and again later. */
const refunds: Crossing = async (one, other) => {
  const who = someone('/fixed')
  const { receipt } = (await one.post('/v1/check', { ...who, cost: 4 })).body
  await one.post('/v1/check', { ...who, cost: 6 })
  const asked = [other, one, other, one].map((by) => by.post('/v1/refund', { receipt }))
  const answers = await Promise.all(asked)
  for (const by of [one, other]) answers.push(await by.post('/v1/refund', { receipt }))
  const done = answers.filter(({ status }) => status === 200)
  for (const answer of done) expect(givenBackBy(answer)).toBe(4)
  expect(done.length).toBeGreaterThanOrEqual(3)
  for (const { status, body } of answers)
    if (status !== 200) expect(body.error.code).toBe('idempotency_in_progress')
  expect(await numbersOf([one, other], who)).toMatchObject({ remaining: 34 })
}

const settlements: Crossing = async (one, other) => {
  const who = someone('/sliding')
  const { reservation } = (await one.post('/v1/reserve', { ...who, cost: 10 })).body
  const first = await other.post('/v1/settle', { reservation, cost: 3 })
  expect([first.status, givenBackBy(first)]).toEqual([200, 7])
  for (const by of [one, other]) {
    const again = await by.post('/v1/settle', { reservation, cost: 1 })
    expect(again.body).toEqual(first.body)
  }
  expect(await numbersOf([one, other], who)).toMatchObject({ remaining: 37 })
}

const holds: Crossing = async (one, other) => {
  const who = someone('/holds')
  const { hold } = (await one.post('/v1/check', who)).body
  expect(await numbersOf([one, other], who)).toMatchObject({ limit: 5, remaining: 4 })
  expect((await other.post('/v1/renew', { hold })).status).toBe(200)
  const released = await Promise.all([one, other].map((by) => by.post('/v1/release', { hold })))
  expect(released.filter(({ body }) => body.released)).toHaveLength(1)
  expect((await one.post('/v1/renew', { hold })).body.error.code).toBe('lost')
  expect(await numbersOf([one, other], who)).toMatchObject({ remaining: 5 })
}

const idempotency: Crossing = async (one, other) => {
  const who = { ...someone('/exact'), idempotency_key: randomUUID() }
  const first = await one.post('/v1/check', who)
  const again = await other.post('/v1/check', who)
  expect(again.body).toMatchObject({ allowed: true, replayed: true })
  expect(again.body.remaining).toBe(first.body.remaining)
  const conflict = await other.post('/v1/check', { ...who, cost: 2 })
  expect(conflict.body.error.code).toBe('idempotency_conflict')
  const { idempotency_key: _key, ...plain } = who
  expect(await numbersOf([one, other], plain)).toMatchObject({ remaining: 39 })
}

/** Batches, grants, resets, configured costs and the default rule. */
const otherRequests: Crossing = async (one, other) => {
  const [a, b] = [someone('/fixed'), someone('/token')]
  for (const by of [one, other])
    expect((await by.post('/v1/check/batch', { checks: [a, b] })).status).toBe(200)
  for (const who of [a, b])
    expect(await numbersOf([one, other], who)).toMatchObject({ remaining: 38 })
  expect((await other.post('/v1/refund', { ...a, cost: 1 })).status).toBe(200)
  expect(await numbersOf([one, other], a)).toMatchObject({ remaining: 39 })
  expect((await one.post('/v1/reset', { subject: a.subject })).status).toBe(200)
  expect(await numbersOf([one, other], a)).toMatchObject({ remaining: 40 })
  const costly = someone('/costly')
  for (const by of [one, other]) expect((await by.post('/v1/check', costly)).status).toBe(200)
  expect(await numbersOf([one, other], costly)).toMatchObject({ limit: 1000, remaining: 990 })
}

export const CROSSINGS = { counts, refunds, settlements, holds, idempotency, otherRequests }

let revision = 0

/** A change that one control plane stores is in force on every instance. */
export async function changeRules(by: Instance, everyone: readonly Instance[]): Promise<void> {
  const limit = 101 + revision++
  const { items } = (await admin(by.process, 'GET', '/v1/rules')).body
  const { id } = items.find(({ name }: { name: string }) => name === 'changing')
  const { headers } = await admin(by.process, 'GET', `/v1/rules/${id}`)
  const ifMatch = { 'If-Match': headers['etag']! }
  const body = { limits: [`${limit}/h`] }
  const changed = await admin(by.process, 'PATCH', `/v1/rules/${id}`, body, ifMatch)
  expect(changed.status).toBe(200)
  const blocked = `blocked-${limit}`
  const block = { scope: 'user', value: blocked, reason: 'test' }
  expect((await admin(by.process, 'POST', '/v1/blocks', block)).status).toBe(201)
  for (const instance of everyone) {
    const quota = async (user: string) =>
      instance.post('/v1/quota', { subject: { user }, resource: '/changing' })
    await until(
      `${instance.name} follows ${by.name}`,
      async () =>
        (await quota('anyone')).body.limit === limit &&
        (await quota(blocked)).body.reason === 'blocked',
    )
  }
}

/** A token that one control plane makes is known to every instance, and unknown once it is deleted. */
export async function useToken(by: Instance, everyone: readonly Instance[]): Promise<void> {
  const wanted = { name: randomUUID(), role: 'client', namespaces: ['default'] }
  const { status, body: made } = await admin(by.process, 'POST', '/v1/tokens', wanted)
  expect(status).toBe(201)
  const headers = { Authorization: `Bearer ${made.token}` }
  const check = (on: Instance) => admin(on.process, 'POST', '/v1/check', someone('/fixed'), headers)
  for (const on of everyone)
    await until(`${on.name} knows it`, async () => (await check(on)).status === 200)
  expect((await admin(by.process, 'DELETE', `/v1/tokens/${made.id}`)).status).toBe(204)
  for (const on of everyone)
    await until(`${on.name} forgets it`, async () => (await check(on)).status === 401)
}
