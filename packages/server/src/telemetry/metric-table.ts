/** The metrics by name, without the `sluice_` that all of them start with: for the registry and the reference. */
interface MetricEntry {
  readonly type: 'counter' | 'gauge' | 'histogram'
  readonly labels: readonly string[]
  readonly help: string
}

export const METRICS = {
  build_info: { type: 'gauge', labels: ['version', 'node'], help: 'The version that runs.' },
  rules_revision: {
    type: 'gauge',
    labels: [],
    help: 'Counts the changes of rules since the start.',
  },
  decisions_total: {
    type: 'counter',
    labels: ['namespace', 'rule', 'scope', 'outcome'],
    help: 'Decisions by the rule that decided and how.',
  },
  degraded_decisions_total: {
    type: 'counter',
    labels: ['reason'],
    help: 'Decisions without the store.',
  },
  rule_peak_use_ratio: {
    type: 'gauge',
    labels: ['rule'],
    help: 'How full the fullest subject of a rule was within the last two minutes.',
  },
  decision_duration_seconds: {
    type: 'histogram',
    labels: ['transport'],
    help: 'From the request read to its answer.',
  },
  connections: { type: 'gauge', labels: [], help: 'Open connections.' },
  memory_keys: { type: 'gauge', labels: [], help: 'Counters that are kept in memory.' },
  memory_bytes: { type: 'gauge', labels: [], help: 'What the counters in memory take.' },
  memory_evicted_total: { type: 'counter', labels: [], help: 'Counters that had to go.' },
  store_duration_seconds: {
    type: 'histogram',
    labels: ['operation'],
    help: 'Calls of the store.',
  },
  store_errors_total: {
    type: 'counter',
    labels: ['kind'],
    help: 'Calls of the store that failed, by kind.',
  },
  breaker_state: {
    type: 'gauge',
    labels: ['state'],
    help: '1 for the state that the breaker is in.',
  },
  clock_offset_seconds: {
    type: 'gauge',
    labels: [],
    help: "How far the store's clock is ahead.",
  },
} as const satisfies Record<string, MetricEntry>

export type MetricName = keyof typeof METRICS
