/** What is asked for, as it is written behind `check` and `explain`: `user:42 GET /v1/search --cost 2`. */

import { quote } from '@sluice/limiter/transport'
import type { Command } from 'commander'
import { UsageError } from '../config.js'
import type { Json } from './server-client.js'

export interface RequestOptions {
  readonly cost?: string
  readonly costs?: string
  readonly tier?: string
  readonly dryRun?: boolean
}

const SUBJECT = /^([a-z][a-z0-9_]{0,31}):(.+)$/s
const METHOD = /^[A-Za-z][A-Za-z-]{0,31}$/
const BOTH = /^([A-Za-z][A-Za-z-]{0,31}) +(\/.*)$/s

export function addRequestArguments(command: Command): Command {
  return command
    .argument('<scope:value...>', 'who asks, such as user:42 ip:203.0.113.9; then [METHOD] [/path]')
    .option('--cost <N>', 'requests to be charged')
    .option('--costs <UNIT=N,...>', 'other units to be charged, such as tokens=1500')
    .option('--tier <NAME>', 'the tier to decide by, instead of the one that the rules name')
    .option('--dry-run', 'decide, but count nothing')
}

/** The body of a check. */
export function readRequest(words: readonly string[], options: RequestOptions): Json {
  const subject: Record<string, string> = {}
  const body: Record<string, unknown> = { subject }
  const once = (field: string, value: string) => {
    if (body[field] !== undefined)
      throw new UsageError(`${quote(value)} is a second ${field}; expected one`)
    body[field] = value
  }
  for (const word of words) {
    const named = SUBJECT.exec(word)
    const both = BOTH.exec(word)
    if (word.startsWith('/')) once('resource', word)
    else if (named !== null) {
      const [, scope, value] = named as unknown as [string, string, string]
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
  const { cost, costs, tier, dryRun } = options
  if (cost !== undefined) body['cost'] = whole('--cost', cost)
  if (costs !== undefined) body['costs'] = readCosts(costs)
  if (tier !== undefined) body['tier'] = tier
  if (dryRun === true) body['dry_run'] = true
  return body
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
