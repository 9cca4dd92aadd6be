/** What is counted, in Prometheus's words: made when it is asked for, from numbers that are kept anyway. */
import type { LeaseReading } from '@sluice/limiter/redis'
import { DEGRADED_REASONS } from '@sluice/limiter/transport'
import { collectDefaultMetrics, type Metric, Registry } from 'prom-client'
import { BUCKETS, type Histogram, type Meter } from './meter.js'
import { METRICS, type MetricName } from './metric-table.js'

type Labels = Record<string, string | number>
interface Value {
  readonly labels: Labels
  readonly value: number
  readonly metricName?: string
}

/** How the store is doing, where it is one that can be away. */
export interface StoreReading {
  readonly breaker: string
  /** Nodes of a cluster whose breaker is not closed. */
  readonly nodesAway: readonly string[]
  readonly clockAheadMs: number | null
  readonly durations: ReadonlyMap<string, Histogram>
  readonly errors: ReadonlyMap<string, number>
  readonly leases: LeaseReading
}

/** What usage says of itself where it is sent, or stored. */
export interface UsageReading {
  /** Decisions whose counts are lost. */
  readonly lost: number
  readonly lagMs: number
}

/** How the rules come here, where they come from a control plane, and what is told back. */
export interface SupplyReading {
  readonly feed: { readonly lag: number; readonly isAway: boolean } | null
  readonly planes: readonly {
    readonly instance: string
    readonly host: string
    readonly revision: number
    readonly lag: number
    readonly isOlder: boolean
  }[]
  /** Null: there is none. */
  readonly isDatabaseAway: boolean | null
  /** Where usage is counted, and where it is stored. */
  readonly usage: { readonly instance?: UsageReading; readonly control?: UsageReading }
}

/** Everything that is read when metrics are asked for. */
export interface Readings {
  readonly meter: Meter
  readonly version: string
  readonly revision: () => number
  readonly connections: () => number
  readonly supply: () => SupplyReading
  readonly store: () => StoreReading | null
  /** How often the clock that decides stepped back by more than a minute. */
  readonly clockStepsBack: () => number
  /** Keys and bytes of the counters in memory; null where they are elsewhere. */
  readonly memory: () => { keys: number; bytes: number; evicted: number } | null
  /** The hottest row of each of the hottest rules. */
  readonly hot: () => readonly { namespace: string; rule: string; perSecond: number }[]
  /** Errors of GET /v1/auth by code. */
  readonly authErrors: () => ReadonlyMap<string, number>
}

/** Gauges that are named like counters, which Prometheus's own check refuses. */
const MISNAMED = ['handles', 'requests', 'resources'].map((what) => `nodejs_active_${what}_total`)

const BREAKER_STATES = ['closed', 'open', 'half_open']

export function metricsOf(readings: Readings): Registry {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  for (const name of MISNAMED) registry.removeSingleMetric(name)
  const add: Add = (name, read) => {
    const { type, help } = METRICS[name]
    const metric = {
      name: `sluice_${name}`,
      get: async () => ({
        name: `sluice_${name}`,
        help,
        type,
        aggregator: 'sum',
        values: [...read()],
      }),
      reset() {},
    }
    registry.registerMetric(metric as unknown as Metric)
  }
  const { meter } = readings
  const one = (value: number, labels: Labels = {}): Value[] => [{ labels, value }]

  add('build_info', () => one(1, { version: readings.version, node: process.version }))
  add('rules_revision', () => one(readings.revision()))
  add('decisions_total', function* () {
    for (const { count, namespace, rule, scope, outcome } of meter.decisions())
      yield { labels: { namespace, rule, scope, outcome }, value: count }
  })
  add('degraded_decisions_total', () =>
    DEGRADED_REASONS.map((reason, i) => ({ labels: { reason }, value: meter.degraded[i]! })),
  )
  add('rule_peak_use_ratio', function* () {
    for (const { namespace, rule, ratio } of meter.peaks(Date.now()))
      yield { labels: { namespace, rule }, value: ratio }
  })
  add('hottest_row_per_second', () =>
    readings.hot().map(({ namespace, rule, perSecond }) => ({
      labels: { namespace, rule },
      value: perSecond,
    })),
  )
  add('decision_duration_seconds', () =>
    histograms('sluice_decision_duration_seconds', 'transport', meter.durations),
  )
  add('auth_errors_total', () =>
    [...readings.authErrors()].map(([code, value]) => ({ labels: { code }, value })),
  )
  add('connections', () => one(readings.connections()))
  const memory = (pick: 'keys' | 'bytes' | 'evicted') => () => {
    const size = readings.memory()
    return size === null ? [] : one(size[pick])
  }
  add('memory_keys', memory('keys'))
  add('memory_bytes', memory('bytes'))
  add('memory_evicted_total', memory('evicted'))
  addStore(add, readings)
  addSupply(add, readings)
  return registry
}

type Add = (name: MetricName, read: () => Iterable<Value>) => void

function addStore(add: Add, readings: Readings): void {
  add('store_duration_seconds', () => {
    const store = readings.store()
    if (store === null) return []
    return histograms('sluice_store_duration_seconds', 'operation', store.durations)
  })
  add('store_errors_total', () =>
    [...(readings.store()?.errors ?? [])].map(([kind, value]) => ({ labels: { kind }, value })),
  )
  addLeases(add, readings)
  add('breaker_state', () => {
    const store = readings.store()
    if (store === null) return []
    return BREAKER_STATES.map((state) => ({
      labels: { state },
      value: Number(store.breaker.replace('-', '_') === state),
    }))
  })
  add('breaker_nodes_away', () =>
    (readings.store()?.nodesAway ?? []).map((node) => ({ labels: { node }, value: 1 })),
  )
  add('clock_steps_back_total', () => [{ labels: {}, value: readings.clockStepsBack() }])
  add('clock_offset_seconds', () => {
    const ahead = readings.store()?.clockAheadMs ?? null
    return ahead === null ? [] : [{ labels: {}, value: ahead / 1000 }]
  })
}

function addLeases(add: Add, { store }: Readings): void {
  const of = (name: MetricName, read: (leases: LeaseReading) => Value[]) =>
    add(name, () => {
      const reading = store()
      return reading === null ? [] : read(reading.leases)
    })
  const one = (value: number, labels: Labels = {}): Value => ({ labels, value })
  of('store_calls_total', ({ calls }) => [one(calls)])
  of('lease_tokens_total', ({ tokens }) =>
    Object.entries(tokens).map(([event, count]) => one(count, { event })),
  )
  of('lease_decisions_total', ({ local, asked }) => [
    one(local, { from: 'memory' }),
    one(asked, { from: 'store' }),
  ])
  of('lease_empty_total', ({ empty }) => [one(empty)])
  of('lease_rows', ({ rows }) => [one(rows)])
}

function addSupply(add: Add, { supply }: Readings): void {
  const one = (value: number | undefined | null): Value[] =>
    value === undefined || value === null ? [] : [{ labels: {}, value }]
  const yes = (is: boolean | undefined | null) => one(is === undefined || is === null ? null : +is)
  add('feed_lag_seconds', () => one(supply().feed?.lag))
  add('feed_away', () => yes(supply().feed?.isAway))
  add('database_away', () => yes(supply().isDatabaseAway))
  const usage = (pick: (reading: UsageReading) => number) => () =>
    Object.entries(supply().usage).map(([where, reading]) => ({
      labels: { where },
      value: pick(reading),
    }))
  add(
    'usage_lost_total',
    usage(({ lost }) => lost),
  )
  add(
    'usage_lag_seconds',
    usage(({ lagMs }) => lagMs / 1000),
  )
  const planes = (pick: 'revision' | 'lag') => () =>
    supply().planes.map(({ instance, host, ...plane }) => ({
      labels: { instance, host },
      value: plane[pick],
    }))
  add('plane_revision', planes('revision'))
  add('plane_lag_seconds', planes('lag'))
  add('plane_older', () =>
    supply().planes.map(({ instance, host, isOlder }) => ({
      labels: { instance, host },
      value: isOlder ? 1 : 0,
    })),
  )
}

function* histograms(
  name: string,
  label: string,
  all: ReadonlyMap<string, Histogram>,
): IterableIterator<Value> {
  for (const [key, { counts, sum }] of all) {
    let count = 0
    for (const [i, bound] of [...BUCKETS, '+Inf'].entries()) {
      count += counts[i]!
      yield { labels: { [label]: key, le: bound }, value: count, metricName: `${name}_bucket` }
    }
    yield { labels: { [label]: key }, value: sum, metricName: `${name}_sum` }
    yield { labels: { [label]: key }, value: count, metricName: `${name}_count` }
  }
}
