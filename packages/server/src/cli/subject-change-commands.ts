/** `sluice subject tier`, `override` and `reset`: changes for one subject. */
import type { Command } from 'commander'
import { UsageError } from '../config.js'
import { printable } from '../rules-file/print-faults.js'
import { globalsOf } from './globals.js'
import { type Json, pathOf, ServerClient } from './server-client.js'
import { readSubject } from './subject-arguments.js'
import type { Terminal } from './terminal.js'
import { printTime, readUntil } from './times.js'

/** What changes for a subject, and what takes it away again. */
export interface ChangeOptions {
  readonly until?: string
  readonly reason?: string
  readonly remove?: boolean
}

export const UNTIL = [
  '--until <TIME>',
  'when it ends by itself: a time, or 2h, 7d from now',
] as const
export const REASON = ['--reason <TEXT>', 'why, for whoever asks later'] as const

/** The fields that the options state. */
export function endAndReason({ until, reason }: ChangeOptions, now: number): Json {
  return {
    ...(until === undefined ? {} : { until: readUntil('--until', until, now) }),
    ...(reason === undefined ? {} : { reason }),
  }
}

/** `until` in words, where it ends at all. */
export function ending(body: Json): string {
  const { until } = body
  return typeof until === 'string' ? `, ends ${printable(printTime(until, Date.now()))}` : ''
}

export function refuseBoth(remove: boolean | undefined, others: readonly unknown[]): void {
  if (remove === true && others.some((other) => other !== undefined))
    throw new UsageError('--remove takes away; nothing else goes with it')
}

export function addTier(subject: Command, terminal: Terminal): void {
  subject
    .command('tier')
    .summary('put a subject into a tier')
    .description('Puts a subject into a tier. What it has used stays as it is.')
    .argument('<scope:value>', 'whom, such as user:42')
    .argument('[TIER]', 'such as pro')
    .option('--remove', 'take it out of its tier')
    .action(
      async (
        text: string,
        tier: string | undefined,
        { remove }: ChangeOptions,
        command: Command,
      ) => {
        const globals = globalsOf(command, terminal)
        const { scope, value } = readSubject(text)
        refuseBoth(remove, [tier])
        if (tier === undefined && remove !== true)
          throw new UsageError('which tier? Name it, or say --remove')
        const path = pathOf(['subjects', scope, value, 'tier'], { namespace: globals.namespace })
        const client = new ServerClient(globals)
        const { body } = await client.ask('PUT', path, { body: { tier: tier ?? null } })
        if (globals.json) terminal.out(`${JSON.stringify(body)}\n`)
        else if (tier === undefined) terminal.say(`${printable(text)} is in no tier.\n`)
        else terminal.say(`${printable(text)} is in tier ${printable(tier)}.\n`)
      },
    )
}

export function addOverride(subject: Command, terminal: Terminal): void {
  subject
    .command('override')
    .summary('give a subject other limits of a rule')
    .description(
      'Gives a subject other limits of a rule, until a time. It is the same counter with other numbers: nobody is refilled or emptied.',
    )
    .argument('<scope:value>', 'whom, such as user:42')
    .argument('<RULE>', 'of which rule')
    .argument('[LIMIT...]', 'such as 100/s')
    .option(...UNTIL)
    .option(...REASON)
    .option('--remove', "take it away: the rule's own limits hold again")
    .action(
      async (
        text: string,
        rule: string,
        limits: string[],
        options: ChangeOptions,
        command: Command,
      ) => {
        const globals = globalsOf(command, terminal)
        const { scope, value } = readSubject(text)
        const { namespace } = globals
        const client = new ServerClient(globals)
        const place = ['subjects', scope, value, 'override']
        refuseBoth(options.remove, [limits[0], options.until, options.reason])
        if (options.remove === true) {
          await client.ask('DELETE', pathOf(place, { rule, namespace }))
          if (globals.json) terminal.out(`${JSON.stringify({ removed: true })}\n`)
          else terminal.say(`${printable(text)} has the limits of ${printable(rule)} again.\n`)
          return
        }
        if (limits.length === 0) throw new UsageError('which limits? Name them, or say --remove')
        const fields = { rule, limits, ...endAndReason(options, Date.now()) }
        const { body } = await client.ask('POST', pathOf(place, { namespace }), { body: fields })
        if (globals.json) terminal.out(`${JSON.stringify(body)}\n`)
        else
          terminal.say(
            `${printable(text)} has ${printable(limits.join(', '))} of ${printable(rule)}${ending(body)}.\n`,
          )
      },
    )
}

export function addReset(subject: Command, terminal: Terminal): void {
  subject
    .command('reset')
    .summary('give back all that a subject has used')
    .description('Gives back all that a subject has used, of all rules or of one.')
    .argument('<scope:value>', 'whom, such as user:42')
    .option('--rule <RULE>', 'of this rule only')
    .action(async (text: string, { rule }: { rule?: string }, command: Command) => {
      const globals = globalsOf(command, terminal)
      const { scope, value } = readSubject(text)
      const { namespace } = globals
      const client = new ServerClient(globals)
      const { body } = await client.ask('POST', '/v1/reset', {
        body: {
          subject: { [scope]: value },
          ...(rule === undefined ? {} : { rule }),
          ...(namespace === undefined ? {} : { namespace }),
        },
      })
      if (globals.json) return terminal.out(`${JSON.stringify(body)}\n`)
      const count = Number(body['reset'])
      const words = count === 1 ? '1 counter' : `${count} counters`
      terminal.say(count === 0 ? 'Nothing was used.\n' : `${words} of ${printable(text)} reset.\n`)
    })
}
