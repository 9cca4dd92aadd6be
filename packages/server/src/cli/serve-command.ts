/** `sluice serve`: starts the service. */
import type { Command } from 'commander'
import { runService } from './run-service.js'
import { addServiceOptions, refuseStrangers } from './service-options.js'
import { type Flags, statedSettings } from './stated-settings.js'
import type { Terminal } from './terminal.js'

export function addServe(program: Command, terminal: Terminal): void {
  const command = program
    .command('serve')
    .summary('start the server')
    .description(
      'Starts the server: decides over REST, by the rules of a file, a database or a feed.',
    )
  addServiceOptions(command).action(async (flags: Flags) => {
    refuseStrangers('serve', program.opts())
    await runService('service', statedSettings(flags, terminal), terminal)
  })
}
