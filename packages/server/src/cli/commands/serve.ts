/** `sluice serve` starts the service; `sluice sidecar` starts it as it is beside a gateway, one in each pod. */
import type { Command } from 'commander'
import { isSecret, SETTINGS, UsageError } from '../../config.js'
import { NOT_OF_A_SIDECAR, SIDECAR_STANDARDS, sidecarSettings } from '../../sidecar.js'
import { command } from '../command.js'
import { runService } from '../run-service.js'
import {
  addConfig,
  type OwnSettings,
  STANDARD_CONFIG,
  settingOption,
  statedSettings,
} from '../stated-settings.js'

type Name = keyof typeof SETTINGS

export const serve = command('serve', {
  summary: 'start the server',
  description:
    'Starts the server: decides over REST, by the rules of a file, a database or a feed.',
  setUp: (made) => void addServiceOptions(made),
  run: async ({ options, terminal, command: { parent } }) => {
    refuseStrangers('serve', parent!.opts())
    await runService('service', statedSettings(options, terminal), terminal)
  },
})

const OF_A_SIDECAR: OwnSettings = {
  standards: SIDECAR_STANDARDS,
  help: {
    rules: 'a rules file, or feed: follow a control plane over Redis',
    leases:
      'take tokens from Redis ahead of time and spend them in memory; a rule may say otherwise',
    data: 'where the last known rules are kept',
  },
}

export const sidecar = command('sidecar', {
  summary: 'start the server beside a gateway',
  description:
    'Starts the server beside a gateway: decides from memory where it can, by tokens that it takes from Redis ahead of time, and follows the rules of a control plane unless it is given a file.',
  setUp: (made) =>
    void addServiceOptions(made, OF_A_SIDECAR, NOT_OF_A_SIDECAR)
      // Known, so that it can be refused in words.
      .addOption(settingOption('database').hideHelp()),
  run: async ({ options, terminal, command: { parent } }) => {
    refuseStrangers('sidecar', parent!.opts())
    const stated = statedSettings(options, terminal, SIDECAR_STANDARDS)
    await runService('sidecar', sidecarSettings(stated), terminal)
  },
})

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

/** A flag for every setting, under the heads of the help. `without`: settings that this command has no use for. */
function addServiceOptions(
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
function refuseStrangers(name: string, globals: Readonly<Record<string, unknown>>): void {
  if (globals['token'] !== undefined)
    throw new UsageError(
      `--token is what a caller shows. The one that ${name} demands comes from SLUICE_TOKEN, which others on this machine cannot read`,
    )
  for (const [option, flag] of Object.entries(NOT_HERE))
    if (globals[option] !== undefined)
      throw new UsageError(`${flag} says nothing to ${name}: it starts a server and asks none`)
}
