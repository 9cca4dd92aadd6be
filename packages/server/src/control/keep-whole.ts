/**
 * What must hold between the parts of a namespace after a change, so that its rules always compile: an
 * override is of a rule that counts its scope and has as much as a shard each, and no cost is above what a
 * rule that it meets admits.
 */
import { inSlices } from '@sluice/limiter'
import { invalid, wireFaults } from './faults.js'
import { loadContent } from './load-content.js'
import { documentOf } from './print-document.js'
import { readContent } from './read-content.js'
import type { Writing } from './writing.js'

/** `rules` are the names of those that changed. */
export async function keepWhole(
  writing: Writing,
  namespace: string,
  rules: readonly string[],
): Promise<void> {
  await dropStrayOverrides(writing, namespace, rules)
  await refuseMisfits(writing, namespace)
}

interface StrayOverride extends Record<string, unknown> {
  readonly scope: string
  readonly value: string
  readonly rule: string
  readonly limits: unknown
}

/** Overrides of a rule that is gone or counts another scope now would do nothing. */
async function dropStrayOverrides(
  writing: Writing,
  namespace: string,
  rules: readonly string[],
): Promise<void> {
  const names = [...new Set(rules.flatMap((name) => [name, name.split('@')[0]!]))]
  const strays = await writing.sql.query<StrayOverride>(
    `DELETE FROM sluice.overrides WHERE namespace = $1 AND rule = ANY($2) AND NOT EXISTS (
      SELECT 1 FROM sluice.rules WHERE rules.namespace = overrides.namespace
        AND (rules.name = overrides.rule OR rules.family = overrides.rule)
        AND rules.scope = overrides.scope)
      RETURNING scope, value, rule, limits`,
    [namespace, names],
  )
  for (const { scope, value, rule, limits } of strays) {
    const key = JSON.stringify([scope, value, rule])
    writing.edit({ kind: 'override', namespace, key, item: null })
    writing.audit({
      namespace,
      action: 'override.delete',
      target: `override ${scope}:${value} ${rule}`,
      before: { rule, limits },
      after: null,
    })
  }
}

/**
 * A cost and some limit of the same unit that would never admit it, or an override of a rule in shards;
 * whether they fit, the library says.
 */
const RISK = `SELECT 1 AS risk FROM sluice.overrides, sluice.rules WHERE overrides.namespace = $1
    AND rules.namespace = $1 AND rules.family = split_part(overrides.rule, '@', 1)
    AND rules.body ? 'shards'
  UNION ALL SELECT 1 AS risk FROM sluice.costs WHERE namespace = $1 AND (
    EXISTS (SELECT 1 FROM sluice.rules WHERE rules.namespace = $1 AND rules.enabled
      AND rules.unit = costs.unit AND rules.least_burst < costs.cost)
    OR EXISTS (SELECT 1 FROM sluice.overrides WHERE overrides.namespace = $1
      AND overrides.least_burst < costs.cost)
    OR EXISTS (SELECT 1 FROM sluice.namespaces WHERE name = $1 AND settings ? 'default_rule')
  ) LIMIT 1`

export async function refuseMisfits({ sql }: Writing, namespace: string): Promise<void> {
  if ((await sql.query(RISK, [namespace])).length === 0) return
  const document = await inSlices(documentOf(namespace, await loadContent(sql, namespace)))
  const content = await readContent(document)
  if ('faults' in content) throw invalid(wireFaults(content.faults, '', ''), content.others)
}
