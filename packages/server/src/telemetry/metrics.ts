/** What is counted, in Prometheus's words: made when it is asked for, from numbers that are kept anyway. */
import { DEGRADED_REASONS } from '@sluice/limiter/transport'
import { collectDefaultMetrics, type Metric, Registry } from 'prom-client'
import { BUCKETS, type Histogram, type Meter } from './meter.js'

type Labels = Record<string, string | number>
interface Value {
  readonly labels: Labels
  readonly value: number
  readonly metricName?: string
}

/** How the store is doing, where it is one that can be away. */
export interface StoreReading {
  readonly breaker: string
  readonly clockAheadMs: number | null
  readonly durations: ReadonlyMap<string, Histogram>
  readonly errors: ReadonlyMap<string, number>
}

/** Everything that is read when metrics are asked for. */
export interface Readings {
  readonly meter: Meter
  readonly version: string
  readonly namespace: () => string
  readonly revision: () => number
  readonly connections: () => number
  readonly store: () => StoreReading | null
  /** Keys and bytes of the counters in memory; null where they are elsewhere. */
  readonly memory: () => { keys: number; bytes: number; evicted: number } | null
}

/** Gauges that are named like counters, which Prometheus's own check refuses. */
const MISNAMED = ['handles', 'requests', 'resources'].map((what) => `nodejs_active_${what}_total`)

const BREAKER_STATES = ['closed', 'open', 'half_open']

export function metricsOf(readings: Readings): Registry {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  for (const name of MISNAMED) registry.removeSingleMetric(name)
  const add = (
    type: 'counter' | 'gauge' | 'histogram',
    name: string,
    help: string,
    read: () => Iterable<Value>,
  ) => {
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

  add('gauge', 'build_info', 'The version that runs.', () =>
    one(1, { version: readings.version, node: process.version }),
  )
  add('gauge', 'rules_revision', 'Counts the changes of rules since the start.', () =>
    one(readings.revision()),
  )
  add('counter', 'decisions_total', 'Decisions by the rule that decided and how.', function* () {
    const namespace = readings.namespace()
    for (const { count, rule, scope, outcome } of meter.decisions())
      yield { labels: { namespace, rule, scope, outcome }, value: count }
  })
  add('counter', 'degraded_decisions_total', 'Decisions without the store.', () =>
    DEGRADED_REASONS.map((reason, i) => ({ labels: { reason }, value: meter.degraded[i]! })),
  )
  add(
    'gauge',
    'rule_peak_use_ratio',
    'How full the fullest subject of a rule was within the last two minutes.',
    function* () {
      for (const { rule, ratio } of meter.peaks(Date.now()))
        yield { labels: { rule }, value: ratio }
    },
  )
  add('histogram', 'decision_duration_seconds', 'From the request read to its answer.', () =>
    histograms('sluice_decision_duration_seconds', 'transport', meter.durations),
  )
  add('gauge', 'connections', 'Open connections.', () => one(readings.connections()))
  const memory = (pick: 'keys' | 'bytes' | 'evicted') => () => {
    const size = readings.memory()
    return size === null ? [] : one(size[pick])
  }
  add('gauge', 'memory_keys', 'Counters that are kept in memory.', memory('keys'))
  add('gauge', 'memory_bytes', 'What the counters in memory take.', memory('bytes'))
  add('counter', 'memory_evicted_total', 'Counters that had to go.', memory('evicted'))
  addStore(add, readings)
  return registry
}

type Add = (
  type: 'counter' | 'gauge' | 'histogram',
  name: string,
  help: string,
  read: () => Iterable<Value>,
) => void

function addStore(add: Add, readings: Readings): void {
  add('histogram', 'store_duration_seconds', 'Calls of the store.', () => {
    const store = readings.store()
    if (store === null) return []
    return histograms('sluice_store_duration_seconds', 'operation', store.durations)
  })
  add('counter', 'store_errors_total', 'Calls of the store that failed, by kind.', () =>
    [...(readings.store()?.errors ?? [])].map(([kind, value]) => ({ labels: { kind }, value })),
  )
  add('gauge', 'breaker_state', '1 for the state that the breaker is in.', () => {
    const store = readings.store()
    if (store === null) return []
    return BREAKER_STATES.map((state) => ({
      labels: { state },
      value: Number(store.breaker.replace('-', '_') === state),
    }))
  })
  add('gauge', 'clock_offset_seconds', "How far the store's clock is ahead.", () => {
    const ahead = readings.store()?.clockAheadMs ?? null
    return ahead === null ? [] : [{ labels: {}, value: ahead / 1000 }]
  })
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
