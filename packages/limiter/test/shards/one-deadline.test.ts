/** However many shards are asked, a decision waits for one deadline: then the no that there is stands. */
import { expect, it } from 'vitest'
import { createLimiter, type Limiter, MemoryStore, type RulesDocument } from '../../src/index.js'
import type { Answer } from '../../src/stores/answer.js'
import { Deadlines, deadlineFrom } from '../../src/stores/deadlines.js'
import type { LeasingStore } from '../../src/stores/leasing.js'
import { ShardedStore } from '../../src/stores/sharded/sharded-store.js'
import type { Awaitable } from '../../src/stores/store.js'
import type { Transaction } from '../../src/stores/transaction.js'

const ADA = { subject: { user: 'ada' } }
const NOW = 1_790_000_000_000

/** A store whose answers can be held back. */
class SlowStore extends MemoryStore implements LeasingStore {
  readonly held: (() => void)[] = []
  holdsBack: (transaction: Transaction) => boolean = () => false

  override decide(transaction: Transaction): Answer {
    const answer: Awaitable<Answer> = this.holdsBack(transaction)
      ? new Promise<Answer>((resolve) => this.held.push(() => resolve(super.decide(transaction))))
      : super.decide(transaction)
    return answer as Answer
  }

  lease(): void {}
}

function world(more: RulesDocument['rules'] = {}): { limiter: Limiter; store: SlowStore } {
  const store = new SlowStore()
  // Always shard 0 first: its last unit is soon gone.
  const timers = new Deadlines(30)
  const sharded = new ShardedStore(store, { timers, random: () => 0 })
  const timed = Object.assign(sharded, { deadline: () => deadlineFrom(timers) })
  const rules = { hot: { scope: 'user', limits: '40/h', shards: 4 }, ...more } as const
  return { limiter: createLimiter({ rules, store: timed, clock: () => NOW }), store }
}

it('what another shard answers too late is given back, and the denial is given in time', async () => {
  const { limiter, store } = world()
  for (let i = 0; i < 10; i++) expect((await limiter.check(ADA)).allowed).toBe(true)
  let asks = 0
  store.holdsBack = ({ dryRun }) => !dryRun && ++asks > 1
  const denied = await limiter.check(ADA)
  expect(denied).toMatchObject({ allowed: false, reason: 'limited', degraded: false })
  expect(store.held).toHaveLength(1)
  store.holdsBack = () => false
  for (const answer of store.held) answer()
  await new Promise(setImmediate)
  expect((await limiter.peek(ADA)).remaining).toBe(30)
})

it('a hold that was taken with it is released', async () => {
  const { limiter, store } = world({ jobs: { scope: 'org', limits: '5 concurrent for 60s' } })
  const both = { subject: { user: 'ada', org: 'acme' } }
  for (let i = 0; i < 10; i++) await limiter.check(ADA)
  let asks = 0
  store.holdsBack = ({ dryRun }) => !dryRun && ++asks > 1
  expect((await limiter.check(both)).allowed).toBe(false)
  store.holdsBack = () => false
  for (const answer of store.held) answer()
  await new Promise(setImmediate)
  expect((await limiter.peek({ subject: { org: 'acme' } })).remaining).toBe(5)
})
