/** What a running server says of itself: whether it is ready, knows the token, and how its store does. */
import { VERSION } from '../../version.js'
import { CommandError, EXIT } from '../exit-codes.js'
import type { Globals } from '../globals.js'
import { ServerClient } from '../server-client.js'
import { countOf, type Finding, fail, ok, warn } from './finding.js'
import { hotFindings } from './hot-findings.js'
import { MetricSamples } from './metric-samples.js'

const FAR_OFF_SECONDS = 0.5
const FAR_BEHIND_SECONDS = 5

export async function serverFindings(globals: Globals): Promise<Finding[]> {
  const client = new ServerClient(globals)
  let ready: Readonly<Record<string, unknown>>
  try {
    ready = (await client.get('/readyz')).body
  } catch (error) {
    if (!(error instanceof CommandError)) throw error
    const said = error.message.replace(/\.? (Start it|Is --server).*$/, '')
    const isSilent = error.message.startsWith('Nothing')
    const fix = isSilent ? 'sluice serve' : '--server URL'
    // Nobody said that there is one.
    return [isSilent && !globals.isServerStated ? warn(said, fix) : fail(said, fix)]
  }
  if (typeof ready['ready'] !== 'boolean')
    return [fail(`${client.name} answers, but not as Sluice does`, '--server URL')]
  if (!ready['ready'])
    return [fail(`${client.name} is not ready: ${String(ready['reason'])}`, 'wait, or see its log')]
  try {
    const samples = new MetricSamples(await client.text('/metrics'))
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
  ready: Readonly<Record<string, unknown>>,
  samples: MetricSamples,
): Finding {
  const version = samples.of('sluice_build_info')[0]?.labels['version'] ?? '?'
  const rules = ready['rules'] as { revision?: number; count?: number } | undefined
  const count = countOf(rules?.count ?? 0, 'rule')
  const said = `${name} is ready: ${version}, ${count}, revision ${rules?.revision}`
  return version === VERSION
    ? ok(said)
    : warn(`${said}; this command is ${VERSION}`, 'use the same version')
}

function storeFindings(samples: MetricSamples): Finding[] {
  const findings: Finding[] = []
  const state = samples.of('sluice_breaker_state').find(({ value }) => value === 1)?.labels['state']
  if (state === 'closed') findings.push(ok('its Redis answers (breaker closed)'))
  else if (state !== undefined)
    findings.push(
      fail(`its Redis does not answer (breaker ${state})`, 'sluice doctor --redis URL, from there'),
    )
  const offset = samples.sum('sluice_clock_offset_seconds')
  if (offset !== undefined && Math.abs(offset) > FAR_OFF_SECONDS)
    findings.push(
      warn(
        `its clock is ${Math.round(Math.abs(offset) * 1000)} ms off from Redis's, which decides`,
        'chrony or another NTP client on both',
      ),
    )
  if ((samples.sum('sluice_clock_steps_back_total') ?? 0) > 0)
    findings.push(
      warn(
        'the clock that decides has stepped back by more than a minute since its start',
        'chrony or another NTP client, which does not step',
      ),
    )
  const degraded = samples.sum('sluice_degraded_decisions_total') ?? 0
  if (degraded > 0)
    findings.push(warn(`${countOf(degraded, 'decision')} without the store since its start`))
  const evicted = samples.sum('sluice_memory_evicted_total') ?? 0
  if (evicted > 0)
    findings.push(
      warn(
        `${countOf(evicted, 'counter')} had to go before their time: their subjects started unused`,
        '--max-keys N',
      ),
    )
  return findings
}

/** How its rules come to it and to the others, and whether its history is kept. */
function supplyFindings(samples: MetricSamples): Finding[] {
  const findings: Finding[] = []
  const away = (name: string) => samples.sum(`sluice_${name}_away`)
  if (away('database') === 1)
    findings.push(
      fail('its database does not answer: rules cannot be changed', 'is PostgreSQL running?'),
    )
  else if (away('database') === 0) findings.push(ok('its database answers'))
  if (away('feed') === 1)
    findings.push(warn('the source of its rules does not answer: the last known ones are in force'))
  const planes = samples.of('sluice_plane_revision')
  const newest = Math.max(0, ...planes.map(({ value }) => value))
  const behind = planes.filter(({ value }) => value < newest)
  if (planes.length > 0 && behind.length === 0)
    findings.push(ok(`${countOf(planes.length, 'data plane')} at revision ${newest}`))
  for (const { labels, value } of behind) {
    const lag = samples
      .of('sluice_plane_lag_seconds')
      .find((one) => one.labels['instance'] === labels['instance'])?.value
    const since = lag === undefined || lag === 0 ? '' : ` for ${lag.toFixed(1)} s`
    const said = `${labels['host']} (${labels['instance']}) is at revision ${value} of ${newest}${since}`
    findings.push((lag ?? 0) > FAR_BEHIND_SECONDS ? fail(said, 'see its log') : warn(said))
  }
  const lost = samples.sum('sluice_usage_lost_total') ?? 0
  if (lost > 0)
    findings.push(warn(`usage of ${countOf(lost, 'decision')} was lost: it could not be sent`))
  return findings
}
