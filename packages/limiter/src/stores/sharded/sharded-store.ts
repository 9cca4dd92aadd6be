/**
 * Rules in shards over a store whose rows each have one place: the load of one hot row on several of them.
 * Each shard is a row with its part of every limit, so whatever the choice, no more is admitted than the
 * limit; choosing well is what keeps anything from being stranded. Rules without shards pass through.
 */
import type { CompiledRule } from '../../rules/compiled-rule.js'
import type { RuleSet } from '../../rules/rule-set.js'
import type { Slices } from '../../slices.js'
import type { Answer } from '../answer.js'
import { deadlineFrom, type Timers } from '../deadlines.js'
import type { LeaseAsk, LeaseReply, LeaseReport, LeasingStore } from '../leasing.js'
import { type Changed, givingBack, type Operation } from '../operation.js'
import { type Awaitable, StoreFailure } from '../store.js'
import { type Moment, type Transaction, withParts } from '../transaction.js'
import { LevelBook } from './row-levels.js'
import { asWholeRule, ShardLook, wholeOf } from './shard-answers.js'
import { ShardChanges } from './shard-changes.js'
import { type Random, type ShardChoice, ShardChooser } from './shard-choice.js'
import { hasShards, type ShardedRule, ShardRules } from './sharded-rule.js'

/** How many more shards are asked where the first denies. */
const MOST_MORE = 2

export interface ShardedStoreOptions {
  /** They end a transaction at its deadline, however many shards it asks. */
  readonly timers: Timers
  readonly random?: Random
  /** The store's time at this instance's time, as far as is known; the same unless given. */
  readonly storeTime?: (now: number) => number
}

export class ShardedStore implements LeasingStore {
  readonly isSync = false
  readonly #inner: LeasingStore
  readonly #timers: Timers
  readonly #rules = new ShardRules()
  readonly #chooser: ShardChooser
  readonly #look: ShardLook
  readonly #changes: ShardChanges

  constructor(
    inner: LeasingStore,
    { timers, random = Math.random, storeTime }: ShardedStoreOptions,
  ) {
    this.#inner = inner
    this.#timers = timers
    this.#chooser = new ShardChooser(this.#rules, new LevelBook(), random, storeTime)
    this.#look = new ShardLook(inner, this.#chooser)
    this.#changes = new ShardChanges(inner, this.#rules, this.#look)
  }

  decide(transaction: Transaction): Awaitable<Answer> {
    if (!hasShards(transaction.rules)) return this.#inner.decide(transaction)
    const choices = this.#chooser.of(transaction)
    if (choices.length === 0) return this.#inner.decide(transaction)
    return transaction.dryRun
      ? this.#look.answer(transaction, choices)
      : this.#take(transaction, choices)
  }

  async #take(transaction: Transaction, chosen: readonly ShardChoice[]): Promise<Answer> {
    let choices = chosen
    let answer = await this.#ask(transaction, choices)
    for (let more = 0; more < MOST_MORE && !answer.allowed; more++) {
      const others = this.#chooser.elsewhere(choices, answer, transaction.now)
      if (others === null) break
      const next = await this.#askInTime(transaction, others)
      // Without an answer in time, or with a no by failure mode, the first no stands.
      if (next === null || (next.isDegraded && !next.allowed)) break
      choices = others
      answer = next
    }
    return asWholeRule(answer, transaction, choices)
  }

  /** Asks these shards, and learns from the answer. `late`: see Transaction. */
  async #ask(
    transaction: Transaction,
    choices: readonly ShardChoice[],
    late: Transaction['late'] = transaction.late,
  ): Promise<Answer> {
    const rules = [...transaction.rules]
    for (const { index, rule, levels, shard, cost } of choices) {
      rules[index] = rule.shard(shard)
      levels.expect(shard, cost)
    }
    const answer = await this.#inner.decide(withParts(transaction, { rules, late }))
    if (!answer.isReplay) this.#chooser.note(choices, answer)
    return answer
  }

  /** The same, or null if there is no answer by the deadline; what is taken later is given back. */
  #askInTime(transaction: Transaction, choices: readonly ShardChoice[]): Promise<Answer | null> {
    return new Promise((resolve) => {
      let isOver = false
      const deadline = this.#timers.deadline(transaction.deadline, () => {
        isOver = true
        resolve(null)
      })
      const giveBack = (answer: Answer) => {
        // A take under a key stays: its record answers when the request is repeated.
        if (transaction.idempotency === null) this.#giveBack(answer).catch(() => {})
      }
      const answered = (answer: Answer | null) => {
        deadline.meet()
        if (!isOver) resolve(answer)
        else if (answer !== null) giveBack(answer)
      }
      // What fails is as if it had not been asked.
      this.#ask(transaction, choices, giveBack).then(answered, () => answered(null))
    })
  }

  async #giveBack(answer: Answer): Promise<void> {
    const { now } = answer.transaction
    const operations = givingBack(answer)
    if (operations.length > 0)
      await this.#inner.change(operations, { now, deadline: deadlineFrom(this.#timers) })
  }

  change(operations: readonly Operation[], moment: Moment): Awaitable<readonly Changed[]> {
    return this.#changes.change(operations, moment)
  }

  lease(
    ask: LeaseAsk,
    answered: (reply: LeaseReply) => void,
    failed: (failure: StoreFailure) => void,
  ): void {
    const rule = this.#rules.of(ask.rule)
    if (rule === null) this.#inner.lease(ask, answered, failed)
    else this.#leaseShard(rule, ask, answered, failed)
  }

  /** The tokens come from one shard; each report goes to the shard that its lease is of. */
  #leaseShard(
    rule: ShardedRule,
    ask: LeaseAsk,
    answered: (reply: LeaseReply) => void,
    failed: (failure: StoreFailure) => void,
  ): void {
    const { value, want, now } = ask
    const reports = new Map<CompiledRule, LeaseReport[]>()
    for (const report of ask.reports) {
      const { rule: own } = report.lease
      reports.set(own, [...(reports.get(own) ?? []), report])
    }
    // Chosen as for one token: a shard that holds less than is wanted grants a part of it.
    const choice = this.#chooser.one(rule, value, 1, now)
    // Without a want only the shards of the reports are asked.
    const [reported] = want === 0 ? reports.keys() : []
    const asked = reported ?? rule.shard(choice.shard)
    const own = reports.get(asked) ?? []
    reports.delete(asked)
    for (const [other, list] of reports) this.#report(other, list, ask)
    // Other shards may have got their reports: then a failure is unknown, and nothing is repeated.
    const isSplit = reports.size > 0
    const { shard } = asked.family
    this.#inner.lease(
      { ...ask, rule: asked, reports: own },
      (reply) => {
        if (asked !== rule.shard(shard)) return answered(reply)
        const taken = { ...choice, shard, cost: Math.max(1, reply.granted) }
        this.#chooser.note([taken], reply.answer)
        // A want is no request: what the other shards have is left, although this one had nothing for it.
        const whole = { ...taken, cost: Number.POSITIVE_INFINITY }
        const answer = asWholeRule(reply.answer, wholeOf(reply.answer.transaction), [whole])
        answered({ ...reply, answer })
      },
      ({ reason, undone, cause }) =>
        failed(new StoreFailure(reason, isSplit ? 'unknown' : undone, cause)),
    )
  }

  /** Not waited for: if it is lost, the lease counts as spent. */
  #report(rule: CompiledRule, reports: readonly LeaseReport[], ask: LeaseAsk): void {
    const nothing = () => {}
    this.#inner.lease({ ...ask, rule, reports, want: 0 }, nothing, nothing)
  }

  use(rules: RuleSet): Slices<void> | void {
    this.#rules.use(rules)
    return this.#inner.use(rules)
  }

  close(): Awaitable<void> {
    return this.#inner.close()
  }
}
