/** The guard over a store that does what the test says. */
import { beforeEach, describe, expect, it } from 'vitest'
import { type CompiledRule, type Family } from '../../rules/compiled-rule.js'
import { RuleSet } from '../../rules/rule-set.js'
import { Answer } from '../answer.js'
import { LastSeenRows } from '../last-seen-rows.js'
import type { Changed, Operation } from '../operation.js'
import type { Beat, DecisionCallbacks, HearCalls, RemoteStore } from '../remote-store.js'
import { StoreFailure } from '../store.js'
import { newTransaction, type Transaction } from '../transaction.js'
import { GuardedStore } from './guarded-store.js'
import { Instances } from './heartbeat.js'
import { LocalFallback } from './local-fallback.js'

const START = 1_790_000_000_000_000
const RULES = RuleSet.compile({
  rules: { one: { scope: 'user', limits: '10/d' }, other: { scope: 'org', limits: '10/d' } },
})
const [ONE, OTHER] = RULES.all as [CompiledRule, CompiledRule]

class ScriptedStore implements RemoteStore {
  readonly isSync = false
  readonly nodes = ['a', 'b']
  hear: HearCalls = { started() {}, ended() {} }
  isAway = false
  /** What changes are answered with; a number: that is done. */
  outcome: Changed = 1
  /** The operations of each change. */
  readonly changes: (readonly Operation[])[] = []
  decided = 0

  ask(transaction: Transaction, callbacks: DecisionCallbacks): void {
    this.decide(transaction).then(
      (answer) => callbacks.answered(answer),
      (error) => callbacks.failed(error),
    )
  }

  async decide(transaction: Transaction): Promise<Answer> {
    this.decided++
    if (this.isAway) throw new StoreFailure('store_unreachable', 'not_done')
    const answer = Answer.open(transaction, transaction.now, true)
    for (let limit = 0; limit < answer.size; limit++) answer.setNothing(limit, 0, transaction.now)
    return answer
  }

  async change(operations: readonly Operation[]): Promise<Changed[]> {
    this.changes.push(operations)
    return operations.map(() => this.outcome)
  }

  nodeOf({ scope }: Family): string {
    return scope === 'user' ? 'a' : 'b'
  }

  nodesOf({ rules }: Transaction): string[] {
    return rules.map(({ family }) => this.nodeOf(family))
  }

  /** A call of that node. */
  call(node: string, outcome: 'answered' | 'failed'): void {
    this.hear.started({ node, isBeat: false })
    this.hear.ended({ node, isBeat: false, outcome, ms: 1 })
  }

  beat(): Beat {
    return { node: 'a', count: Promise.resolve(1) }
  }

  onCall(hear: HearCalls): void {
    this.hear = hear
  }

  onReconnect(): () => void {
    return () => {}
  }

  findOwners(): void {}
  lease(): void {}
  use(): void {}
  close(): void {}
}

let below: ScriptedStore
let guarded: GuardedStore
let nowMs = 0

beforeEach(() => {
  below = new ScriptedStore()
  const instances = new Instances(1)
  const lastSeen = new LastSeenRows()
  guarded = new GuardedStore({
    inner: below,
    local: new LocalFallback({ lastSeen, instances, storeTime: (us) => us }),
    instances,
    deadlineMs: 100,
    now: () => nowMs,
  })
})

function check(rules: readonly CompiledRule[] = [ONE]): Promise<Answer> {
  const values = rules.map(() => 'ada')
  return Promise.resolve(guarded.decide(newTransaction(rules, values, 1, START)))
}

/** The amounts of the reports that were sent since the last look. */
function reported(): number[] {
  return below.changes.splice(0).flatMap((operations) =>
    operations.map((operation) => {
      if (operation.kind !== 'raise') throw new Error(`a ${operation.kind} is no report`)
      return operation.amount
    }),
  )
}

/** Lets what was not waited for run. */
const settle = () => new Promise((resolve) => setImmediate(resolve))

async function useHere(times: number): Promise<void> {
  below.isAway = true
  for (let i = 0; i < times; i++) expect((await check()).isDegraded).toBe(true)
  below.isAway = false
  below.changes.length = 0
}

describe('what was used while the store was away', () => {
  it('is reported once, with the next request', async () => {
    await useHere(3)
    for (let i = 0; i < 3; i++) {
      expect((await check()).isDegraded).toBe(false)
      await settle()
    }
    expect(reported()).toEqual([3])
  })

  it.each(['unknown', 'not_done'] as const)('is reported again after %s', async (outcome) => {
    await useHere(3)
    below.outcome = outcome
    await check()
    await settle()
    expect(reported()).toEqual([3])
    below.outcome = 1
    for (let i = 0; i < 3; i++) {
      await check()
      await settle()
    }
    expect(reported()).toEqual([3])
  })

  it('is counted on where the report was confirmed and the request was not answered', async () => {
    await useHere(3)
    below.isAway = true
    expect((await check()).difference(0)).toBe(6)
    await settle()
    expect(reported()).toEqual([3])
    below.isAway = false
    await check()
    await settle()
    expect(reported()).toEqual([4])
  })

  it('is gone after a reset that the store has done', async () => {
    await useHere(3)
    const reset = { kind: 'reset', family: ONE.family, value: 'ada' } as const
    expect(await guarded.change([reset], { now: START, deadline: 100 })).toEqual([1])
    below.isAway = true
    expect((await check()).difference(0)).toBe(9)
  })

  it('is counted from nothing in the next outage once the store has confirmed it', async () => {
    await useHere(3)
    await check()
    await settle()
    below.isAway = true
    expect((await check()).difference(0)).toBe(9)
  })
})

describe('a node that is back', () => {
  it('is asked by 16 calls at a time at first, and by twice as many every 100 ms', async () => {
    for (let i = 0; i < 5; i++) below.call('b', 'failed')
    nowMs += 1000
    for (let i = 0; i < 2; i++) {
      await check([OTHER])
      below.call('b', 'answered')
    }
    const reasons = async (calls: number) => {
      const answers = Array.from({ length: calls }, () => {
        const answer = check([OTHER])
        below.hear.started({ node: 'b', isBeat: false })
        return answer
      })
      return (await Promise.all(answers)).map(({ degradedReason }) => degradedReason)
    }
    // After the first 100 ms all rows are back.
    nowMs += 150
    const after150 = await reasons(40)
    expect(after150.filter((reason) => reason === null)).toHaveLength(32)
    expect(after150.at(-1)).toBe('store_returning')
  })
})

describe('a probe of a node whose breaker is half-open', () => {
  it('is for the next request if the first was answered without that node', async () => {
    for (let i = 0; i < 5; i++) below.call('b', 'failed')
    expect((await check([ONE, OTHER])).degradedReason).toBe('breaker_open')
    nowMs += 1000
    // As a key's record on node a answers a repeated request.
    expect((await check([ONE, OTHER])).isDegraded).toBe(false)
    expect((await check([OTHER])).isDegraded).toBe(false)
    expect(below.decided).toBe(2)
  })

  it('stays the request that was admitted, though a change is refused or another request is answered meanwhile', async () => {
    for (let i = 0; i < 5; i++) below.call('b', 'failed')
    nowMs += 1000
    const inTurn: (() => void)[] = []
    below.ask = (transaction, callbacks) => {
      inTurn.push(() => callbacks.answered(Answer.open(transaction, START, true)))
    }
    const both = check([ONE, OTHER])
    below.call('b', 'answered')
    // The next probe, which was not sent yet.
    void check([OTHER])
    const reset = { kind: 'reset', family: OTHER.family, value: 'ada' } as const
    expect(await guarded.change([reset], { now: START, deadline: 100 })).toEqual(['not_done'])
    expect((await check([OTHER])).degradedReason).toBe('breaker_open')
    inTurn[0]!()
    expect((await both).isDegraded).toBe(false)
    expect((await check([OTHER])).degradedReason).toBe('breaker_open')
  })

  it('is neither a dry run nor a lease', async () => {
    for (let i = 0; i < 5; i++) below.call('b', 'failed')
    nowMs += 1000
    const look = newTransaction([OTHER], ['ada'], 1, START, { dryRun: true })
    expect((await guarded.decide(look)).degradedReason).toBe('breaker_open')
    const failure = await new Promise<StoreFailure>((resolve) => {
      const ask = { rule: OTHER, value: 'ada', reports: [], want: 5, now: START, deadline: 100 }
      guarded.lease(ask, () => {}, resolve)
    })
    expect(failure).toMatchObject({ reason: 'breaker_open', undone: 'not_done' })
    expect(below.decided).toBe(0)
    expect((await check([OTHER])).isDegraded).toBe(false)
  })

  it('is not sent while a heartbeat of that node is unanswered', async () => {
    for (let i = 0; i < 5; i++) below.call('b', 'failed')
    nowMs += 1000
    below.hear.started({ node: 'b', isBeat: true })
    expect((await check([OTHER])).degradedReason).toBe('breaker_open')
    below.hear.ended({ node: 'b', isBeat: true, outcome: 'failed', ms: 1000 })
    expect((await check([OTHER])).isDegraded).toBe(false)
  })

  it('is not for the next request while a call of that node is on its way', async () => {
    for (let i = 0; i < 5; i++) below.call('b', 'failed')
    nowMs += 1000
    below.decide = async (transaction) => {
      below.hear.started({ node: 'b', isBeat: false })
      return Answer.open(transaction, START, true)
    }
    await check([OTHER])
    expect((await check([OTHER])).degradedReason).toBe('breaker_open')
  })
})

it('a hold that was taken while the store was away is renewed here, and the store is not asked', async () => {
  const rules = RuleSet.compile({
    rules: { held: { scope: 'user', limits: '5 concurrent for 60s' } },
  })
  const [rule] = rules.all as [CompiledRule]
  below.isAway = true
  await guarded.decide(newTransaction([rule], ['ada'], 1, START, { holdId: 'a' }))
  // The store knows nothing of it.
  below.outcome = 0
  const renewal = { kind: 'renew', rule, value: 'ada', holdId: 'a', isLocal: true } as const
  const changed = await guarded.change([renewal], { now: START, deadline: 100 })
  expect(changed).toEqual([START + 60_000_000])
  expect(below.changes.flat()).toEqual([])
})
