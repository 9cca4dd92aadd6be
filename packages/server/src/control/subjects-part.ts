/** Single subjects: the tier they are in, and the limits that are theirs alone. */
import type { LimitsInput, OverrideInput, RulesDocument } from '@sluice/limiter'
import { NAME, quote, readValue, SCOPE, TIER } from '@sluice/limiter/transport'
import { ServiceError, type WireFault } from '../error-codes.js'
import type { Caller } from '../security/caller.js'
import { contentOf, hash, type OverrideRow } from './content.js'
import { putOverrides } from './content-tables.js'
import {
  type ControlContext,
  type Counting,
  isoTime,
  requireNamespace,
  writeNamespace,
} from './context.js'
import type { Sql } from './database.js'
import { invalid, wireFaults } from './faults.js'
import { refuseMisfits } from './keep-whole.js'

export interface SubjectName {
  readonly namespace: string
  readonly scope: string
  readonly value: string
}

/** Throws 400 for a scope or value that cannot be; the value as it is compared. */
export function singleSubject({ namespace, scope, value }: SubjectName): SubjectName {
  const bad = (field: string, message: string) =>
    new ServiceError('bad_request', `${field} ${message}`, { field })
  if (!SCOPE.test(scope)) throw bad('scope', `is ${quote(scope)}; expected a scope's name`)
  if (scope === 'global') throw bad('scope', 'is global, which has no values')
  const read = readValue(scope, value)
  if (typeof read === 'string') return { namespace, scope, value: read }
  throw bad('value', 'bits' in read ? 'is a network; expected a single address' : read.fault)
}

export interface OverrideFields {
  readonly rule: string
  readonly limits: unknown
  readonly until?: string
  readonly reason?: string
}

export function subjectsPart(context: ControlContext) {
  const { file } = context

  /** Null takes it away. */
  const setTier = (caller: Caller, subject: SubjectName, tier: string | null) =>
    context.write(caller.name, async (writing) => {
      const { namespace, scope, value } = singleSubject(subject)
      if (tier !== null && !TIER.test(tier))
        throw new ServiceError('bad_request', `tier is ${quote(tier)}; expected a tier's name`, {
          field: 'tier',
        })
      await writeNamespace(writing, namespace, file)
      const place = hash([scope, value])
      const before = await tierIn(writing.sql, namespace, place)
      await putTier(writing.sql, [namespace, scope, value, place], tier)
      writing.edit({ kind: 'tier', namespace, key: `${scope}:${value}`, item: tier })
      writing.audit({
        namespace,
        action: 'tier.set',
        target: `tier ${scope}:${value}`,
        before,
        after: tier,
      })
      return { scope, value, tier }
    })

  const tierOf = (subject: SubjectName): Promise<string | null> =>
    context.read(async (sql) => {
      const { namespace, scope, value } = singleSubject(subject)
      await requireNamespace(sql, namespace, file)
      return tierIn(sql, namespace, hash([scope, value]))
    })

  const setOverride = (caller: Caller, subject: SubjectName, fields: OverrideFields) =>
    context.write(caller.name, async (writing) => {
      const { namespace, scope, value } = singleSubject(subject)
      const { settings } = await writeNamespace(writing, namespace, file)
      const counting = await countingOf(writing.sql, namespace, fields.rule)
      const document = { ...settings, ...standIn(fields.rule, counting) }
      const override = { scope, value, ...fields, limits: fields.limits as LimitsInput }
      const row = readOverride(document, override, writing.at, counting === undefined)
      const [before] = await writing.sql.query(
        'SELECT limits, until, reason FROM sluice.overrides WHERE namespace = $1 AND place = $2',
        [namespace, row.place],
      )
      await putOverrides(writing, namespace, [row])
      await refuseMisfits(writing, namespace)
      const after = wireOverride(row)
      writing.audit({
        namespace,
        action: 'override.set',
        target: `override ${scope}:${value} ${row.rule}`,
        before: before ?? null,
        after,
      })
      return after
    })

  /** How a rule counts; undefined where there is none. */
  const countingOf = async (
    sql: Sql,
    namespace: string,
    name: string,
  ): Promise<Counting | undefined> => {
    if (!NAME.test(name)) return undefined
    if (file !== null) return file.counting(namespace, name)
    const [row] = await sql.query<{ rule: { scope: string; shards?: number } | null }>(
      `SELECT body AS rule FROM sluice.rules WHERE namespace = $1 AND (name = $2 OR family = $2)
        UNION ALL SELECT settings->'default_rule' FROM sluice.namespaces
          WHERE name = $1 AND $2 = 'default' AND settings ? 'default_rule' LIMIT 1`,
      [namespace, name],
    )
    return row?.rule ? { scope: row.rule.scope, shards: row.rule.shards ?? 1 } : undefined
  }

  const removeOverride = (caller: Caller, subject: SubjectName, rule: string): Promise<void> =>
    context.write(caller.name, async (writing) => {
      const { namespace, scope, value } = singleSubject(subject)
      await requireNamespace(writing.sql, namespace, file)
      const [gone] = await writing.sql.query(
        `DELETE FROM sluice.overrides WHERE namespace = $1 AND place = $2
          RETURNING limits, until, reason`,
        [namespace, hash([scope, value, rule])],
      )
      if (gone === undefined)
        throw new ServiceError('not_found', `${scope}:${value} has no override of ${quote(rule)}`)
      const key = JSON.stringify([scope, value, rule])
      writing.edit({ kind: 'override', namespace, key, item: null })
      writing.audit({
        namespace,
        action: 'override.delete',
        target: `override ${scope}:${value} ${rule}`,
        before: gone,
        after: null,
      })
    })

  return { setTier, tierOf, setOverride, removeOverride }
}

async function tierIn(sql: Sql, namespace: string, place: string): Promise<string | null> {
  const [row] = await sql.query<{ tier: string }>(
    'SELECT tier FROM sluice.tiers WHERE namespace = $1 AND place = $2',
    [namespace, place],
  )
  return row?.tier ?? null
}

async function putTier(sql: Sql, key: readonly string[], tier: string | null): Promise<void> {
  const [namespace, , , place] = key
  if (tier === null)
    await sql.query('DELETE FROM sluice.tiers WHERE namespace = $1 AND place = $2', [
      namespace,
      place,
    ])
  else
    await sql.query(
      `INSERT INTO sluice.tiers (namespace, scope, value, place, tier) VALUES ($1, $2, $3, $4, $5)
        ON CONFLICT (namespace, place) DO UPDATE SET tier = excluded.tier`,
      [...key, tier],
    )
}

/** A rule that counts as the one that is meant, for the reader to hold the override against. */
function standIn(name: string, counting: Counting | undefined): RulesDocument {
  if (counting === undefined || name === 'default' || !NAME.test(name)) return {}
  const { scope, shards } = counting
  const tier = name.split('@')[1]
  const rule = { scope, shards, limits: `${shards}/s` as const }
  return { rules: { [name]: tier === undefined ? rule : { ...rule, tier } } }
}

function readOverride(
  document: RulesDocument,
  override: OverrideInput,
  now: Date,
  isStranger: boolean,
): OverrideRow {
  const content = contentOf({ ...document, overrides: [override] })
  const faults: WireFault[] = Array.isArray(content)
    ? wireFaults(content, 'overrides[0]', 'rule')
    : pastFaults(content.overrides[0]!.until, now)
  if (isStranger && !faults.some(({ field }) => field === 'rule'))
    faults.push({ field: 'rule', message: `${quote(override.rule)} is not the name of a rule` })
  if (faults.length > 0 || Array.isArray(content)) throw invalid(faults)
  return content.overrides[0]!
}

/** What has ended already would do nothing. */
export function pastFaults(until: string | null, now: Date): WireFault[] {
  if (until === null || Date.parse(until) > now.getTime()) return []
  return [{ field: 'until', message: `${until} is in the past` }]
}

function wireOverride({ scope, value, rule, limits, until, reason }: OverrideRow) {
  return {
    scope,
    value,
    rule,
    limits,
    until: until === null ? null : isoTime(new Date(until)),
    reason,
  }
}
