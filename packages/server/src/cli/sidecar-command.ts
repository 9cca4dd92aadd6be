/** `sluice sidecar`: starts the service as it is beside a gateway, one in each pod. */
import type { Command } from 'commander'
import { NOT_OF_A_SIDECAR, SIDECAR_STANDARDS, sidecarSettings } from '../sidecar.js'
import { runService } from './run-service.js'
import { addServiceOptions, refuseStrangers } from './service-options.js'
import { type Flags, type OwnSettings, settingOption, statedSettings } from './stated-settings.js'
import type { Terminal } from './terminal.js'

const OWN: OwnSettings = {
  standards: SIDECAR_STANDARDS,
  help: {
    rules: 'a rules file, or feed: follow a control plane over Redis',
    leases:
      'take tokens from Redis ahead of time and spend them in memory; a rule may say otherwise',
    data: 'where the last known rules are kept',
  },
}

export function addSidecar(program: Command, terminal: Terminal): void {
  const command = program
    .command('sidecar')
    .summary('start the server beside a gateway')
    .description(
      'Starts the server beside a gateway: decides from memory where it can, by tokens that it takes from Redis ahead of time, and follows the rules of a control plane unless it is given a file.',
    )
  addServiceOptions(command, OWN, NOT_OF_A_SIDECAR)
    // Known, so that it can be refused in words.
    .addOption(settingOption('database').hideHelp())
    .action(async (flags: Flags) => {
      refuseStrangers('sidecar', program.opts())
      const stated = statedSettings(flags, terminal, SIDECAR_STANDARDS)
      await runService('sidecar', sidecarSettings(stated), terminal)
    })
}
