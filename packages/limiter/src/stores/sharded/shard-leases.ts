/** Leases of a rule in shards: the want goes to one shard, each report to the one that its lease is of. */
import type { CompiledRule } from '../../rules/compiled-rule.js'
import type { LeaseAsk, LeaseReply, LeaseReport, LeasingStore } from '../leasing.js'
import { StoreFailure } from '../store.js'
import { presented, wholeOf } from './shard-answers.js'
import type { ShardChooser } from './shard-choice.js'
import type { ShardedRule } from './sharded-rule.js'

type Answered = (reply: LeaseReply) => void
type Failed = (failure: StoreFailure) => void

export class ShardLeases {
  readonly #inner: LeasingStore
  readonly #chooser: ShardChooser

  constructor(inner: LeasingStore, chooser: ShardChooser) {
    this.#inner = inner
    this.#chooser = chooser
  }

  lease(rule: ShardedRule, ask: LeaseAsk, answered: Answered, failed: Failed): void {
    const { value, want, now } = ask
    const reports = new Map<CompiledRule, LeaseReport[]>()
    for (const report of ask.reports) {
      const { rule: own } = report.lease
      reports.set(own, [...(reports.get(own) ?? []), report])
    }
    const choice = this.#chooser.one(rule, value, want, now)
    // A report without a want needs no shard but its own.
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
        const answer = presented(reply.answer, wholeOf(reply.answer.transaction), [whole])
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
}
