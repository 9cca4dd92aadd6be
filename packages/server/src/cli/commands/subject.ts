/** `sluice subject`: what holds for one subject, and what is changed for it alone. */
import type { LimitsInput } from '@sluice/limiter'
import { UsageError } from '../../config.js'
import { command, group } from '../command.js'
import { EXIT } from '../exit-codes.js'
import type { AnswerOf } from '../operation.js'
import { readSubject, readWords, WHOM } from '../request-arguments.js'
import { type Cell, printTable } from '../table.js'
import type { Terminal } from '../terminal.js'
import { printTime, readUntil } from '../times.js'

const UNTIL = ['--until <TIME>', 'when it ends by itself: a time, or 2h, 7d from now'] as const
const REASON = ['--reason <TEXT>', 'why, for whoever asks later'] as const

type Limits = AnswerOf<'subjectLimits'>
type Limit = Limits['limits'][number]

const show = command('show', {
  operation: 'subjectLimits',
  summary: 'show the limits that hold for a subject',
  description:
    'Shows the limits that hold for a subject, why each does, and what is left of it now. Counts nothing.',
  usage: '<scope:value> [METHOD] [/path] [options]',
  arguments: [
    ['<scope:value>', 'whose, such as user:42'],
    ['[METHOD /path...]', 'of a request for this, such as GET /v1/search'],
  ],
  ask: ({ args: [whom, words] }) => {
    const params = readSubject(whom)
    const { resource, method } = readWords([whom, ...words])
    return { params, query: { resource, method } }
  },
  show: (limits, { args: [whom], terminal, now }) => ({
    data: printLimits(limits, whom, terminal, now),
  }),
})

function printLimits(
  { limits, blocked, exempt, tier }: Limits,
  whom: string,
  terminal: Terminal,
  now: number,
): string {
  const state: Cell[] = [whom]
  if (blocked) state.push({ text: 'BLOCKED', style: 'red' })
  if (exempt) state.push({ text: 'exempt from all rules', style: 'green' })
  if (tier !== null) state.push(`tier ${tier}`)
  if (state.length === 1) state.push(limits.length === 0 ? 'no rule applies' : 'no tier')
  const lines = limits.map((limit) => lineOf(limit, now))
  return printTable([state], terminal) + printTable(lines, terminal, { indent: '  ' })
}

function lineOf(one: Limit, now: number): Cell[] {
  const { rule, limit, remaining, limit_total, unit, shadow, why, override } = one
  const left = remaining === null ? '-' : `${remaining} of ${limit_total} left`
  const counted = unit === 'requests' ? left : `${left} (${unit})`
  return [rule, limit, counted, `${overrideWords(override, now) ?? why}${shadow ? '; shadow' : ''}`]
}

/** Null where the rule's own limits hold. */
function overrideWords(override: Limit['override'], now: number): string | null {
  if (override === null) return null
  const { until, reason } = override
  return `an override${ending(until, now)}${reason === null ? '' : `: ${reason}`}`
}

/** Where it ends at all. */
function ending(until: string | null, now: number): string {
  return until === null ? '' : `, ends ${printTime(until, now)}`
}

interface Changes {
  readonly until: string | undefined
  readonly reason: string | undefined
}

/** The fields that the options state. */
function endAndReason({ until, reason }: Changes, now: number) {
  return {
    ...(until === undefined ? {} : { until: readUntil('--until', until, now) }),
    ...(reason === undefined ? {} : { reason }),
  }
}

function refuseBoth(remove: true | undefined, others: readonly unknown[]): void {
  if (remove === true && others.some((other) => other !== undefined))
    throw new UsageError('--remove takes away; nothing else goes with it')
}

const tier = command('tier', {
  operation: 'setTier',
  summary: 'put a subject into a tier',
  description: 'Puts a subject into a tier. What it has used stays as it is.',
  arguments: [WHOM, ['[TIER]', 'such as pro']],
  options: [['--remove', 'take it out of its tier']],
  ask: ({ args: [whom, name], options: { remove } }) => {
    const params = readSubject(whom)
    refuseBoth(remove, [name])
    if (name === undefined && remove !== true)
      throw new UsageError('which tier? Name it, or say --remove')
    return { params, body: { tier: name ?? null } }
  },
  show: (_, { args: [whom, name] }) => ({
    words: name === undefined ? `${whom} is in no tier.` : `${whom} is in tier ${name}.`,
  }),
})

const override = command('override', {
  operation: 'setOverride',
  also: ['deleteOverride'],
  summary: 'give a subject other limits of a rule',
  description:
    'Gives a subject other limits of a rule, until a time. It is the same counter with other numbers: nobody is refilled or emptied.',
  arguments: [WHOM, ['<RULE>', 'of which rule'], ['[LIMIT...]', 'such as 100/s']],
  options: [UNTIL, REASON, ['--remove', "take it away: the rule's own limits hold again"]],
  run: async ({ args: [whom, rule, limits], options, client, now }) => {
    const params = readSubject(whom)
    refuseBoth(options.remove, [limits[0], options.until, options.reason])
    if (options.remove === true) {
      await client.call('deleteOverride', { params, query: { rule } })
      return { json: { removed: true }, words: `${whom} has the limits of ${rule} again.` }
    }
    if (limits.length === 0) throw new UsageError('which limits? Name them, or say --remove')
    // The server reads the limits.
    const fields = { rule, limits: limits as LimitsInput, ...endAndReason(options, now) }
    const { body } = await client.call('setOverride', { params, body: fields })
    const words = `${whom} has ${limits.join(', ')} of ${rule}${ending(body.until, now)}.`
    return { json: body, words }
  },
})

/** The lists that decide before any rule. */
const LISTS = {
  block: {
    all: 'listBlocks',
    create: 'createBlock',
    remove: 'deleteBlock',
    is: 'blocked',
    summary: 'refuse a subject before any rule is asked',
    does: 'Refuses a subject before any rule is asked',
  },
  exempt: {
    all: 'listExemptions',
    create: 'createExemption',
    remove: 'deleteExemption',
    is: 'exempt',
    summary: 'let a subject through all rules',
    does: 'Lets a subject through all rules',
  },
} as const

function listing(name: keyof typeof LISTS) {
  const { all, create, remove, is, summary, does } = LISTS[name]
  return command(name, {
    operation: create,
    also: [all, remove],
    summary,
    description: `${does}, until a time. A value of ip may be a network: ip:198.51.100.0/24.`,
    arguments: [WHOM],
    options: [UNTIL, REASON, ['--remove', 'take it off the list. Exit 6: it is not on it']],
    run: async ({ args: [whom], options, client, now }) => {
      const { scope, value } = readSubject(whom)
      refuseBoth(options.remove, [options.until, options.reason])
      if (options.remove !== true) {
        const fields = { scope, value, ...endAndReason(options, now) }
        const { body } = await client.call(create, { body: fields })
        return { json: body, words: `${whom} is ${is}${ending(body.until, now)}.` }
      }
      // Somebody may be on a list several times, with several reasons.
      const items = await client.list(all)
      const found = items.filter((item) => item.scope === scope && item.value === value)
      for (const { id } of found) await client.call(remove, { params: { id } })
      return {
        json: { removed: found.length },
        words: `${whom} ${found.length === 0 ? 'is not' : 'is no longer'} ${is}.`,
        exit: found.length === 0 ? EXIT.no : EXIT.yes,
      }
    },
  })
}

const reset = command('reset', {
  operation: 'reset',
  summary: 'give back all that a subject has used',
  description: 'Gives back all that a subject has used, of all rules or of one.',
  arguments: [WHOM],
  options: [['--rule <RULE>', 'of this rule only']],
  ask: ({ args: [whom], options: { rule } }) => {
    const { scope, value } = readSubject(whom)
    return { body: { subject: { [scope]: value }, ...(rule === undefined ? {} : { rule }) } }
  },
  show: ({ reset: count }, { args: [whom] }) => {
    if (count === 0) return { words: 'Nothing was used.' }
    return { words: `${count === 1 ? '1 counter' : `${count} counters`} of ${whom} reset.` }
  },
})

export const subject = group(
  'subject',
  'see and change what holds for one subject',
  'Shows what holds for one subject, and changes it for that one alone.',
  [show, tier, override, listing('block'), listing('exempt'), reset],
)
