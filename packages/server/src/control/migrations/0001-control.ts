/**
 * The control plane's tables. A `place` is the SHA-256, in hex, of what must not be there twice: what a
 * rule governs, or whose a tier is. Values and resources themselves may be too long for an index.
 */
import type { Migration } from '../migrations.js'

export const CONTROL_TABLES: Migration = {
  version: 1,
  name: 'control',
  statements: [
    // One row. Whoever writes changes it first, so writers come one after the other.
    `CREATE TABLE sluice.head (
      single boolean PRIMARY KEY DEFAULT true CHECK (single),
      revision bigint NOT NULL,
      digest text NOT NULL
    )`,
    `INSERT INTO sluice.head (revision, digest) VALUES (0, '')`,
    // The outbox: what data planes are told, in order.
    `CREATE TABLE sluice.changes (
      revision bigint PRIMARY KEY,
      at timestamptz NOT NULL,
      previous text NOT NULL,
      digest text NOT NULL,
      edits text NOT NULL
    )`,
    `CREATE TABLE sluice.namespaces (
      name text PRIMARY KEY,
      settings jsonb NOT NULL,
      revision bigint NOT NULL,
      created_at timestamptz NOT NULL
    )`,
    `INSERT INTO sluice.namespaces (name, settings, revision, created_at) VALUES ('default', '{}', 0, now())`,
    // body: the rule as a document has it. The columns before it are what is looked for and contested.
    `CREATE TABLE sluice.rules (
      id uuid PRIMARY KEY,
      namespace text NOT NULL REFERENCES sluice.namespaces (name),
      name text NOT NULL,
      family text NOT NULL,
      scope text NOT NULL,
      value text,
      tier text,
      resource text NOT NULL,
      methods text,
      additive boolean NOT NULL,
      enabled boolean NOT NULL,
      shadow boolean NOT NULL,
      unit text NOT NULL,
      least_burst bigint NOT NULL,
      place text NOT NULL,
      body jsonb NOT NULL,
      version bigint NOT NULL,
      created_at timestamptz NOT NULL,
      updated_at timestamptz NOT NULL,
      position bigint GENERATED ALWAYS AS IDENTITY,
      CONSTRAINT rules_name UNIQUE (namespace, name)
    )`,
    `CREATE UNIQUE INDEX rules_position ON sluice.rules (namespace, position)`,
    `CREATE INDEX rules_family ON sluice.rules (namespace, family)`,
    `CREATE UNIQUE INDEX rules_place ON sluice.rules (namespace, place) WHERE NOT additive AND enabled`,
    `CREATE TABLE sluice.rule_versions (
      id uuid NOT NULL,
      version bigint NOT NULL,
      namespace text NOT NULL,
      name text NOT NULL,
      body jsonb NOT NULL,
      actor text NOT NULL,
      at timestamptz NOT NULL,
      created_at timestamptz NOT NULL,
      revision bigint NOT NULL,
      deleted boolean NOT NULL,
      PRIMARY KEY (id, version)
    )`,
    `CREATE TABLE sluice.tiers (
      namespace text NOT NULL REFERENCES sluice.namespaces (name),
      scope text NOT NULL,
      value text NOT NULL,
      tier text NOT NULL,
      place text NOT NULL,
      PRIMARY KEY (namespace, place)
    )`,
    `CREATE TABLE sluice.overrides (
      namespace text NOT NULL REFERENCES sluice.namespaces (name),
      scope text NOT NULL,
      value text NOT NULL,
      rule text NOT NULL,
      limits jsonb NOT NULL,
      least_burst bigint NOT NULL,
      until timestamptz,
      reason text,
      created_at timestamptz NOT NULL,
      place text NOT NULL,
      PRIMARY KEY (namespace, place)
    )`,
    // Whether any cost is above what some rule admits at once.
    `CREATE INDEX rules_burst ON sluice.rules (namespace, unit, least_burst) WHERE enabled`,
    `CREATE INDEX overrides_burst ON sluice.overrides (namespace, least_burst)`,
    `CREATE INDEX overrides_rule ON sluice.overrides (namespace, rule)`,
    `CREATE INDEX overrides_until ON sluice.overrides (until) WHERE until IS NOT NULL`,
    ...['exemptions', 'blocks'].flatMap((table) => [
      `CREATE TABLE sluice.${table} (
        id uuid PRIMARY KEY,
        namespace text NOT NULL REFERENCES sluice.namespaces (name),
        scope text NOT NULL,
        value text NOT NULL,
        until timestamptz,
        reason text,
        created_at timestamptz NOT NULL
      )`,
      `CREATE INDEX ${table}_namespace ON sluice.${table} (namespace, id)`,
      `CREATE INDEX ${table}_until ON sluice.${table} (until) WHERE until IS NOT NULL`,
    ]),
    `CREATE TABLE sluice.costs (
      id uuid PRIMARY KEY,
      namespace text NOT NULL REFERENCES sluice.namespaces (name),
      resource text NOT NULL,
      methods text,
      unit text NOT NULL,
      cost bigint NOT NULL,
      place text NOT NULL,
      CONSTRAINT costs_place UNIQUE (namespace, place)
    )`,
    `CREATE TABLE sluice.tokens (
      id uuid PRIMARY KEY,
      name text NOT NULL,
      hash text NOT NULL CONSTRAINT tokens_hash UNIQUE,
      role text NOT NULL,
      namespaces text[],
      created_at timestamptz NOT NULL,
      expires_at timestamptz,
      revoked_at timestamptz
    )`,
    `CREATE TABLE sluice.audit (
      at timestamptz NOT NULL,
      revision bigint NOT NULL,
      ordinal integer NOT NULL,
      namespace text NOT NULL,
      actor text NOT NULL,
      action text NOT NULL,
      target text NOT NULL,
      before jsonb,
      after jsonb,
      PRIMARY KEY (at, revision, ordinal)
    ) PARTITION BY RANGE (at)`,
    `CREATE INDEX audit_namespace ON sluice.audit (namespace, at)`,
  ],
}
