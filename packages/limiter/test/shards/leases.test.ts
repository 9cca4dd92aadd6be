/** Leases of a rule in shards: each report goes to its lease's shard, the want to the fuller of two. */
import { expect, it } from 'vitest'
import { REMAINING } from '../../src/algorithms/verdict.js'
import { MemoryStore, RuleSet } from '../../src/index.js'
import type { CompiledRule } from '../../src/rules/compiled-rule.js'
import type { Lease, LeaseAnswer, LeaseAsk, LeasePort } from '../../src/stores/leased/lease-port.js'
import { readMark } from '../../src/stores/sharded/shard-mark.js'
import { ShardRules } from '../../src/stores/sharded/sharded-rule.js'
import { ShardedStore } from '../../src/stores/sharded/sharded-store.js'
import { FIRST_VERDICT, StoreFailure, type Transaction } from '../../src/stores/store.js'
import { surplusAt } from '../../src/stores/surplus.js'
import { seeded } from './over-memory.js'

const NOW = 1_790_000_000_000_000
const rules = RuleSet.compile({
  rules: {
    hot: { scope: 'user', limits: '80/h', shards: 8 },
    cold: { scope: 'org', limits: '80/h' },
  },
})
const [hot, cold] = [rules.named('hot')!, rules.named('cold')!]

/** Grants what is wanted by taking it, and keeps what it was asked. */
class LeasingStore extends MemoryStore implements LeasePort {
  readonly asks: LeaseAsk[] = []
  isAway = false

  lease(
    ask: LeaseAsk,
    answered: (answer: LeaseAnswer) => void,
    failed: (failure: StoreFailure) => void,
  ): void {
    this.asks.push(ask)
    if (this.isAway) return failed(new StoreFailure('breaker_open', false))
    const { rule, value, want, now } = ask
    const verdicts = this.consume(takeOf(rule, value, Math.max(1, want), want === 0))
    const lease = { rule, value, grantedAt: now, endsAt: now, period: 0, birth: 0, run: 0 }
    answered({ granted: want, lease, out: want, verdicts })
  }
}

function takeOf(rule: CompiledRule, value: string, cost: number, dryRun: boolean): Transaction {
  const nothing = { holdId: '', idempotency: null, replayOf: null }
  return { rules: [rule], values: [value], costs: null, cost, dryRun, now: NOW, ...nothing }
}

function world() {
  const inner = new LeasingStore()
  const store = new ShardedStore(inner, { deadlineMs: 1000, random: seeded(3) })
  const lease = (ask: Partial<LeaseAsk>) => {
    const answers: LeaseAnswer[] = []
    const whole = { rule: hot, value: 'ada', reports: [], want: 0, now: NOW, ...ask }
    store.lease(
      whole,
      (answer) => answers.push(answer),
      (failure) => {
        throw failure
      },
    )
    return answers
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
    const [{ lease: granted, verdicts }] = lease({ want: 1 }) as [LeaseAnswer]
    expect(granted.rule.whole).toBe(hot)
    shards.add(granted.rule.family.shard)
    left -= 1
    expect(verdicts[FIRST_VERDICT + 1]).toBe(left)
    expect(readMark(verdicts, FIRST_VERDICT)).toMatchObject({
      shard: granted.rule.family.shard,
      count: 8,
    })
  }
  expect(shards.size).toBe(8)
})

it('a want is answered with what is left of all shards, also by one that owes', () => {
  const { inner, lease } = world()
  const owing = new ShardRules().of(hot)!.shard(3)
  inner.charge([{ rule: owing, limit: owing.limits[0]!, value: 'ada', amount: 25 }], NOW)
  let answer: LeaseAnswer
  // It seems full until it is asked.
  do [answer] = lease({ want: 1 }) as [LeaseAnswer]
  while (answer.lease.rule.family.shard !== 3)
  const granted = inner.asks.length - 1
  expect(answer.verdicts[FIRST_VERDICT + REMAINING]).toBe(70 - granted)
  expect(surplusAt(answer.verdicts, FIRST_VERDICT)).toBe(15)
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
      { rule: hot, value: 'ada', want: 0, now: NOW, reports: some },
      () => expect.unreachable(),
      (failure) => failures.push(failure),
    )
  fail(reports)
  fail(reports.slice(0, 1))
  expect(failures.map(({ mayHaveRun }) => mayHaveRun)).toEqual([true, false])
})
