/** What operators learn of a clock that jumped ahead and stepped back, and what happens meanwhile. */
import { afterEach, expect, it, vi } from 'vitest'
import { startService } from './service.js'

const DAY_MS = 86_400_000
const CHECK = { subject: { user: 'ada' }, resource: '/hello' }

afterEach(() => vi.useRealTimers())

it('is logged once and counted, and nobody is denied for a day', async () => {
  vi.useFakeTimers({ toFake: ['Date'] })
  const start = Date.now()
  const service = await startService()
  const isAllowed = async () => (await service.post('/v1/check', CHECK)).status === 200
  for (let i = 0; i < 2; i++) {
    vi.setSystemTime(start + DAY_MS)
    while (await isAllowed());
    vi.setSystemTime(start)
    expect(await isAllowed()).toBe(false)
  }
  const { body } = await service.post('/v1/check', CHECK)
  expect(body.retry_after).toBeLessThanOrEqual(10)
  const said = service.log.filter(({ code }) => code === 'clock_stepped_back')
  expect(said.map(({ level }) => level)).toEqual(['warn'])
  expect((await service.get('/metrics')).text).toMatch(/^sluice_clock_steps_back_total 2$/m)
  await service.stop()
})
