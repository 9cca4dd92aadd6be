/** What a running server is asked most, and what would help where that is much. */
import { pathOf, type ServerClient } from '../server-client.js'
import { type Finding, ok, warn } from './finding.js'
import type { MetricSamples } from './metric-samples.js'

/** Rows that are looked at in each namespace. */
const LOOKED_AT = 20

/** As `GET /v1/hot` lists it. */
interface Row {
  readonly namespace: string
  readonly rule: string
  readonly scope: string
  readonly value: string | null
  readonly per_second: number
  readonly share: number
  readonly denied_share: number
  readonly advice: { readonly message: string } | null
}

export async function hotFindings(
  client: ServerClient,
  samples: MetricSamples,
): Promise<Finding[]> {
  const hottest = samples.of('sluice_hottest_row_per_second')
  const namespaces = new Set(hottest.map(({ labels }) => labels['namespace']))
  const rows: Row[] = []
  for (const namespace of namespaces) {
    const path = pathOf(['hot'], { namespace, limit: LOOKED_AT })
    for await (const row of client.items(path)) rows.push(row as unknown as Row)
  }
  const [first] = rows.toSorted((a, b) => b.per_second - a.per_second)
  if (first === undefined) return []
  return [ok(`hottest row: ${described(first)}`), ...rows.flatMap(advised)]
}

function described(row: Row): string {
  const rate = Math.round(row.per_second).toLocaleString('en-US')
  const denied = row.denied_share > 0 ? `, ${percent(row.denied_share)} of them denied` : ''
  return `${nameOf(row)}, ${rate} a second, ${percent(row.share)} of all${denied}`
}

function advised(row: Row): Finding[] {
  return row.advice === null ? [] : [warn(`${nameOf(row)} is hot: ${row.advice.message}`)]
}

/** `user:42 of search` */
function nameOf({ namespace, scope, value, rule }: Row): string {
  const who = value === null ? scope : `${scope}:${value}`
  return `${who} of ${rule}${namespace === 'default' ? '' : ` in ${namespace}`}`
}

function percent(part: number): string {
  const whole = part * 100
  return `${whole >= 1 ? Math.round(whole) : whole.toFixed(1)} %`
}
