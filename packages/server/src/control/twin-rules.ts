/** Refuses a rule whose name is taken, or that governs the same requests as another one. */
import type { RuleBook } from '@sluice/limiter'
import { normalPatternKey, quote, readDocument } from '@sluice/limiter/transport'
import { ServiceError } from '../error-codes.js'
import type { NamespaceSettings } from '../feed/change.js'
import { placeOf, type RuleRow } from './content.js'
import type { Sql } from './database.js'

interface Namespace {
  readonly namespace: string
  readonly settings: NamespaceSettings
}

interface Other extends Record<string, unknown> {
  readonly id: string
  readonly name: string
  readonly resource: string
  readonly place: string
}

/** Paths that normalising may change: $11 says whether case is folded. Others are their own normal form. */
const UNUSUAL_PATH = `resource ~ '^/' AND (resource ~ '//|/\\.|./$|[^A-Za-z0-9_.~!$&''()*+,;=:@/-]'
  OR ($11 AND resource ~ '[A-Z]'))`

/** Writers come one after the other, so a rule that is not there now will not be when this one is done. */
export async function refuseTwins(
  sql: Sql,
  { namespace, settings }: Namespace,
  row: RuleRow,
  id: string | null,
): Promise<void> {
  const contests = !row.additive && row.enabled
  const { normalize } = readDocument({ ...settings, rules: {} }) as RuleBook
  const normalPlaceOf = (resource: string) =>
    placeOf({ ...row, patternKey: normalPatternKey(resource, normalize) })
  const normalPlace = normalPlaceOf(row.resource)
  const others = await sql.query<Other>(
    `SELECT id, name, resource, place FROM sluice.rules WHERE namespace = $1 AND (name = $2
      OR ($3 AND NOT additive AND enabled AND (place = $4 OR place = $5 OR (${UNUSUAL_PATH}
        AND scope = $6 AND value IS NOT DISTINCT FROM $7 AND tier IS NOT DISTINCT FROM $8
        AND methods IS NOT DISTINCT FROM $9 AND shadow = $10)))) ORDER BY name = $2 DESC`,
    [
      namespace,
      row.name,
      contests,
      row.place,
      normalPlace,
      row.scope,
      row.value,
      row.tier,
      row.methods?.join('|') ?? null,
      row.shadow,
      normalize.foldCase,
    ],
  )
  const isTwin = ({ name, place, resource }: Other) =>
    name === row.name || place === row.place || normalPlaceOf(resource) === normalPlace
  const other = others.find((one) => one.id !== id && isTwin(one))
  if (other === undefined) return
  throw new ServiceError('conflict', `${wordsOf(other, row)} (${other.id})`)
}

function wordsOf(other: Other, row: RuleRow): string {
  if (other.name === row.name) return `there is a rule named ${quote(row.name)} already`
  const why =
    other.place === row.place
      ? ''
      : ` once resources are normalised: ${quote(row.resource)} and ${quote(other.resource)} are one`
  return `the rule ${quote(other.name)} governs the same requests${why}; put the limits into one rule, or make one additive`
}
