/** `sluice serve`: starts the service, says where it is, and stops it when it is asked to. */
import { existsSync, readFileSync } from 'node:fs'
import { hostname } from 'node:os'
import type { Command } from 'commander'
import { Option } from 'commander'
import { parse } from 'yaml'
import { readSettings, SETTINGS, type Settings, UsageError, variableOf } from '../config.js'
import type { RefusedRules } from '../rules-file/load-rules.js'
import { printFaults } from '../rules-file/print-faults.js'
import { FaultyRules, type Service, serve } from '../serve.js'
import { Log } from '../telemetry/log.js'
import { banner, startedDegraded } from './banner.js'
import { CommandError, EXIT } from './exit-codes.js'
import { portHolder } from './port-holder.js'
import type { Terminal } from './terminal.js'

const STANDARD_CONFIG = 'sluice.config.yaml'

export function addServe(program: Command, terminal: Terminal): void {
  const command = program
    .command('serve')
    .description('decide over REST, by the rules of a file')
    .option(
      '--config <FILE>',
      `settings by name; ${STANDARD_CONFIG} of the working folder where there is one`,
    )
  for (const [name, { kind, help, ...more }] of Object.entries(SETTINGS)) {
    if ('isSecret' in more && more.isSecret) continue
    const flag = kind.placeholder === null ? `--${name}` : `--${name} <${kind.placeholder}>`
    const standard = 'standard' in more ? ` (${String(more.standard)})` : ''
    command.addOption(new Option(flag, `${help}${standard} [${variableOf(name)}]`))
  }
  command.action(async (flags: Record<string, string | boolean | undefined>) => {
    const started = performance.now() - process.uptime() * 1000 > 0 ? 0 : performance.timeOrigin
    await run(settingsOf(flags, terminal), terminal, started)
  })
}

function settingsOf(
  options: Record<string, string | boolean | undefined>,
  { environment }: Terminal,
): Settings {
  const flags = Object.fromEntries(
    Object.entries(options).map(([name, value]) => [
      name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`),
      value,
    ]),
  )
  const stated = flags['config']
  const name = typeof stated === 'string' ? stated : STANDARD_CONFIG
  if (stated === undefined && !existsSync(name))
    return readSettings({ flags, environment, file: null })
  return readSettings({ flags, environment, file: { name, content: readConfig(name) } })
}

function readConfig(name: string): unknown {
  try {
    return parse(readFileSync(name, 'utf8'))
  } catch (error) {
    throw new UsageError(`${name} cannot be read: ${(error as Error).message}`)
  }
}

async function run(settings: Settings, terminal: Terminal, _started: number): Promise<void> {
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
    throw inWords(error, settings, terminal)
  }
  stopOnSignal(service, log)
  terminal.say(banner(service, settings, terminal))
  if (service.backing.trouble !== null) log.warn(startedDegraded(service))
}

/** What goes wrong at the start, in words. */
function inWords(error: unknown, { port, host }: Settings, terminal: Terminal): unknown {
  if (error instanceof FaultyRules) {
    const { file, refused } = error
    const count = refused.faults.length === 1 ? '1 fault' : `${refused.faults.length} faults`
    const faults = printFaults(file, refused.text, refused.faults, { color: terminal.hasColor })
    return new CommandError(`${faults}\n${count}.`, EXIT.invalidRules)
  }
  const { code } = error as NodeJS.ErrnoException
  if (code === 'EADDRINUSE') {
    const holder = portHolder(port)
    const by = holder === null ? '' : ` by ${holder.command} (pid ${holder.pid})`
    return new CommandError(`Port ${port} is taken${by}. Try: PORT=${port + 10} npm start`)
  }
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND')
    return new CommandError(`This machine has no address ${host}. Try: --host 127.0.0.1`)
  if (code === 'EACCES')
    return new CommandError(`Port ${port} may not be used by this user. Try: --port 4290`)
  return error
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
