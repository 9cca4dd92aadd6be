/** `sluice check`: asks once, as an application would. */
import type { Command } from 'commander'
import type { SetExitCode } from './exit-codes.js'
import { type Globals, globalsOf } from './globals.js'
import { OfflineDecider } from './offline-decider.js'
import { addRequestArguments, type RequestOptions, readRequest } from './request-arguments.js'
import { type Decider, type Json, ServerClient } from './server-client.js'
import { printTable } from './table.js'
import type { Terminal } from './terminal.js'
import { decisionOf, exitOf, outcomeOf, wordsOf } from './wire-decision.js'

export interface AskOptions extends RequestOptions {
  readonly rules?: string
}

export const BY_FILE = [
  '--rules <FILE>',
  'decide by this rules file alone, without a server; nothing is used yet',
] as const

export function addCheck(program: Command, terminal: Terminal, setExitCode: SetExitCode): void {
  addRequestArguments(
    program
      .command('check')
      .summary('ask whether a request may pass, and count it')
      .description('Asks whether a request may pass now, and counts it. Exit 0: yes; 6: no.')
      .usage('<scope:value...> [METHOD] [/path] [options]'),
  )
    .option(...BY_FILE)
    .action(async (words: string[], options: AskOptions, command: Command) => {
      const globals = globalsOf(command, terminal)
      const body = withNamespace(readRequest(words, options), globals)
      const decider = await deciderOf(options, globals, terminal)
      const answer = await decider.post('/v1/check', body)
      const decision = decisionOf(answer.body)
      if (globals.json) terminal.out(`${JSON.stringify(answer.body)}\n`)
      else {
        const outcome = {
          text: outcomeOf(decision),
          style: decision.allowed ? 'green' : 'red',
        } as const
        terminal.out(printTable([[outcome, decision.rule ?? '-', wordsOf(decision)]], terminal))
        if (options.dryRun === true) terminal.say('A dry run: nothing was counted.\n')
      }
      setExitCode(exitOf(decision))
    })
}

export function withNamespace(body: Json, { namespace }: Globals): Json {
  return namespace === undefined ? body : { namespace, ...body }
}

export async function deciderOf(
  { rules }: AskOptions,
  globals: Globals,
  terminal: Terminal,
): Promise<Decider> {
  return rules === undefined ? new ServerClient(globals) : OfflineDecider.by(rules, terminal)
}
