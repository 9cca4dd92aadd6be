/** What a running server says of itself: whether it is ready, knows the token, and how its store does. */
import { VERSION } from '../../version.js'
import { CommandError, EXIT } from '../exit-codes.js'
import type { Globals } from '../globals.js'
import type { AnswerOf, ItemOf } from '../operation.js'
import { ServerClient, StrangeAnswer } from '../server-client.js'
import { countOf, type Finding, fail, ok, warn } from './finding.js'

/** Hot rows that are looked at in each namespace. */
const LOOKED_AT = 20
const FAR_OFF_SECONDS = 0.5
const FAR_BEHIND_SECONDS = 5

export async function serverFindings(globals: Globals): Promise<Finding[]> {
  const client = new ServerClient<'readiness' | 'metrics' | 'hot'>(globals)
  let ready: AnswerOf<'readiness'>
  try {
    ready = (await client.call('readiness')).body
  } catch (error) {
    if (!(error instanceof CommandError)) throw error
    if (error instanceof StrangeAnswer)
      return [fail(`${client.name} answers, but not as Sluice does`, '--server URL')]
    const said = error.message.replace(/\.? (Start it|Is --server).*$/, '')
    const isSilent = error.message.startsWith('Nothing')
    const fix = isSilent ? 'sluice serve' : '--server URL'
    // Nobody said that there is one.
    return [isSilent && !globals.isServerStated ? warn(said, fix) : fail(said, fix)]
  }
  if (!ready.ready)
    return [fail(`${client.name} is not ready: ${ready.reason}`, 'wait, or see its log')]
  try {
    const samples = new MetricSamples((await client.call('metrics')).body)
    return [
      readyFinding(client.name, ready, samples),
      ...storeFindings(samples),
      ...supplyFindings(samples),
      ...(await hotFindings(client, samples)),
    ]
  } catch (error) {
    if (!(error instanceof CommandError)) throw error
    const fix = error.exitCode === EXIT.notAuthorised ? 'SLUICE_TOKEN=…' : '--server URL'
    return [
      ok(`${client.name} is ready`),
      fail(error.message.replace(/(\. Give it| \(see): .*$/, ''), fix),
    ]
  }
}

function readyFinding(
  name: string,
  { rules }: AnswerOf<'readiness'>,
  samples: MetricSamples,
): Finding {
  const version = samples.of('sluice_build_info')[0]?.labels['version'] ?? '?'
  const count = countOf(rules?.count ?? 0, 'rule')
  const said = `${name} is ready: ${version}, ${count}, revision ${rules?.revision}`
  return version === VERSION
    ? ok(said)
    : warn(`${said}; this command is ${VERSION}`, 'use the same version')
}

function* storeFindings(samples: MetricSamples): IterableIterator<Finding> {
  const state = samples.of('sluice_breaker_state').find(({ value }) => value === 1)?.labels['state']
  if (state === 'closed') yield ok('its Redis answers (breaker closed)')
  else if (state !== undefined) {
    const nodes = samples.of('sluice_breaker_nodes_away').map(({ labels }) => labels['node'])
    const who =
      nodes.length === 0 ? 'its Redis does' : `of its Redis Cluster ${nodes.join(', ')} do`
    yield fail(`${who} not answer (breaker ${state})`, 'sluice doctor --redis URL, from there')
  }
  const offset = samples.sum('sluice_clock_offset_seconds')
  if (offset !== undefined && Math.abs(offset) > FAR_OFF_SECONDS)
    yield warn(
      `its clock is ${Math.round(Math.abs(offset) * 1000)} ms off from Redis's, which decides`,
      'chrony or another NTP client on both',
    )
  if ((samples.sum('sluice_clock_steps_back_total') ?? 0) > 0)
    yield warn(
      'the clock that decides has stepped back by more than a minute since its start',
      'chrony or another NTP client, which does not step',
    )
  const degraded = samples.sum('sluice_degraded_decisions_total') ?? 0
  if (degraded > 0) yield warn(`${countOf(degraded, 'decision')} without the store since its start`)
  const evicted = samples.sum('sluice_memory_evicted_total') ?? 0
  if (evicted > 0)
    yield warn(
      `${countOf(evicted, 'counter')} had to go before their time: their subjects started unused`,
      '--max-keys N',
    )
}

/** How its rules come to it and to the others, and whether its history is kept. */
function* supplyFindings(samples: MetricSamples): IterableIterator<Finding> {
  const away = (name: string) => samples.sum(`sluice_${name}_away`)
  if (away('database') === 1)
    yield fail('its database does not answer: rules cannot be changed', 'is PostgreSQL running?')
  else if (away('database') === 0) yield ok('its database answers')
  if (away('feed') === 1)
    yield warn('the source of its rules does not answer: the last known ones are in force')
  const planes = samples.of('sluice_plane_revision')
  const newest = Math.max(0, ...planes.map(({ value }) => value))
  const behind = planes.filter(({ value }) => value < newest)
  if (planes.length > 0 && behind.length === 0)
    yield ok(`${countOf(planes.length, 'data plane')} at revision ${newest}`)
  for (const { labels, value } of behind) {
    const lag = samples
      .of('sluice_plane_lag_seconds')
      .find((one) => one.labels['instance'] === labels['instance'])?.value
    const since = lag === undefined || lag === 0 ? '' : ` for ${lag.toFixed(1)} s`
    const said = `${labels['host']} (${labels['instance']}) is at revision ${value} of ${newest}${since}`
    yield (lag ?? 0) > FAR_BEHIND_SECONDS ? fail(said, 'see its log') : warn(said)
  }
  for (const { labels, value } of samples.of('sluice_plane_older'))
    if (value === 1)
      yield warn(
        `${labels['host']} (${labels['instance']}) is of an older release: rules with new fields are not in force there`,
        'replace it, or take these fields out (docs: Upgrading)',
      )
  const lost = samples.sum('sluice_usage_lost_total') ?? 0
  if (lost > 0) yield warn(`usage of ${countOf(lost, 'decision')} was lost: it could not be sent`)
}

type Row = ItemOf<'hot'>

/** What it is asked most, and what would help where that is much. */
async function hotFindings(
  client: ServerClient<'hot'>,
  samples: MetricSamples,
): Promise<Finding[]> {
  const hottest = samples.of('sluice_hottest_row_per_second')
  const namespaces = new Set(hottest.map(({ labels }) => labels['namespace']))
  const rows: Row[] = []
  for (const namespace of namespaces)
    rows.push(...(await client.list('hot', { query: { namespace, limit: LOOKED_AT } })))
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

interface Sample {
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

const LINE = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$/
const LABEL = /([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"/g

/** The numbers of a page of metrics by name: as much of the format as our own pages use. */
class MetricSamples {
  readonly #all = new Map<string, Sample[]>()

  constructor(page: string) {
    for (const line of page.split('\n')) {
      const match = LINE.exec(line)
      if (match === null) continue
      const [, name = '', labels = '', value = ''] = match
      const pairs = [...labels.matchAll(LABEL)].map(([, key, text]) => [key, text] as const)
      const samples = this.#all.get(name) ?? []
      samples.push({ labels: Object.fromEntries(pairs), value: Number(value) })
      this.#all.set(name, samples)
    }
  }

  of(name: string): readonly Sample[] {
    return this.#all.get(name) ?? []
  }

  /** Undefined where there is none. */
  sum(name: string): number | undefined {
    const samples = this.#all.get(name)
    return samples?.reduce((sum, { value }) => sum + value, 0)
  }
}
