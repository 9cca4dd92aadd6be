/** Runs a service from the command line: says where it is, or what went wrong, and stops it when it is asked to. */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { hostname } from 'node:os'
import { routeOf } from '@sluice/contract'
import type { Settings } from '../config.js'
import { CountersError } from '../counters/counters-error.js'
import type { RefusedRules } from '../rules-file/load-rules.js'
import { printFaults } from '../rules-file/print-faults.js'
import { type Service, serve } from '../serve.js'
import { FaultyRules } from '../supply/supply.js'
import { Log } from '../telemetry/log.js'
import { VERSION } from '../version.js'
import { CommandError } from './exit-codes.js'
import { faultyRules } from './rules-files.js'
import { ServerClient } from './server-client.js'
import type { Terminal } from './terminal.js'

/** When the command began: `npm start` may have installed and built before, in this process. */
const LOADED_AT = performance.now()

/** What was started. */
type ServiceKind = 'service' | 'sidecar'

export async function runService(
  kind: ServiceKind,
  settings: Settings,
  terminal: Terminal,
): Promise<void> {
  const log = new Log({
    level: settings.logLevel,
    isTerminal: terminal.sayIsTerminal,
    color: terminal.hasColor,
    instance: hostname(),
    write: (line) => terminal.say(line),
  })
  const refused = (file: string, rules: RefusedRules, revision: number) => {
    const count = rules.faults.length
    const faults = printFaults(file, rules.text, rules.faults, { color: terminal.hasColor })
    const stays = `${count === 1 ? '1 fault' : `${count} faults`}. Revision ${revision} stays in force.`
    if (terminal.sayIsTerminal) terminal.say(`${faults}\n${stays}\n`)
    else log.error(`${file} is refused`, { code: 'invalid_rules', revision, count, error: faults })
  }
  let service: Service
  try {
    service = await serve({ settings, log, refused })
  } catch (error) {
    throw await inWords(error, kind, settings, terminal)
  }
  stopOnSignal(service, log)
  terminal.say(banner(kind, service, settings, terminal))
  if (service.backing.trouble !== null) log.warn(startedDegraded(service))
}

/** What goes wrong at the start, in words. */
async function inWords(
  error: unknown,
  kind: ServiceKind,
  { port, host, socket }: Settings,
  terminal: Terminal,
): Promise<unknown> {
  if (error instanceof FaultyRules) return faultyRules(error.file, error.refused, terminal)
  if (error instanceof CountersError)
    return new CommandError(`${error.message}. Another folder: --data DIR`)
  const { code } = error as NodeJS.ErrnoException
  const { syscall, address } = error as NodeJS.ErrnoException & { address?: string }
  if (syscall === 'listen' && address === socket)
    return new CommandError(`${address} cannot be used (${code}). Another place: --socket PATH`)
  if (code === 'EADDRINUSE') {
    const holder = portHolder(port)
    const by = holder === null ? '' : ` by ${holder.command} (pid ${holder.pid})`
    const here = (await isSluice(port))
      ? `: Sluice runs there already, http://localhost:${port}`
      : ''
    const other = kind === 'service' ? `PORT=${port + 10} npm start` : `--port ${port + 10}`
    return new CommandError(`Port ${port} is taken${by}${here}. Try: ${other}`)
  }
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND')
    return new CommandError(`This machine has no address ${host}. Try: --host 127.0.0.1`)
  if (code === 'EACCES')
    return new CommandError(`Port ${port} may not be used by this user. Try: --port 4290`)
  return error
}

/** Whether whoever has the port answers as Sluice does. */
async function isSluice(port: number): Promise<boolean> {
  const server = `http://127.0.0.1:${port}`
  const client = new ServerClient({ server, token: undefined, namespace: undefined })
  return client.call('readiness', { withinMs: 500 }).then(
    () => true,
    () => false,
  )
}

/** The first signal stops in order; the second ends at once. */
function stopOnSignal(service: Service, log: Log): void {
  let isStopping = false
  const stop = async (signal: string) => {
    if (isStopping) {
      log.warn('stopped at once', { code: signal })
      process.exit(1)
    }
    isStopping = true
    log.info('stopping', { code: signal })
    await service.stop()
    log.info('stopped')
    process.exit(0)
  }
  for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, () => void stop(signal))
}

/** Who has a port. */
interface PortHolder {
  readonly pid: number
  readonly command: string
}

const LISTENING = '0A'

/** Null where it cannot be found out: another system, or another user's process. */
function portHolder(port: number): PortHolder | null {
  try {
    const inodes = new Set(
      ['/proc/net/tcp', '/proc/net/tcp6'].flatMap((file) => inodesOf(file, port)),
    )
    if (inodes.size === 0) return null
    for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
      if (!hasSocket(pid, inodes)) continue
      return { pid: Number(pid), command: readFileSync(`/proc/${pid}/comm`, 'utf8').trim() }
    }
  } catch {
    // Not Linux.
  }
  return null
}

function inodesOf(file: string, port: number): string[] {
  const wanted = `:${port.toString(16).toUpperCase().padStart(4, '0')}`
  try {
    const lines = readFileSync(file, 'utf8').split('\n').slice(1)
    return lines.flatMap((line) => {
      const words = line.trim().split(/\s+/)
      return words[1]?.endsWith(wanted) === true && words[3] === LISTENING ? [words[9]!] : []
    })
  } catch {
    return []
  }
}

function hasSocket(pid: string, inodes: ReadonlySet<string>): boolean {
  try {
    return readdirSync(`/proc/${pid}/fd`).some((fd) => {
      const link = readlinkSync(`/proc/${pid}/fd/${fd}`)
      return link.startsWith('socket:[') && inodes.has(link.slice(8, -1))
    })
  } catch {
    return false
  }
}

/** What it says of itself when it has started. */
function banner(
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
  return `${head}${text}Try: curl -i ${url}${routeOf('check').path} -d ${body}\n`
}

function historyText(history: string, { database, data }: Settings): string {
  if (database !== undefined) return history
  return `PGlite in ${data}/`.padEnd(38) + ' DATABASE_URL: PostgreSQL'
}

/** What goes on while Redis does not answer. */
function startedDegraded({ backing, tenants }: Service): string {
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
