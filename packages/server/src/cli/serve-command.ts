/** `sluice serve`: starts the service, says where it is, and stops it when it is asked to. */
import { hostname } from 'node:os'
import type { Command } from 'commander'
import { isSecret, SETTINGS, type Settings, UsageError } from '../config.js'
import { CountersError } from '../counters/counters-error.js'
import type { RefusedRules } from '../rules-file/load-rules.js'
import { printFaults } from '../rules-file/print-faults.js'
import { type Service, serve } from '../serve.js'
import { FaultyRules } from '../supply/supply.js'
import { Log } from '../telemetry/log.js'
import { banner, startedDegraded } from './banner.js'
import { CommandError } from './exit-codes.js'
import { faultyRules } from './faulty-rules.js'
import { portHolder } from './port-holder.js'
import {
  addConfig,
  type Flags,
  STANDARD_CONFIG,
  settingOption,
  statedSettings,
} from './stated-settings.js'
import type { Terminal } from './terminal.js'

/** Options of `serve` under the heads of its help. */
const GROUPS: Readonly<Record<string, readonly (keyof typeof SETTINGS)[]>> = {
  'Rules and counters:': [
    'rules',
    'redis',
    'redis-prefix',
    'redis-deadline',
    'instances',
    'database',
    'data',
    'max-keys',
  ],
  'Kept in the database:': ['audit-days', 'violations-days', 'usage-days', 'usage-history-days'],
  'Listening:': ['host', 'port', 'socket', 'tls-cert', 'tls-key', 'tls-client-ca'],
  'Connections:': [
    'max-connections',
    'request-timeout',
    'idle-timeout',
    'drain-delay',
    'fast-path',
  ],
  'Answers and logs:': ['headers', 'log-level', 'dev'],
}

/** Options of every command that say nothing to a server that is started here. */
const NOT_HERE = { server: '--server', namespace: '--namespace', json: '--json' } as const

export function addServe(program: Command, terminal: Terminal): void {
  const command = addConfig(
    program
      .command('serve')
      .summary('start the server')
      .description(
        'Starts the server: decides over REST, by the rules of a file, a database or a feed.',
      )
      .configureHelp({ showGlobalOptions: false }),
  )
  for (const name of Object.keys(SETTINGS) as (keyof typeof SETTINGS)[]) {
    if (isSecret(name)) continue
    const [group = 'More:'] = Object.entries(GROUPS).find(([, names]) => names.includes(name)) ?? []
    command.addOption(settingOption(name).helpGroup(group))
  }
  command.addHelpText(
    'after',
    `
Every option is also a variable, and a key of ${STANDARD_CONFIG}: --max-keys, SLUICE_MAX_KEYS, max-keys.
SLUICE_TOKEN is what callers must show; it has no flag, since others could read it there.`,
  )
  command.action(async (flags: Flags) => {
    refuseStrangers(program.opts())
    await run(statedSettings(flags, terminal), terminal)
  })
}

/** A token that was given and not used would leave the server open. */
function refuseStrangers(globals: Readonly<Record<string, unknown>>): void {
  if (globals['token'] !== undefined)
    throw new UsageError(
      '--token is what a caller shows. The one that serve demands comes from SLUICE_TOKEN, which others on this machine cannot read',
    )
  for (const [name, flag] of Object.entries(NOT_HERE))
    if (globals[name] !== undefined)
      throw new UsageError(`${flag} says nothing to serve: it starts a server and asks none`)
}

async function run(settings: Settings, terminal: Terminal): Promise<void> {
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
    throw await inWords(error, settings, terminal)
  }
  stopOnSignal(service, log)
  terminal.say(banner(service, settings, terminal))
  if (service.backing.trouble !== null) log.warn(startedDegraded(service))
}

/** What goes wrong at the start, in words. */
async function inWords(
  error: unknown,
  { port, host }: Settings,
  terminal: Terminal,
): Promise<unknown> {
  if (error instanceof FaultyRules) return faultyRules(error.file, error.refused, terminal)
  if (error instanceof CountersError)
    return new CommandError(`${error.message}. Another folder: --data DIR`)
  const { code } = error as NodeJS.ErrnoException
  const { path, syscall } = error as NodeJS.ErrnoException
  if (syscall === 'listen' && path !== undefined)
    return new CommandError(`${path} cannot be used (${code}). Another place: --socket PATH`)
  if (code === 'EADDRINUSE') {
    const holder = portHolder(port)
    const by = holder === null ? '' : ` by ${holder.command} (pid ${holder.pid})`
    const here = (await isSluice(port))
      ? `: Sluice runs there already, http://localhost:${port}`
      : ''
    return new CommandError(`Port ${port} is taken${by}${here}. Try: PORT=${port + 10} npm start`)
  }
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND')
    return new CommandError(`This machine has no address ${host}. Try: --host 127.0.0.1`)
  if (code === 'EACCES')
    return new CommandError(`Port ${port} may not be used by this user. Try: --port 4290`)
  return error
}

/** Whether whoever has the port answers as Sluice does. */
async function isSluice(port: number): Promise<boolean> {
  try {
    const signal = AbortSignal.timeout(500)
    const answer = await fetch(`http://127.0.0.1:${port}/readyz`, { signal })
    const body = (await answer.json()) as { ready?: unknown }
    return typeof body.ready === 'boolean'
  } catch {
    return false
  }
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
