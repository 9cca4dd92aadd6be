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
    help: 'Of the rules in force: their revision in the database, or how often the file has changed.',
  },
  feed_lag_seconds: {
    type: 'gauge',
    labels: [],
    help: 'For how long there has been a newer revision than the one in force here.',
  },
  feed_away: {
    type: 'gauge',
    labels: [],
    help: '1 while the source of rules cannot be asked; the last known ones are in force.',
  },
  plane_revision: {
    type: 'gauge',
    labels: ['instance', 'host'],
    help: 'The revision in force on every instance that follows the same feed.',
  },
  plane_lag_seconds: {
    type: 'gauge',
    labels: ['instance', 'host'],
    help: 'For how long each of them has known of a newer revision.',
  },
  plane_older: {
    type: 'gauge',
    labels: ['instance', 'host'],
    help: '1 of an instance of an older release, where rules with fields that are new are not in force.',
  },
  database_away: {
    type: 'gauge',
    labels: [],
    help: '1 while the database cannot be asked; deciding goes on.',
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
    labels: ['namespace', 'rule'],
    help: 'How full the fullest subject of a rule was within the last two minutes.',
  },
  hottest_row_per_second: {
    type: 'gauge',
    labels: ['namespace', 'rule'],
    help: 'Decisions a second about the hottest row of each of the 20 rules with the hottest; GET /v1/hot says whose.',
  },
  decision_duration_seconds: {
    type: 'histogram',
    labels: ['transport'],
    help: 'From the request read to its answer.',
  },
  auth_errors_total: {
    type: 'counter',
    labels: ['code'],
    help: 'Requests of GET /v1/auth that were answered with an error, by its code.',
  },
  connections: { type: 'gauge', labels: [], help: 'Open connections.' },
  memory_keys: {
    type: 'gauge',
    labels: [],
    help: 'Counters that are kept in memory; may be above --max-keys by what rules have as their fair part.',
  },
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
  store_calls_total: {
    type: 'counter',
    labels: [],
    help: 'Calls of scripts that were sent to the store, whatever for.',
  },
  lease_tokens_total: {
    type: 'counter',
    labels: ['event'],
    help: 'Leased tokens by what became of them: granted, spent, returned, lost.',
  },
  lease_decisions_total: {
    type: 'counter',
    labels: ['from'],
    help: 'Decisions by rules that may be leased: answered from memory, or by the store.',
  },
  lease_empty_total: {
    type: 'counter',
    labels: [],
    help: 'How often a lease was there and had too little left.',
  },
  lease_rows: { type: 'gauge', labels: [], help: 'Rows of which a lease is held now.' },
  breaker_state: {
    type: 'gauge',
    labels: ['state'],
    help: '1 for the state that the breaker is in; of a Redis Cluster the worst of its nodes.',
  },
  breaker_nodes_away: {
    type: 'gauge',
    labels: ['node'],
    help: '1 for each node of a Redis Cluster whose breaker is open or half open. Rules whose rows are there are decided by their failure mode.',
  },
  clock_offset_seconds: {
    type: 'gauge',
    labels: [],
    help: "How far the store's clock is ahead.",
  },
  clock_steps_back_total: {
    type: 'counter',
    labels: [],
    help: 'How often the clock that decides was seen to have stepped back by more than a minute: in memory each step, over Redis each call that found a counter from the time ahead.',
  },
  usage_lost_total: {
    type: 'counter',
    labels: ['where'],
    help: 'Decisions whose counts are lost: given up by this instance, or gone on their way to this control plane, of all instances.',
  },
  usage_lag_seconds: {
    type: 'gauge',
    labels: ['where'],
    help: 'How old the oldest counts are that wait in this instance, and the newest were that this control plane stored.',
  },
} as const satisfies Record<string, MetricEntry>

export type MetricName = keyof typeof METRICS
