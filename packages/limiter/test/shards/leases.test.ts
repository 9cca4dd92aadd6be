/** Leases of a rule in shards: each report goes to its lease's shard, the want to the fuller of two. */
import { expect, it } from 'vitest'
import { MemoryStore, RuleSet } from '../../src/index.js'
import { Deadlines } from '../../src/stores/deadlines.js'
import type { Lease, LeaseAsk, LeaseReply, LeasingStore } from '../../src/stores/leasing.js'
import type { NotConfirmed } from '../../src/stores/operation.js'
import { readMark, ShardRules } from '../../src/stores/sharded/sharded-rule.js'
import { ShardedStore } from '../../src/stores/sharded/sharded-store.js'
import { StoreFailure } from '../../src/stores/store.js'
import { newTransaction } from '../../src/stores/transaction.js'
import { seeded } from './over-memory.js'

const NOW = 1_790_000_000_000_000
const rules = RuleSet.compile({
  rules: {
    hot: { scope: 'user', limits: '80/h', shards: 8 },
    cold: { scope: 'org', limits: '80/h' },
  },
})
const [hot, cold] = [rules.named('hot')!, rules.named('cold')!]

const MOMENT = { now: NOW, deadline: Number.POSITIVE_INFINITY }

/** Grants what is wanted by taking it, and keeps what it was asked. */
class GrantingStore extends MemoryStore implements LeasingStore {
  readonly asks: LeaseAsk[] = []
  isAway = false

  lease(
    ask: LeaseAsk,
    answered: (reply: LeaseReply) => void,
    failed: (failure: StoreFailure) => void,
  ): void {
    this.asks.push(ask)
    if (this.isAway) return failed(new StoreFailure('breaker_open', 'not_done'))
    const { rule, value, want, now } = ask
    const rest = { dryRun: want === 0, deadline: MOMENT.deadline }
    const asked = newTransaction([rule], [value], Math.max(1, want), MOMENT.now, rest)
    const answer = this.decide(asked)
    const lease = { rule, value, grantedAt: now, endsAt: now, period: 0, birth: 0, run: 0 }
    answered({ granted: want, lease, out: want, answer })
  }
}

function world() {
  const inner = new GrantingStore()
  const store = new ShardedStore(inner, { timers: new Deadlines(), random: seeded(3) })
  const lease = (ask: Partial<LeaseAsk>) => {
    const replies: LeaseReply[] = []
    store.lease(
      { rule: hot, value: 'ada', reports: [], want: 0, ...MOMENT, ...ask },
      (reply) => replies.push(reply),
      (failure) => {
        throw failure
      },
    )
    return replies
  }
  return { inner, store, lease }
}

it('a rule without shards leases as it is', () => {
  const { inner, lease } = world()
  expect(lease({ rule: cold, want: 3 })).toHaveLength(1)
  expect(inner.asks[0]!.rule).toBe(cold)
})

it('a want goes to one shard, whose rule the lease is of, and is answered with what is left of all', () => {
  const { lease } = world()
  let left = 80
  const shards = new Set<number>()
  for (let i = 0; i < 40; i++) {
    const [{ lease: granted, answer }] = lease({ want: 1 }) as [LeaseReply]
    expect(answer.transaction.rules).toEqual([hot])
    expect(granted.rule.whole).toBe(hot)
    shards.add(granted.rule.family.shard)
    left -= 1
    expect(answer.difference(0)).toBe(left)
    expect(readMark(answer.markRest(0))).toMatchObject({
      shard: granted.rule.family.shard,
      count: 8,
    })
  }
  expect(shards.size).toBe(8)
})

it('a want of more than any shard holds goes to all shards alike', () => {
  const { inner, lease } = world()
  for (let i = 0; i < 80; i++) lease({ want: 11 })
  expect(new Set(inner.asks.map(({ rule }) => rule.family.shard)).size).toBe(8)
})

it('a want is answered with what is left of all shards, also by one that owes', () => {
  const { inner, lease } = world()
  const owing = new ShardRules().of(hot)!.shard(3)
  const limit = owing.limits[0]!
  inner.change([{ kind: 'charge', rule: owing, limit, value: 'ada', amount: 25 }], MOMENT)
  let reply: LeaseReply
  // It seems full until it is asked.
  do [reply] = lease({ want: 1 }) as [LeaseReply]
  while (reply.lease.rule.family.shard !== 3)
  const granted = inner.asks.length - 1
  expect(reply.answer.difference(0)).toBe(70 - granted)
  expect(reply.answer.surplus(0)).toBe(15)
})

it('reports go to the shards that they are of: with the want where they meet, else besides', () => {
  const { inner, lease } = world()
  const leases: Lease[] = []
  for (let i = 0; i < 12; i++) leases.push(lease({ want: 2 })[0]!.lease)
  inner.asks.length = 0
  const reports = leases.map((each) => ({ lease: each, spent: 1, back: 1 }))
  expect(lease({ want: 2, reports })).toHaveLength(1)
  const told = inner.asks.flatMap((ask) => ask.reports.map((report) => [ask.rule, report] as const))
  expect(told).toHaveLength(12)
  for (const [rule, report] of told) expect(rule).toBe(report.lease.rule)
  expect(inner.asks.filter(({ want }) => want > 0)).toHaveLength(1)
  expect(new Set(inner.asks.map(({ rule }) => rule)).size).toBe(inner.asks.length)
})

it('a report alone asks for no shard but its own', () => {
  const { inner, lease } = world()
  const own = lease({ want: 2 })[0]!.lease
  inner.asks.length = 0
  for (let i = 0; i < 10; i++)
    expect(lease({ reports: [{ lease: own, spent: 2, back: 0 }] })).toHaveLength(1)
  expect(new Set(inner.asks.map(({ rule }) => rule))).toEqual(new Set([own.rule]))
})

it('what was told in parts is never said to be untold, because it would be told again', () => {
  const { inner, store, lease } = world()
  const leases: Lease[] = []
  for (let i = 0; i < 12; i++) leases.push(lease({ want: 2 })[0]!.lease)
  inner.isAway = true
  const reports = leases.map((each) => ({ lease: each, spent: 1, back: 1 }))
  const failures: StoreFailure[] = []
  const fail = (some: typeof reports) =>
    store.lease(
      { rule: hot, value: 'ada', want: 0, ...MOMENT, reports: some },
      () => expect.unreachable(),
      (failure) => failures.push(failure),
    )
  fail(reports)
  fail(reports.slice(0, 1))
  expect(failures.map(({ undone }): NotConfirmed => undone)).toEqual(['unknown', 'not_done'])
})
