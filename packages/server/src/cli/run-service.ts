/** Runs a service from the command line: says where it is, or what went wrong, and stops it when it is asked to. */
import { hostname } from 'node:os'
import type { Settings } from '../config.js'
import { CountersError } from '../counters/counters-error.js'
import type { RefusedRules } from '../rules-file/load-rules.js'
import { printFaults } from '../rules-file/print-faults.js'
import { type Service, serve } from '../serve.js'
import { FaultyRules } from '../supply/supply.js'
import { Log } from '../telemetry/log.js'
import { banner, type ServiceKind, startedDegraded } from './banner.js'
import { CommandError } from './exit-codes.js'
import { faultyRules } from './faulty-rules.js'
import { portHolder } from './port-holder.js'
import type { Terminal } from './terminal.js'

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
