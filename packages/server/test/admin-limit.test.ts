import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startService, type TestService } from './service.js'

let service: TestService
beforeAll(async () => {
  service = await startService({ token: 'a-token-of-more-than-16' })
})
afterAll(() => service.stop())

describe('a caller of the control plane', () => {
  const headers = { Authorization: 'Bearer a-token-of-more-than-16' }
  const json = { ...headers, 'Content-Type': 'application/json' }

  it('has a hundred changes a minute and a thousand questions, and is told when to come back', async () => {
    const statuses = new Map<number, number>()
    const count = (status: number) => statuses.set(status, (statuses.get(status) ?? 0) + 1)
    for (let i = 0; i < 105; i++) {
      const { status, headers: said, body } = await service.post('/v1/rules', {}, json)
      count(status)
      if (status !== 429) continue
      expect(Number(said['retry-after'])).toBeGreaterThan(0)
      expect(body.error).toMatchObject({ code: 'limited' })
    }
    expect(statuses.get(429)).toBeGreaterThan(2)
    expect(statuses.get(409)).toBeGreaterThanOrEqual(100)
    // Questions are counted apart, and decisions not at all.
    expect((await service.get('/v1/rules', headers)).status).toBe(200)
    for (let i = 0; i < 150; i++)
      expect((await service.post('/v1/quota', { subject: { user: 'a' } }, headers)).status).toBe(
        200,
      )
    let denied = 0
    for (let i = 0; i < 1100 && denied === 0; i++)
      if ((await service.get('/v1/rules', headers)).status === 429) denied = i
    expect(denied).toBeGreaterThanOrEqual(999)
  })
})
