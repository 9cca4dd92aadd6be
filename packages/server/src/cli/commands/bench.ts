/** `sluice bench`: a quick load from this machine against a running server. */
import { availableParallelism } from 'node:os'
import { quote } from '@sluice/limiter/transport'
import { UsageError } from '../../config.js'
import { isLoopbackHost } from '../../security/loopback.js'
import { type LoadResult, RESOURCE, runLoad } from '../bench-load.js'
import { command } from '../command.js'
import { CommandError, EXIT } from '../exit-codes.js'
import type { Globals } from '../globals.js'
import type { ServerClient } from '../server-client.js'

type Server = Pick<ServerClient, 'name' | 'url'>

export const bench = command('bench', {
  operation: 'quota',
  also: ['check', 'checkBatch'],
  summary: 'put a load on a server and measure it',
  description:
    'Asks a running server as fast as it answers, over keep-alive connections, and says how fast that was. The checks count: users bench-0 to bench-999, resource /sluice-bench.',
  options: [
    ['--duration <SECONDS>', 'how long', { standard: '5' }],
    ['--connections <N>', 'connections, each with one request under way', { standard: '16' }],
    ['--batch <N>', 'checks in a request', { standard: '1' }],
  ],
  run: async (run) => {
    const { options, globals, terminal, show } = run
    const plan = {
      durationMs: number('--duration', options.duration, 0.1, 3600) * 1000,
      connections: whole('--connections', options.connections, 10_000),
      batch: whole('--batch', options.batch, 1000),
    }
    const { client } = run
    requireConsent(client, globals)
    // Says in words why nothing can be measured.
    await client.call('quota', { body: { subject: { user: 'bench-0' }, resource: RESOURCE } })
    const isShown = terminal.sayIsTerminal && !globals.json
    const result = await runLoad({
      ...plan,
      url: client.url,
      token: globals.token,
      namespace: globals.namespace,
      progress: (share, requests) => {
        const percent = Math.min(100, Math.round(share * 100))
        if (isShown)
          terminal.say(`\r\u001b[K${percent} %, ${requests.toLocaleString('en-US')} requests`)
      },
    })
    if (isShown) terminal.say('\r\u001b[K')
    if (result.requests === 0)
      throw new CommandError(
        `Nothing was answered by ${client.name}${result.lost === null ? '' : ` (${result.lost.why})`}`,
        EXIT.outOfReach,
      )
    const numbers = numbersOf(result)
    show({ data: rowsOf(numbers) })
    for (const words of remarksOn(result, client)) show({ words })
    return { json: numbers }
  },
})

function numbersOf(result: LoadResult) {
  const { seconds, requests, decisions, latencies, denied, refused, lost } = result
  return {
    seconds,
    requests_per_second: requests / seconds,
    decisions_per_second: decisions / seconds,
    p50_ms: latencies.percentileMs(0.5),
    p99_ms: latencies.percentileMs(0.99),
    max_ms: latencies.maxMs,
    denied,
    refused: Object.fromEntries(refused),
    lost_connections: lost?.count ?? 0,
  }
}

function rowsOf(numbers: ReturnType<typeof numbersOf>): string[][] {
  const rate = (value: number) => Math.round(value).toLocaleString('en-US')
  const ms = (value: number) => `${value.toFixed(2)} ms`
  return [
    ['requests/s', 'decisions/s', 'p50', 'p99', 'max'],
    [
      rate(numbers.requests_per_second),
      rate(numbers.decisions_per_second),
      ms(numbers.p50_ms),
      ms(numbers.p99_ms),
      ms(numbers.max_ms),
    ],
  ]
}

/** What is to be known beside the numbers. */
function* remarksOn(result: LoadResult, { name, url }: Server): IterableIterator<string> {
  const { denied, requests, refused, lost } = result
  if (denied > 0)
    yield `${Math.round((100 * denied) / requests)} % of the answers were a no: the rules limit what is asked here.`
  for (const [status, count] of refused)
    yield `${count} requests were refused with HTTP ${status}; they are no decisions.`
  if (lost !== null) yield `${lost.count} connections were lost (${lost.why}).`
  const cores = availableParallelism()
  yield isLoopbackHost(url.hostname)
    ? `Client and server share this machine (${cores === 1 ? '1 core' : `${cores} cores`}), so neither had all of it.`
    : `Measured from this machine: the way to ${name} is in these numbers.`
}

/** A load on others' machines is put on purpose. */
function requireConsent({ url, name }: Server, { yes }: Globals): void {
  if (yes || isLoopbackHost(url.hostname)) return
  throw new UsageError(
    `${name} is not this machine, and a bench takes all that it can give and uses up limits that are shared. If that is meant, add --yes`,
  )
}

function number(name: string, text: string, least: number, most: number): number {
  const value = Number(text.replace(/s$/, ''))
  if (/^\d+(\.\d+)?s?$/.test(text) && value >= least && value <= most) return value
  throw new UsageError(`${name} is ${quote(text)}; expected seconds from ${least} to ${most}`)
}

function whole(name: string, text: string, most: number): number {
  const value = Number(text)
  if (/^\d+$/.test(text) && value >= 1 && value <= most) return value
  throw new UsageError(`${name} is ${quote(text)}; expected a whole number from 1 to ${most}`)
}
