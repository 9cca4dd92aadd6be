/** Three instances and a network between them and Redis that fails in every way a network can. */
import { setTimeout as sleep } from 'node:timers/promises'
import { beforeAll, describe, expect, it } from 'vitest'
import { RedisServer } from '../servers.js'
import { build, type Drilled, drill } from './drill.js'
import { FaultProxy } from './fault-proxy.js'
import { type Expected, findings } from './findings.js'

const FAULT_MS = 3000

interface NetworkDrill {
  readonly kinds: readonly ('ioredis' | 'node-redis')[]
  readonly fault: (proxy: FaultProxy) => Promise<Expected>
}

/** From the first moment at which nothing went through to the last. */
async function away(proxy: FaultProxy, start: () => Promise<void> | void): Promise<Expected> {
  await start()
  const from = Date.now()
  await sleep(FAULT_MS)
  const to = Date.now()
  await proxy.pass()
  return { away: { from, to } }
}

const drills: Readonly<Record<string, NetworkDrill>> = {
  latency: {
    kinds: ['ioredis', 'ioredis', 'node-redis'],
    fault: (proxy) => away(proxy, () => proxy.delayReplies(200)),
  },
  'black hole': {
    kinds: ['ioredis', 'ioredis', 'node-redis'],
    fault: (proxy) => away(proxy, () => proxy.blackHole()),
  },
  refused: {
    kinds: ['ioredis', 'ioredis', 'node-redis'],
    fault: (proxy) => away(proxy, () => proxy.refuse()),
  },
  'half open': {
    kinds: ['ioredis', 'ioredis', 'node-redis'],
    fault: async (proxy) => {
      proxy.halfOpen()
      await sleep(FAULT_MS)
      return {}
    },
  },
  reset: {
    kinds: ['ioredis', 'ioredis', 'node-redis'],
    fault: async (proxy) => {
      for (let i = 0; i < 6; i++) {
        proxy.reset()
        await sleep(500)
      }
      return { mild: true }
    },
  },
}

const results = new Map<string, { drilled: Drilled; expected: Expected }>()

async function run(name: string, { kinds, fault }: NetworkDrill): Promise<void> {
  const server = await RedisServer.start()
  const proxy = await FaultProxy.start(server.port)
  let expected: Expected = {}
  try {
    const drilled = await drill({
      clients: kinds.map((kind) => ({ kind, url: proxy.url })),
      witnessed: [{ host: '127.0.0.1', port: proxy.port }],
      fault: async () => {
        expected = await fault(proxy)
      },
    })
    results.set(name, { drilled, expected })
  } finally {
    await proxy.stop()
    await server.stop()
  }
}

beforeAll(async () => {
  build()
  await Promise.all(Object.entries(drills).map(([name, each]) => run(name, each)))
}, 120_000)

describe('a network that', () => {
  it.each([
    ['answers after 200 ms', 'latency'],
    ['swallows everything', 'black hole'],
    ['refuses connections', 'refused'],
    ['leaves connections half open', 'half open'],
    ['resets connections again and again', 'reset'],
  ])('%s', (_, name) => {
    const { drilled, expected } = results.get(name)!
    expect(findings(drilled, expected)).toEqual({})
  })
})
