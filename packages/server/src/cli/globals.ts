/** The options that every command takes, and what they say together with the environment. */
import type { Command } from 'commander'
import type { Terminal } from './terminal.js'

export const STANDARD_SERVER = 'http://localhost:4290'

export interface Globals {
  readonly server: string
  /** Somebody named the server; else it is the standard one. */
  readonly isServerStated: boolean
  readonly token: string | undefined
  readonly namespace: string | undefined
  /** One JSON document on stdout. */
  readonly json: boolean
  /** Do it without confirmation. */
  readonly yes: boolean
  /** Confirmation may be asked for. */
  readonly input: boolean
}

export function addGlobals(program: Command): void {
  program
    .option('--server <URL>', `the server to ask (${STANDARD_SERVER}) [SLUICE_SERVER]`)
    .option('--token <TEXT>', 'what to show it; the variable is seen by fewer [SLUICE_TOKEN]')
    .option('--namespace <NAME>', 'whose rules are meant')
    .option('--json', 'one JSON document instead of words and tables')
    .option('--no-color', 'no colour, as NO_COLOR does')
    .option('--no-input', 'never ask for confirmation')
    .option('--yes', 'do it without confirmation')
}

export function globalsOf(command: Command, { environment }: Terminal): Globals {
  const stated = command.optsWithGlobals<Partial<Globals>>()
  const said = (name: string) => environment[name] || undefined
  const server = stated.server ?? said('SLUICE_SERVER')
  return {
    server: server ?? STANDARD_SERVER,
    isServerStated: server !== undefined,
    token: stated.token ?? said('SLUICE_TOKEN'),
    namespace: stated.namespace,
    json: stated.json === true,
    yes: stated.yes === true,
    input: stated.input !== false,
  }
}
