/** What may happen once, over a Redis whose commands and answers the test delays, loses or overtakes. */
import { Redis } from 'ioredis'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { RedisServer, until } from '../../../limiter/test/redis/servers.js'
import { InProgress, NotDone } from '../../src/receipts/once.js'
import { OnceInRedis, type OnceRedis } from '../../src/receipts/once-in-redis.js'

const GIVEN = { at: 0, number: null, count: 0 }
const ANOTHER = '?!another.1'

let server: RedisServer
let redis: Redis
/** Called before a script runs with its arguments, and after it; what it throws is the answer. */
let before: (script: string, args: readonly string[]) => Promise<void>
let after: (script: string, args: readonly string[]) => void
let once: OnceInRedis
let key: string
let names = 0

beforeAll(async () => {
  server = await RedisServer.start()
  redis = new Redis(server.url)
})
afterAll(async () => {
  redis.disconnect()
  await server.stop()
})
beforeEach(() => {
  before = async () => {}
  after = () => {}
  const between: OnceRedis = {
    set: (...args) => redis.set(...args),
    async eval(script, keys, name, ...args) {
      await before(script, args)
      const reply = await redis.eval(script, keys, name, ...args)
      after(script, args)
      return reply
    },
  }
  const prefix = `once-${names++}`
  key = `${prefix}:once:x`
  once = new OnceInRedis(between, prefix, 1000)
})

const run = (work: () => Promise<string>) => once.run('x', GIVEN, work)
const isBeginning = (args: readonly string[]) => args[1]?.startsWith('?!') === true

it('a claim that another instance has replaced is not begun', async () => {
  before = async (_script, args) => {
    if (isBeginning(args)) await redis.set(key, ANOTHER)
  }
  await expect(run(async () => 'twice')).rejects.toThrow(NotDone)
  expect(await redis.get(key)).toBe(ANOTHER)
})

it('a claim that is not begun is gone after some seconds', async () => {
  let livesMs = 0
  before = async (_script, args) => {
    if (isBeginning(args)) livesMs = await redis.pttl(key)
  }
  await run(async () => 'done')
  expect(livesMs).toBeGreaterThan(0)
  expect(livesMs).toBeLessThanOrEqual(5000)
})

it('what another instance has claimed is not run', async () => {
  await redis.set(key, '?another.1', 'PX', 5000)
  await expect(run(async () => 'twice')).rejects.toThrow(InProgress)
  expect(await redis.get(key)).toBe('?another.1')
})

it('an answer takes the place of nothing that came after its beginning', async () => {
  const answer = await run(async () => {
    await redis.set(key, ANOTHER)
    return 'mine'
  })
  expect([answer, await redis.get(key)]).toEqual(['mine', ANOTHER])
})

it('what was not done is taken away, and nothing that came after it', async () => {
  const refused = run(async () => {
    throw new NotDone('no')
  })
  await expect(refused).rejects.toThrow(NotDone)
  expect(await redis.exists(key)).toBe(0)
  let letGo = 0
  before = async (_script, args) => {
    // Ending it is not heard of, and is tried again later.
    if (args[1] === '') throw new Error('lost')
    if (args.length !== 2) return
    await redis.set(key, ANOTHER)
    letGo++
  }
  const again = run(async () => {
    throw new NotDone('no')
  })
  await expect(again).rejects.toThrow(NotDone)
  await until('it is let go', () => letGo > 0)
  // By the same connection, so after it.
  expect(await redis.get(key)).toBe(ANOTHER)
})

it('what was begun without an answer did not run, so the same instance may run it', async () => {
  before = async (_script, args) => {
    if (args.length === 2) throw new Error('lost')
  }
  after = (_script, args) => {
    if (isBeginning(args)) throw new Error('the answer is lost')
  }
  await expect(run(async () => 'never')).rejects.toThrow(NotDone)
  expect(await redis.get(key)).toMatch(/^\?!/)
  after = () => {}
  expect(await run(async () => 'done')).toBe('done')
})
