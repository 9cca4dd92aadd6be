/** At most so many are held; a hold is renewed and released by its id, and ends by its time-out. */
import assert from 'node:assert/strict'
import { ADA, BOB, type Chapter, START } from './trial.js'

export const holds: Chapter = {
  'no more are held than the limit': async (open) => {
    const trial = open('3 concurrent for 60s')
    for (const holdId of ['a', 'b', 'c']) await trial.take({ ...ADA, holdId })
    const denied = await trial.deny({ ...ADA, holdId: 'd' })
    assert.deepEqual([denied.remaining, denied.retryAfterMs], [0, 60_000])
    assert.equal(denied.hold, null)
    await trial.take({ ...BOB, holdId: 'd' })
  },

  'a hold says its id and its end': async (open) => {
    const trial = open('3 concurrent for 60s')
    const { hold, resetAtMs } = await trial.take({ ...ADA, holdId: 'a' })
    assert.deepEqual(hold?.toJSON(), { id: 'a', expiresAtMs: START + 60_000 })
    assert.equal(resetAtMs, START + 60_000)
  },

  'asking again for what is held takes nothing, and renews': async (open) => {
    const trial = open('2 concurrent for 60s')
    await trial.take({ ...ADA, holdId: 'a' })
    trial.now += 40_000
    const again = await trial.take({ ...ADA, holdId: 'a' })
    assert.equal(again.hold!.expiresAtMs, START + 100_000)
    assert.deepEqual(await trial.left({ ...ADA, holdId: 'b' }), [1])
  },

  'a hold ends by its time-out, to the millisecond': async (open) => {
    const trial = open('1 concurrent for 60s')
    await trial.take({ ...ADA, holdId: 'a' })
    await trial.awaitRetry({ ...ADA, holdId: 'b' })
    assert.equal(trial.now, START + 60_000)
    assert.equal(await trial.limiter.renew({ ...ADA, holdId: 'a' }), null)
    assert.equal(await trial.limiter.release({ ...ADA, holdId: 'a' }), false)
    await trial.deny({ ...ADA, holdId: 'c' })
  },

  'a renewed hold lives on, and one that has ended cannot be renewed': async (open) => {
    const trial = open('1 concurrent for 60s')
    const { hold } = await trial.take({ ...ADA, holdId: 'a' })
    for (let i = 1; i <= 5; i++) {
      trial.now += 50_000
      assert.equal(await trial.limiter.renew(hold!), START + i * 50_000 + 60_000)
      await trial.deny({ ...ADA, holdId: 'b' })
    }
    trial.now += 60_000
    assert.equal(await trial.limiter.renew(hold!), null)
    await trial.take({ ...ADA, holdId: 'b' })
  },

  'releasing twice frees nobody else’s': async (open) => {
    const trial = open('2 concurrent for 60s')
    const { hold } = await trial.take({ ...ADA, holdId: 'a' })
    await trial.take({ ...ADA, holdId: 'b' })
    assert.equal(await trial.limiter.release(hold!), true)
    assert.equal(await trial.limiter.release(hold!), false)
    assert.equal(await trial.limiter.release({ ...ADA, holdId: 'zzz' }), false)
    await trial.take({ ...ADA, holdId: 'c' })
    assert.equal(await trial.limiter.release(hold!), false)
    await trial.deny({ ...ADA, holdId: 'd' })
  },

  'a cost holds as many places, and releases them together': async (open) => {
    const trial = open('5 concurrent for 60s')
    const { hold } = await trial.take({ ...ADA, cost: 3, holdId: 'a' })
    assert.deepEqual(await trial.left({ ...ADA, holdId: 'b' }), [2])
    await trial.deny({ ...ADA, cost: 3, holdId: 'b' })
    trial.now += 30_000
    assert.equal(await trial.limiter.renew(hold!), START + 90_000)
    trial.now += 45_000
    assert.deepEqual(await trial.left({ ...ADA, holdId: 'b' }), [2])
    assert.equal(await trial.limiter.release(hold!), true)
    assert.deepEqual(await trial.left({ ...ADA, holdId: 'b' }), [5])
  },

  'ids with any characters are told apart': async (open) => {
    const trial = open('9 concurrent for 60s')
    const ids = ['a', 'a/1', 'a/2', 'a/1/1', 'ä', ' a']
    for (const holdId of ids) await trial.take({ ...ADA, holdId })
    assert.deepEqual(await trial.left({ ...ADA, holdId: 'z' }), [3])
    assert.equal(await trial.limiter.release({ ...ADA, holdId: 'a' }), true)
    assert.deepEqual(await trial.left({ ...ADA, holdId: 'z' }), [4])
    assert.equal(await trial.limiter.release({ ...ADA, holdId: 'a/1' }), true)
    assert.deepEqual(await trial.left({ ...ADA, holdId: 'z' }), [5])
  },

  'a hold takes the request’s rate limits too, or nothing at all': async (open) => {
    const trial = open(['2/h', '5 concurrent for 60s'])
    await trial.take({ ...ADA, holdId: 'a' })
    await trial.take({ ...ADA, holdId: 'b' })
    await trial.deny({ ...ADA, holdId: 'c' })
    assert.deepEqual(await trial.left({ ...ADA, holdId: 'd' }), [0, 3])
  },

  'rules of several scopes hold and release together': async (open) => {
    const trial = open({
      rules: {
        user: { scope: 'user', limits: '2 concurrent for 60s' },
        org: { scope: 'org', limits: '3 concurrent for 30s' },
      },
    })
    const request = { subject: { user: 'ada', org: 'acme' } }
    const { hold } = await trial.take({ ...request, holdId: 'a' })
    assert.equal(hold!.expiresAtMs, START + 30_000)
    trial.now += 10_000
    assert.equal(await trial.limiter.renew(hold!), START + 40_000)
    assert.equal(await trial.limiter.release(hold!), true)
    assert.deepEqual(await trial.left({ ...request, holdId: 'b' }), [2, 3])
  },

  'a denied request leaves a hold that was there': async (open) => {
    const trial = open({
      rules: {
        user: { scope: 'user', limits: '2 concurrent for 60s' },
        org: { scope: 'org', limits: '1/h' },
        all: { scope: 'global', limits: '2 concurrent for 60s' },
      },
    })
    const request = { subject: { user: 'ada', org: 'acme' } }
    const { hold } = await trial.take({ ...request, holdId: 'a' })
    trial.now += 10_000
    const denied = await trial.deny({ ...request, holdId: 'a' })
    assert.deepEqual(
      denied.limits.map(({ remaining }) => remaining),
      [1, 0, 1],
    )
    assert.deepEqual(await trial.left({ ...request, holdId: 'b' }), [1, 0, 1])
    assert.equal(await trial.limiter.release(hold!), true)
    assert.deepEqual(await trial.left({ ...request, holdId: 'b' }), [2, 0, 2])
  },

  'of many at once as many hold as there is room for': async (open) => {
    const trial = open('4 concurrent for 60s')
    const asked = Array.from({ length: 50 }, (_, i) => trial.check({ ...ADA, holdId: `h${i}` }))
    const held = (await Promise.all(asked)).flatMap(({ hold }) => hold ?? [])
    assert.equal(held.length, 4)
    const released = await Promise.all(held.map((hold) => trial.limiter.release(hold)))
    assert.deepEqual(released, [true, true, true, true])
    assert.deepEqual(await trial.left({ ...ADA, holdId: 'z' }), [4])
  },

  'a reset releases every hold': async (open) => {
    const trial = open('2 concurrent for 60s')
    const { hold } = await trial.take({ ...ADA, holdId: 'a' })
    assert.equal(await trial.limiter.reset({ user: 'ada' }), 1)
    assert.deepEqual(await trial.left({ ...ADA, holdId: 'z' }), [2])
    assert.equal(await trial.limiter.renew(hold!), null)
  },

  'a hold that is disposed is released': async (open) => {
    const trial = open('1 concurrent for 60s')
    {
      await using hold = await trial.limiter.hold(ADA)
      assert.equal(hold.allowed, true)
      await trial.deny(ADA)
    }
    await trial.take(ADA)
  },
}
