/** The counters that the simulator runs on answer as a real Redis does, number for number. */
import { once } from 'node:events'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type LimitsInput, RuleSet } from '../../limiter/src/index.js'
import { ioredisOptions } from '../../limiter/src/redis.js'
import type { CompiledRule } from '../../limiter/src/rules/compiled-rule.js'
import { Answer } from '../../limiter/src/stores/answer.js'
import type { LeaseAsk, LeaseReply } from '../../limiter/src/stores/leasing.js'
import type { RedisStore } from '../../limiter/src/stores/redis/redis-store.js'
import { newTransaction } from '../../limiter/src/stores/transaction.js'
import { bareStore } from '../../limiter/test/redis/bare-store.js'
import { RedisServer } from '../../limiter/test/redis/servers.js'
import { Counters } from '../src/counters.js'
import { Random } from '../src/random.js'
import { BEGINNING } from '../src/world.js'
import { firstSeed } from './seeds.js'

const HISTORIES = 300
const STEPS = 40
const DEADLINE_MS = 10_000

/** Before and after a change of the rules. */
const LIMITS: readonly (readonly [LimitsInput, LimitsInput])[] = [
  ['1000/s burst 16', '1000/s burst 16'],
  ['40/s burst 24', '90/s burst 40'],
  ['333 per 7s burst 200', '100 per 7s burst 100'],
  ['30 per 2s fixed', '60 per 2s fixed'],
  ['24/s sliding', '24/s sliding'],
  ['40 per 10s exact', '80 per 10s exact'],
  [
    ['40/s burst 24', '30 per 2s fixed'],
    ['70/s burst 24', '90 per 2s fixed'],
  ],
  [
    ['100/s burst 20', '60 per 10s exact'],
    ['100/s burst 20', '60 per 10s exact'],
  ],
  ['500 per calendar day', '900 per calendar day'],
]

let server: RedisServer
let client: Redis
let now = BEGINNING

beforeAll(async () => {
  server = await RedisServer.start()
  client = new Redis({ ...ioredisOptions, port: server.port, host: '127.0.0.1' })
  await once(client, 'ready')
})
afterAll(async () => {
  client?.disconnect()
  await server?.stop()
})

function storeOn(): RedisStore {
  return bareStore(client, 'same', () => now)
}

function leased(store: RedisStore, ask: LeaseAsk): Promise<LeaseReply> {
  return new Promise((resolve, reject) => store.lease(ask, resolve, reject))
}

function ruleOf(limits: LimitsInput, namespace: string): CompiledRule {
  return RuleSet.compile({ namespace, rules: { r: { scope: 'user', limits } } }).all[0]!
}

/** All that an answer says. A limit that was not taken from has left no mark. */
function said(answer: Answer): readonly number[] {
  const limits = [...answer.each()].flatMap(({ index }) => [
    answer.status(index),
    answer.difference(index),
    answer.resetAt(index),
    answer.goAt(index),
    ...(answer.wasTaken(index)
      ? [answer.mark(index), answer.markRest(index), answer.givenBack(index)]
      : []),
  ])
  return [answer.allowed ? 1 : 0, answer.decidedAt, ...limits]
}

async function compare(seed: number): Promise<number> {
  const random = new Random(seed)
  const [before, after] = random.pick(LIMITS)
  const namespace = `n${seed}`
  const variants = [ruleOf(before, namespace), ruleOf(after, namespace)]
  let rule = variants[0]!
  const store = storeOn()
  const counters = new Counters()
  const held: { here: LeaseReply; there: LeaseReply; unspent: number }[] = []
  let granted = 0
  now = BEGINNING + random.whole(0, 10_000_000)
  for (let step = 0; step < STEPS; step++) {
    if (random.chance(0.4)) {
      const cost = random.pick([1, 1, 2, 5, 20])
      const dryRun = random.chance(0.1)
      const deadline = performance.now() + DEADLINE_MS
      const transaction = newTransaction([rule], ['x'], cost, now, { dryRun, deadline })
      const there = await store.decide(transaction)
      const here = counters.decide(transaction, now)
      expect(said(here), `decision at step ${step}`).toEqual(said(there))
    } else {
      const i = random.chance(0.5) ? random.whole(0, held.length - 1) : -1
      const one = held[i]
      const some = one === undefined ? 0 : random.whole(0, one.unspent)
      const back = one === undefined ? 0 : random.whole(0, one.unspent - some)
      const want = random.pick([0, 2, 5, 100])
      const report = (side: 'here' | 'there') =>
        one === undefined ? [] : [{ lease: one[side].lease, spent: some, back }]
      if (one !== undefined) one.unspent -= some + back
      const deadline = performance.now() + DEADLINE_MS
      const ask = { rule, value: 'x', want, now, deadline }
      const there = await leased(store, { ...ask, reports: report('there') })
      const here = counters.lease({ ...ask, reports: report('here') }, now)
      const shown = ({ lease: { run: _run, rule: _rule, ...lease }, ...reply }: LeaseReply) => ({
        ...reply,
        lease,
        answer: said(reply.answer),
      })
      expect(shown(here), `lease at step ${step}`).toEqual(shown(there))
      granted += here.granted
      if (here.granted > 0) held.push({ here, there, unspent: here.granted })
    }
    now += random.pick([0, 0, 0, 1000, 20_000, 250_000, 500_000, 1_500_000])
    if (random.chance(0.03)) now -= random.whole(0, 100_000)
    if (random.chance(0.02)) now += random.whole(0, 7_200_000_000)
    if (random.chance(0.03)) now -= random.whole(50_000_000, 7_200_000_000)
    if (random.chance(0.05)) rule = random.pick(variants)
  }
  return granted
}

describe('the counters of the simulator', () => {
  it('answer leases and decisions as Redis does', async () => {
    let granted = 0
    const first = firstSeed()
    for (let seed = first; seed < first + HISTORIES; seed++) {
      try {
        granted += await compare(seed)
      } catch (error) {
        throw new Error(`SLUICE_TEST_SEED=${seed}`, { cause: error })
      }
    }
    expect(granted).toBeGreaterThan(HISTORIES)
  })
})
