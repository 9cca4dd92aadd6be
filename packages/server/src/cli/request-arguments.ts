/** Who and what is meant, as it is written behind a command: `user:42 GET /v1/search --cost 2`. */
import type { RequestField } from '@sluice/contract'
import { quote } from '@sluice/limiter/transport'
import { UsageError } from '../config.js'
import type { Flag, FlagValues } from './command-options.js'

/** One subject. */
export const WHOM = ['<scope:value>', 'whom, such as user:42'] as const

export const REQUEST_ARGUMENTS = [
  ['<scope:value...>', 'who asks, such as user:42 ip:203.0.113.9; then [METHOD] [/path]'],
] as const

/** The option for each field of a request; null: it has none. A field that is missing here does not compile. */
const OPTIONS = {
  // These are arguments.
  subject: null,
  resource: null,
  method: null,
  scope: null,
  identifier: null,
  // It is an option of every command.
  namespace: null,
  cost: ['--cost <N>', 'requests to be charged'],
  costs: ['--costs <UNIT=N,...>', 'other units to be charged, such as tokens=1500'],
  tier: ['--tier <NAME>', 'the tier to decide by, instead of the one that the rules name'],
  dry_run: ['--dry-run', 'decide, but count nothing'],
  // A command asks once and holds nothing.
  idempotency_key: null,
  hold: null,
} as const satisfies { readonly [F in RequestField]: Flag | null }

type Options = typeof OPTIONS

export const REQUEST_OPTIONS = Object.values(OPTIONS).filter(
  (option): option is NonNullable<Options[RequestField]> => option !== null,
)

export interface RequestWords {
  readonly subject: Readonly<Record<string, string>>
  readonly method?: string
  readonly resource?: string
}

const SUBJECT = /^([a-z][a-z0-9_]{0,31}):(.+)$/s
const METHOD = /^[A-Za-z][A-Za-z-]{0,31}$/
const BOTH = /^([A-Za-z][A-Za-z-]{0,31}) +(\/.*)$/s

export function readSubject(text: string): { readonly scope: string; readonly value: string } {
  const match = SUBJECT.exec(text)
  if (match === null)
    throw new UsageError(`${quote(text)} is not scope:value; expected a subject such as user:42`)
  return { scope: match[1]!, value: match[2]! }
}

export function readWords(words: readonly string[]): RequestWords {
  const subject: Record<string, string> = {}
  const request: Record<string, string> = {}
  const once = (field: string, value: string) => {
    if (request[field] !== undefined)
      throw new UsageError(`${quote(value)} is a second ${field}; expected one`)
    request[field] = value
  }
  for (const word of words) {
    const both = BOTH.exec(word)
    if (word.startsWith('/')) once('resource', word)
    else if (SUBJECT.test(word)) {
      const { scope, value } = readSubject(word)
      if (Object.hasOwn(subject, scope)) throw new UsageError(`${scope} is named twice`)
      subject[scope] = value
    } else if (both !== null) {
      once('method', both[1]!.toUpperCase())
      once('resource', both[2]!)
    } else if (METHOD.test(word)) once('method', word.toUpperCase())
    else
      throw new UsageError(
        `${quote(word)} is neither scope:value (user:42) nor a method (GET) nor a path (/v1/search)`,
      )
  }
  return { subject, ...request }
}

/** The body of a check. An option of REQUEST_OPTIONS that is not read here does not compile. */
export function readRequest(
  words: readonly string[],
  { cost, costs, tier, dryRun, ...unread }: FlagValues<typeof REQUEST_OPTIONS>,
) {
  unread satisfies Readonly<Record<PropertyKey, never>>
  return {
    ...readWords(words),
    ...(cost === undefined ? {} : { cost: whole('--cost', cost) }),
    ...(costs === undefined ? {} : { costs: readCosts(costs) }),
    ...(tier === undefined ? {} : { tier }),
    ...(dryRun === true ? { dry_run: true } : {}),
  }
}

function readCosts(text: string): Record<string, number> {
  const pairs = text.split(',').map((pair) => {
    const [unit = '', amount = '', ...rest] = pair.split('=')
    if (unit.trim() === '' || rest.length > 0 || amount === '')
      throw new UsageError(`--costs has ${quote(pair)}; expected unit=number, such as tokens=1500`)
    return [unit.trim(), whole(`--costs ${unit.trim()}`, amount.trim())] as const
  })
  return Object.fromEntries(pairs)
}

function whole(name: string, text: string): number {
  if (/^\d{1,15}$/.test(text)) return Number(text)
  throw new UsageError(`${name} is ${quote(text)}; expected a whole number`)
}
