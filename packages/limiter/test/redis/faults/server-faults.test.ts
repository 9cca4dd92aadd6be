/** Three instances and a Redis that stops, dies, forgets, hangs up, has no memory, may not write, or is still loading. */
import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { beforeAll, describe, expect, it } from 'vitest'
import { RedisServer, type ServerOptions } from '../servers.js'
import { build, type Drilled, drill } from './drill.js'
import { type Expected, findings } from './findings.js'
import type { Span } from './history.js'

interface ServerDrill {
  readonly kinds: readonly ('ioredis' | 'node-redis')[]
  readonly options?: ServerOptions
  readonly fault: (server: RedisServer) => Promise<Expected>
}

const MIXED = ['ioredis', 'ioredis', 'node-redis'] as const

const drills: Readonly<Record<string, ServerDrill>> = {
  'is paused for a second': {
    kinds: MIXED,
    async fault(server) {
      server.pause()
      const from = Date.now()
      await sleep(1000)
      const to = Date.now()
      server.resume()
      return { away: { from, to } }
    },
  },
  'is killed and comes back empty': {
    kinds: MIXED,
    async fault(server) {
      await server.kill()
      const from = Date.now()
      await sleep(1000)
      const to = Date.now()
      await server.start()
      // What it had counted is lost: limits hold before, and they hold after.
      return { away: { from, to }, cuts: [from] }
    },
  },
  'forgets its scripts again and again': {
    kinds: MIXED,
    async fault({ admin }) {
      for (let i = 0; i < 40; i++) {
        await admin.script('FLUSH', 'SYNC')
        await sleep(50)
      }
      return { unnoticed: true }
    },
  },
  'hangs up on everybody': {
    kinds: MIXED,
    async fault({ admin }) {
      for (let i = 0; i < 3; i++) {
        await admin.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes')
        await sleep(300)
      }
      return { mild: true }
    },
  },
  'has no memory left': {
    kinds: MIXED,
    // A script may go on once it has written, and trimming a log is free: something is taken even so.
    async fault({ admin }) {
      await admin.config('SET', 'maxmemory', '1')
      await sleep(2000)
      await admin.config('SET', 'maxmemory', '0')
      return {}
    },
  },
  'may only be read': {
    kinds: MIXED,
    async fault({ admin }) {
      await admin.replicaof('127.0.0.1', 1)
      const from = Date.now()
      await sleep(2000)
      const to = Date.now()
      await admin.replicaof('NO', 'ONE')
      return { readOnly: { from, to } }
    },
  },
  'is loading': {
    kinds: ['ioredis', 'node-redis', 'node-redis'],
    // A millisecond for each key, and commands are looked at in between.
    options: {
      args: [
        '--key-load-delay',
        '1000',
        '--loading-process-events-interval-bytes',
        '1024',
        '--enable-debug-command',
        'yes',
      ],
    },
    async fault(server) {
      const keys = Array.from({ length: 2000 }, (_, i) => [`filler:${i}`, 'x'])
      await server.admin.mset(...keys.flat())
      return { away: await loading(server) }
    },
  },
}

/** Loads all data anew; from the first refusal to the last. Nothing is lost. */
async function loading({ port, admin }: RedisServer): Promise<Span> {
  const other = new Redis(port, '127.0.0.1', { enableReadyCheck: false })
  const refusals: number[] = []
  const loaded = admin.call('DEBUG', 'RELOAD').then(() => 'loaded' as const)
  while ((await Promise.race([loaded, sleep(10, 'loading' as const)])) === 'loading') {
    await other.ping().catch((error: Error) => {
      if (error.message.startsWith('LOADING')) refusals.push(Date.now())
    })
  }
  other.disconnect()
  const [from, to] = [refusals[0]!, refusals.at(-1)!]
  expect(to - from).toBeGreaterThan(1000)
  return { from, to }
}

const results = new Map<string, { drilled: Drilled; expected: Expected }>()

async function run(name: string, { kinds, options, fault }: ServerDrill): Promise<void> {
  const server = await RedisServer.start(options)
  let expected: Expected = {}
  try {
    const drilled = await drill({
      clients: kinds.map((kind) => ({ kind, url: server.url })),
      witnessed: [{ host: '127.0.0.1', port: server.port }],
      fault: async () => {
        expected = await fault(server)
      },
    })
    results.set(name, { drilled, expected })
  } finally {
    await server.stop()
  }
}

beforeAll(async () => {
  build()
  await Promise.all(Object.entries(drills).map(([name, each]) => run(name, each)))
}, 120_000)

describe('a Redis that', () => {
  it.each(Object.keys(drills))('%s', (name) => {
    const { drilled, expected } = results.get(name)!
    expect(findings(drilled, expected)).toEqual({})
  })
})
