/** What a service says of itself when it has started. */
import type { Settings } from '../config.js'
import type { Service } from '../serve.js'
import { VERSION } from '../version.js'
import type { Terminal } from './terminal.js'

/** When the command began: `npm start` may have installed and built before, in this process. */
const LOADED_AT = performance.now()

/** What was started. */
export type ServiceKind = 'service' | 'sidecar'

export function banner(
  kind: ServiceKind,
  service: Service,
  settings: Settings,
  { paint }: Terminal,
): string {
  const { tenants, rules, history, backing, addresses } = service
  const [address, socket] = addresses
  const scheme = settings.tlsCert === undefined ? 'http' : 'https'
  const seconds = ((performance.now() - LOADED_AT) / 1000).toFixed(1)
  const count = tenants.size
  const rulesText = count === 1 ? '1 rule' : `${count} rules`
  const lines: [string, string][] = [
    ['REST', `${scheme}://${address!.replace(/^127\.0\.0\.1:/, 'localhost:')}`],
    ...(socket === undefined ? [] : ([['socket', socket]] as [string, string][])),
    [
      'rules',
      rules.kind === 'file'
        ? `${rules.file}, ${rulesText}; saving applies`
        : rules.kind === 'feed'
          ? `of a control plane, ${rulesText}; followed over Redis`
          : `of the database, ${rulesText}`.padEnd(38) + ' sluice rules apply FILE',
    ],
    [
      'counters',
      backing.kind === 'redis'
        ? `Redis ${backing.name}, shared${settings.leases === 'on' ? '; leases on' : ''}`
        : `memory, kept in ${backing.name}/`.padEnd(38) + ' REDIS_URL shares them',
    ],
    ...(history === null
      ? []
      : ([['history', historyText(history, settings)]] as [string, string][])),
    [
      'access',
      settings.token === undefined
        ? 'this machine, no token; any other --host needs one'
        : 'with the token of SLUICE_TOKEN',
    ],
  ]
  const text = lines.map(([name, said]) => `  ${paint('dim', name.padEnd(9))} ${said}\n`).join('')
  const name = kind === 'sidecar' ? `Sluice ${VERSION} sidecar` : `Sluice ${VERSION}`
  const head = `${paint('bold', name)} decides after ${seconds} s\n`
  if (!settings.dev) return head + text
  const url = address!.replace(/^127\.0\.0\.1:/, 'localhost:')
  const body = `'{"subject":{"user":"ada"},"resource":"/hello"}'`
  return `${head}${text}Try: curl -i ${url}/v1/check -d ${body}\n`
}

function historyText(history: string, { database, data }: Settings): string {
  if (database !== undefined) return history
  return `PGlite in ${data}/`.padEnd(38) + ' DATABASE_URL: PostgreSQL'
}

/** What goes on while Redis does not answer. */
export function startedDegraded({ backing, tenants }: Service): string {
  const rules = [...tenants].flatMap(({ limiter }) => limiter.rules.all)
  const count = (mode: string) =>
    rules.filter(({ rule }) => rule.enabled && rule.failureMode === mode).length
  const [local, closed, open] = [count('local'), count('closed'), count('open')]
  const parts = [
    local === 1 ? '1 local rule decides in memory' : `${local} local rules decide in memory`,
    ...(closed === 0 ? [] : [closed === 1 ? '1 closed refuses' : `${closed} closed refuse`]),
    ...(open === 0 ? [] : [open === 1 ? '1 open lets through' : `${open} open let through`]),
  ]
  return `Redis ${backing.name} does not answer (${backing.trouble}). Started degraded: ${parts.join(', ')}. Retrying; see \`sluice doctor\`.`
}
