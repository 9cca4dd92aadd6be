/** Leases of a rule in shards: the want goes to one shard, each report to the one that its lease is of. */

import type { CompiledRule } from '../../rules/compiled-rule.js'
import type { LeaseAnswer, LeaseAsk, LeasePort, LeaseReport } from '../leased/lease-port.js'
import { StoreFailure } from '../store.js'
import type { Places } from './place.js'
import { present } from './presented.js'
import type { ShardedRule } from './sharded-rule.js'

export function leaseFromShards(
  inner: LeasePort,
  places: Places,
  rule: ShardedRule,
  ask: LeaseAsk,
  answered: (answer: LeaseAnswer) => void,
  failed: (failure: StoreFailure) => void,
): void {
  const { value, want, now } = ask
  const reports = new Map<CompiledRule, LeaseReport[]>()
  for (const report of ask.reports) {
    const { rule: own } = report.lease
    reports.set(own, [...(reports.get(own) ?? []), report])
  }
  const place = places.single(rule, value, want, now)
  // A report without a want needs no shard but its own.
  const [reported] = want === 0 ? reports.keys() : []
  const asked = reported ?? rule.shard(place.shard)
  const own = reports.get(asked) ?? []
  reports.delete(asked)
  for (const [other, list] of reports) tell(inner, other, list, ask)
  // Some of it was told, maybe: whoever reports must not repeat any.
  const isSplit = reports.size > 0
  const shard = asked.family.shard
  inner.lease(
    { ...ask, rule: asked, reports: own },
    (answer) => {
      const { granted, verdicts } = answer
      const taken = { ...place, shard, cost: Math.max(1, granted) }
      if (asked === rule.shard(shard)) {
        places.note([taken], now, verdicts)
        // A want is no request: what the other shards have is left, although this one had nothing for it.
        present([{ ...taken, cost: Number.POSITIVE_INFINITY }], verdicts)
      }
      answered(answer)
    },
    (failure) => {
      const { reason, mayHaveRun, cause } = failure
      failed(new StoreFailure(reason, mayHaveRun || isSplit, cause))
    },
  )
}

/** Not waited for: if it is lost, the lease counts as spent. */
function tell(
  inner: LeasePort,
  rule: CompiledRule,
  reports: readonly LeaseReport[],
  ask: LeaseAsk,
): void {
  const nothing = () => {}
  inner.lease({ ...ask, rule, reports, want: 0 }, nothing, nothing)
}
