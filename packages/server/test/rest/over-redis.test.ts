import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { RedisServer, until } from '../../../limiter/test/redis/servers.js'
import { startService, type TestService } from '../service.js'
import { checkBytes, RawCaller } from './bytes.js'

const RULES = `
rules:
  hello: { scope: user, resource: /hello, limits: 100000/d fixed }
  hot: { scope: user, resource: /hot, limits: 100 per 365d fixed, shards: 4 }
`

/** A busy machine must not look like a Redis that is slow. */
const PATIENT = { 'redis-deadline': '20000' }

const RECEIPT = { include: ['receipt'] }

describe('over Redis', () => {
  let redis: RedisServer
  let service: TestService
  beforeAll(async () => {
    redis = await RedisServer.start()
    service = await startService({ rules: RULES, flags: { redis: redis.url, ...PATIENT } })
  })
  afterAll(async () => {
    await service.stop()
    await redis.stop()
  })

  it('answers pipelined requests in order, whatever way each takes', async () => {
    const one = new RawCaller(service.connect())
    const odd = checkBytes('order')
      .replace('"user"', '"\\u0075ser"')
      .replace(/Length: (\d+)/, (_, n) => `Length: ${Number(n) + 5}`)
    const health = 'GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n'
    one.send(
      Array.from({ length: 100 }, (_, i) => (i % 3 === 0 ? odd : checkBytes('order'))).join('') +
        health,
    )
    for (let left = 99_999; left > 99_899; left--)
      expect(JSON.parse((await one.next())!.body).remaining).toBe(left)
    expect((await one.next())!.body).toBe('{"status":"ok"}')
    one.socket.destroy()
  })

  it('counts what one shard owes while others have room', async () => {
    const asked = { subject: { user: 'owing' }, resource: '/hot' }
    const { reservation } = (await service.post('/v1/reserve', asked)).body
    await service.post('/v1/settle', { reservation, cost: 150 })
    // A shard is granted at most the 25 that it holds, so one owes 25 still.
    const granted = await service.post('/v1/refund', { ...asked, cost: 60 })
    expect(granted.body.refunded).toEqual({ requests: 60 })
    const quota = await service.post('/v1/quota', asked)
    expect(quota.body).toMatchObject({ allowed: true, limit: 100, used: 90, remaining: 35 })
    for (let n = 1; n <= 5; n++) {
      const one = new RawCaller(service.connect())
      one.send(checkBytes('owing', '', '/hot'))
      const counted = { allowed: true, limit: 100, used: 90 + n, remaining: 35 - n }
      expect(JSON.parse((await one.next())!.body)).toMatchObject(counted)
      one.socket.destroy()
    }
  })

  it('puts the secret of receipts back where Redis has lost it', async () => {
    const request = { subject: { user: 'secret' }, resource: '/hello', include: ['receipt'] }
    const { receipt } = (await service.post('/v1/check', request)).body
    const secret = await redis.admin.get('sluice:secret')
    expect(secret).toMatch(/^[0-9a-f]{32}$/)
    await redis.admin.del('sluice:secret')
    await until('it is back', async () => (await redis.admin.exists('sluice:secret')) === 1)
    expect(await redis.admin.get('sluice:secret')).toBe(secret)
    const later = await startService({ rules: RULES, flags: { redis: redis.url, ...PATIENT } })
    expect((await later.post('/v1/refund', { receipt })).body.refunded).toEqual({ requests: 1 })
    await later.stop()
  })

  it('answers everybody who has finished sending, also what goes the other way', async () => {
    const one = new RawCaller(service.connect())
    one.socket.end(
      `${checkBytes('half').repeat(3000)}GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n`,
    )
    for (let left = 99_999; left >= 97_000; left--)
      expect(JSON.parse((await one.next())!.body).remaining).toBe(left)
    expect((await one.next())!.body).toBe('{"status":"ok"}')
    expect(await one.next()).toBeNull()
  })

  it('takes no more of one caller than the store keeps up with', async () => {
    const one = new RawCaller(service.connect())
    const check = { subject: { user: 'greedy' }, resource: '/hello' }
    const body = JSON.stringify({ checks: Array.from({ length: 1000 }, () => check) })
    const bytes = `POST /v1/check/batch HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${body.length}\r\n\r\n${body}`
    const { store } = service.service.backing
    const decide = store.decide.bind(store)
    let [inFlight, most] = [0, 0]
    store.decide = (transaction) => {
      most = Math.max(most, ++inFlight)
      const answer = decide(transaction)
      void Promise.resolve(answer).finally(() => inFlight--)
      return answer
    }
    redis.pause()
    one.send(bytes.repeat(20))
    await until('all is sent', () => one.socket.writableLength === 0)
    await until('a batch is asked', () => inFlight >= 1000)
    for (let i = 0; i < 300; i++) await new Promise((resolve) => setImmediate(resolve))
    redis.resume()
    for (let i = 0; i < 20; i++) {
      const { results } = JSON.parse((await one.next())!.body)
      expect(results.filter((result: { degraded: boolean }) => result.degraded)).toEqual([])
    }
    store.decide = decide
    // It reads on while fewer than 1000 wait, so one batch more may begin.
    expect(most).toBeLessThan(2000)
    one.socket.destroy()
  })

  it('keeps many callers apart', async () => {
    const callers = Array.from({ length: 20 }, () => new RawCaller(service.connect()))
    await Promise.all(
      callers.map(async (one, i) => {
        for (let round = 0; round < 5; round++) {
          one.send(checkBytes(`apart-${i}`, '', '/hello', RECEIPT).repeat(10))
          for (let n = 0; n < 10; n++) {
            const { remaining, receipt } = JSON.parse((await one.next())!.body)
            expect(remaining).toBe(100_000 - round * 10 - n - 1)
            expect(receipt).toContain(`,apart-${i},`)
          }
        }
        one.socket.destroy()
      }),
    )
  })

  it('gives back after an outage what it could not give back in it', async () => {
    const own = await RedisServer.start()
    const apart = await startService({ rules: RULES, flags: { redis: own.url } })
    const check = { subject: { user: 'ada' }, resource: '/hello', cost: 5, include: ['receipt'] }
    const { receipt } = (await apart.post('/v1/check', check)).body
    const { reservation } = (await apart.post('/v1/reserve', check)).body
    own.pause()
    for (let i = 0; i < 8; i++) await apart.post('/v1/check', check)
    const refused = [
      await apart.post('/v1/refund', { receipt }),
      await apart.post('/v1/settle', { reservation, cost: 0 }),
    ]
    for (const { status, body } of refused)
      expect([status, body.error.code, body.error.retryable]).toEqual([
        503,
        'store_unavailable',
        true,
      ])
    own.resume()
    await until(
      'it is exact again',
      async () => !(await apart.post('/v1/quota', check)).body.degraded,
    )
    expect((await apart.post('/v1/refund', { receipt })).body.refunded).toEqual({ requests: 5 })
    expect((await apart.post('/v1/settle', { reservation, cost: 0 })).body.given_back).toEqual({
      requests: 5,
    })
    await apart.stop()
    await own.stop()
  })

  it('gives nothing back while it cannot tell whether it was given back before', async () => {
    const own = await RedisServer.start()
    const apart = await startService({ rules: RULES, flags: { redis: own.url } })
    const check = { subject: { user: 'ada' }, resource: '/hello', include: ['receipt'] }
    const { body } = await apart.post('/v1/check', check)
    await own.kill()
    const refund = await apart.post('/v1/refund', { receipt: body.receipt })
    expect([refund.status, refund.body.error.code]).toEqual([503, 'store_unavailable'])
    const reset = await apart.post('/v1/reset', { subject: { user: 'ada' } })
    expect([reset.status, reset.body.error.code]).toEqual([503, 'store_unavailable'])
    await apart.stop()
    await own.stop()
  })
})

describe('over a Redis that is slow', () => {
  let redis: RedisServer
  let hasty: TestService
  beforeAll(async () => {
    redis = await RedisServer.start()
    hasty = await startService({ rules: RULES, flags: { redis: redis.url } })
  })
  afterAll(async () => {
    await hasty.stop()
    await redis.stop()
  })

  it('reads no more than it can answer while Redis is slow, and answers all of it', async () => {
    const one = new RawCaller(hasty.connect())
    redis.pause()
    one.send(checkBytes('slow').repeat(1000))
    const first = await one.next()
    expect(JSON.parse(first!.body).degraded).toBe(true)
    for (let i = 1; i < 1000; i++) expect((await one.next())!.status).toBe(200)
    redis.resume()
    one.socket.destroy()
    await until('it is exact again', async () => {
      const { body } = await hasty.post('/v1/check', {
        subject: { user: 'back' },
        resource: '/hello',
      })
      return body.allowed === true && body.degraded === undefined
    })
  })

  it('says how its store is doing', async () => {
    const { text } = await hasty.get('/metrics')
    expect(text).toMatch(/^sluice_breaker_state\{state="closed"\} [01]$/m)
    expect(text).toMatch(/^sluice_store_duration_seconds_count\{operation="evalsha"\} [1-9]/m)
    expect(text).toMatch(/^sluice_clock_offset_seconds -?\d/m)
    expect(text).toMatch(/^sluice_degraded_decisions_total\{reason="store_timeout"\} [1-9]/m)
    expect((await hasty.get('/readyz')).body.store).toMatchObject({ kind: 'redis' })
  })
})

describe('stopping over Redis', () => {
  let redis: RedisServer
  beforeAll(async () => {
    redis = await RedisServer.start()
  })
  afterAll(() => redis.stop())

  it('closes the store before its connection, so that what is leased can be returned', async () => {
    const own = await startService({ rules: RULES, flags: { redis: redis.url, ...PATIENT } })
    const { backing, tenants } = own.service
    const close = backing.store.close.bind(backing.store)
    const asked = { subject: { user: 'last' }, resource: '/hello' }
    let isDegraded: boolean | null = null
    backing.store.close = async () => {
      await new Promise((resolve) => setImmediate(resolve))
      isDegraded = (await tenants.get('default')!.limiter.check(asked)).degraded
      await close()
    }
    await own.stop()
    expect(isDegraded).toBe(false)
  })

  it('does not wait for a store that does not close', async () => {
    const own = await startService({ rules: RULES, flags: { redis: redis.url } })
    own.service.backing.store.close = () => new Promise(() => {})
    await own.stop()
  })
})
