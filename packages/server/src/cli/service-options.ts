/** The options of the commands that start a service: a flag for every setting, under the heads of their help. */
import type { Command } from 'commander'
import { isSecret, SETTINGS, UsageError } from '../config.js'
import { addConfig, type OwnSettings, STANDARD_CONFIG, settingOption } from './stated-settings.js'

type Name = keyof typeof SETTINGS

const GROUPS: Readonly<Record<string, readonly Name[]>> = {
  'Rules and counters:': [
    'rules',
    'redis',
    'redis-prefix',
    'redis-deadline',
    'instances',
    'leases',
    'database',
    'data',
    'max-keys',
    'document-bytes',
    'document-depth',
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
  'Requests, answers and logs:': ['auth-headers', 'headers', 'answers', 'log-level', 'dev'],
}

/** Options of every command that say nothing to a server that is started here. */
const NOT_HERE = { server: '--server', namespace: '--namespace', json: '--json' } as const

/** `without`: settings that this command has no use for. */
export function addServiceOptions(
  command: Command,
  own: OwnSettings = {},
  without: readonly Name[] = [],
): Command {
  addConfig(command.configureHelp({ showGlobalOptions: false }))
  for (const name of Object.keys(SETTINGS) as Name[]) {
    if (isSecret(name) || without.includes(name)) continue
    const group = Object.keys(GROUPS).find((each) => GROUPS[each]!.includes(name))
    if (group === undefined) throw new Error(`${name} is in no group of the help`)
    command.addOption(settingOption(name, own).helpGroup(group))
  }
  return command.addHelpText(
    'after',
    `
Every option is also a variable, and a key of ${STANDARD_CONFIG}: --idle-timeout, SLUICE_IDLE_TIMEOUT, idle-timeout.
SLUICE_TOKEN is what callers must show; it has no flag, since others could read it there.`,
  )
}

/** A token that was given and not used would leave the server open. */
export function refuseStrangers(name: string, globals: Readonly<Record<string, unknown>>): void {
  if (globals['token'] !== undefined)
    throw new UsageError(
      `--token is what a caller shows. The one that ${name} demands comes from SLUICE_TOKEN, which others on this machine cannot read`,
    )
  for (const [option, flag] of Object.entries(NOT_HERE))
    if (globals[option] !== undefined)
      throw new UsageError(`${flag} says nothing to ${name}: it starts a server and asks none`)
}
