/**
 * Usage and violations. A `place` is made of everything that a row is counted under, `subject` of the
 * namespace, scope and value: hashes, since values and resources may be too long for an index. A null
 * value is all those that are not named, a null rule is a block.
 */
import type { Migration } from '../migrations.js'

const counted = (table: string): string[] => [
  `CREATE TABLE sluice.${table} (
    at timestamptz NOT NULL,
    place uuid NOT NULL,
    subject uuid NOT NULL,
    namespace text NOT NULL,
    rule text,
    scope text NOT NULL,
    value text,
    allowed bigint NOT NULL,
    denied bigint NOT NULL,
    cost bigint NOT NULL,
    PRIMARY KEY (at, place)
  ) PARTITION BY RANGE (at)`,
  `CREATE INDEX ${table}_namespace ON sluice.${table} (namespace, at)`,
  `CREATE INDEX ${table}_subject ON sluice.${table} (subject, at)`,
]

export const USAGE_TABLES: Migration = {
  version: 2,
  name: 'usage',
  statements: [
    ...counted('usage_minutes'),
    ...counted('usage_days'),
    `CREATE TABLE sluice.violations (
      at timestamptz NOT NULL,
      place uuid NOT NULL,
      subject uuid NOT NULL,
      namespace text NOT NULL,
      rule text,
      scope text NOT NULL,
      value text,
      resource text,
      limit_text text,
      reason text NOT NULL,
      count bigint NOT NULL,
      PRIMARY KEY (at, place)
    ) PARTITION BY RANGE (at)`,
    `CREATE INDEX violations_namespace ON sluice.violations (namespace, at)`,
    `CREATE INDEX violations_subject ON sluice.violations (subject, at)`,
    // What has been stored: a batch may come twice.
    `CREATE TABLE sluice.usage_batches (
      instance text NOT NULL,
      sequence bigint NOT NULL,
      stored_at timestamptz NOT NULL,
      PRIMARY KEY (instance, sequence)
    )`,
    `CREATE INDEX usage_batches_stored ON sluice.usage_batches (stored_at)`,
    // Decisions that each instance says it has counted, that were stored, and that it gave up itself.
    `CREATE TABLE sluice.usage_instances (
      instance text PRIMARY KEY,
      total bigint NOT NULL,
      stored bigint NOT NULL,
      dropped bigint NOT NULL,
      seen_at timestamptz NOT NULL
    )`,
  ],
}
