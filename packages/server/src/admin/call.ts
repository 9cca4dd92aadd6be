/** What the admin routes read of a call besides its body: query, pages, versions, and whose namespace it is. */
import { hasControlCharacters, parseTime, quote } from '@sluice/limiter/transport'
import type { Page, PageRequest } from '../control/context.js'
import { isId } from '../control/ids.js'
import type { IfMatch } from '../control/rules-part.js'
import { ServiceError } from '../error-codes.js'
import { type Body, badField, optionalText, refuseUnknown } from '../http/body.js'
import type { Call, Reply } from '../http/route.js'
import { namespaceOf } from '../security/caller.js'

const LONGEST_PARAMETER = 4096

export type Query = Readonly<Record<string, string | undefined>>

/** Each once, and none that the route does not know. */
export function queryOf(call: Call, known: readonly string[]): Query {
  const query: Record<string, string> = {}
  for (const [name, value] of call.query()) {
    refuseUnknown({ [name]: value }, known)
    if (query[name] !== undefined) throw badField(name, 'is given twice')
    if (value.length > LONGEST_PARAMETER || hasControlCharacters(value))
      throw badField(name, `is ${quote(value)}; expected a short text without control characters`)
    query[name] = value
  }
  return query
}

/** The namespace that the query means; throws 403 outside the caller's. */
export function namespaceIn(call: Call, query: Query, home?: string): string {
  return namespaceOf(call.caller, query['namespace'], home)
}

/** Of a body that may name it too. */
export function namespaceOfBody(call: Call, query: Query, body: Body): string {
  const stated = optionalText(body, 'namespace')
  if (stated !== undefined && (query['namespace'] ?? stated) !== stated)
    throw badField('namespace', 'differs between the query and the body')
  return namespaceOf(call.caller, stated ?? query['namespace'])
}

const LIMIT = 100
const MOST = 1000
export const PAGE = ['cursor', 'limit']

/** Milliseconds since the epoch. */
export function timeIn(text: string, field: string): number {
  const time = parseTime(text)
  if (!Number.isNaN(time)) return time
  throw badField(field, `is ${quote(text)}; expected a time such as 2026-12-31T12:00:00Z`)
}

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/
const isNumber = (part: string) => /^\d{1,15}$/.test(part)
const isOrdinal = (part: string) => /^\d{1,9}$/.test(part)
const isTime = (part: string) => TIME.test(part) && !Number.isNaN(parseTime(part))

/** What the parts of a list's cursor look like. */
export const KEYS = {
  id: [isId],
  name: [(part: string) => part.length > 0 && part.length <= 200 && !hasControlCharacters(part)],
  place: [(part: string) => part.length > 0 && part.length <= 4096],
  version: [isNumber],
  audit: [isTime, isNumber, isOrdinal],
} as const

export type Key = keyof typeof KEYS

export function pageIn(query: Query, key: Key): PageRequest {
  const { cursor, limit } = query
  return { after: cursor === undefined ? null : readCursor(cursor, key), limit: readLimit(limit) }
}

function readLimit(text: string | undefined): number {
  if (text === undefined) return LIMIT
  const limit = /^\d{1,4}$/.test(text) ? Number(text) : 0
  if (limit >= 1 && limit <= MOST) return limit
  throw badField('limit', `is ${quote(text)}; expected 1 to ${MOST}`)
}

function readCursor(text: string, key: Key): string[] {
  const wrong = badField('cursor', 'is not one that this list has given')
  let parts: unknown
  try {
    parts = JSON.parse(Buffer.from(text, 'base64url').toString())
  } catch {
    throw wrong
  }
  const checks = KEYS[key]
  if (!Array.isArray(parts) || parts.length !== checks.length + 1 || parts[0] !== key) throw wrong
  const own: unknown[] = parts.slice(1)
  if (!own.every((part, i) => typeof part === 'string' && checks[i]!(part))) throw wrong
  return own as string[]
}

/** A list's answer. */
export function pageReply({ items, next }: Page<unknown>, key: Key): Reply {
  const cursor =
    next === null ? null : Buffer.from(JSON.stringify([key, ...next])).toString('base64url')
  return { status: 200, body: { items, next: cursor } }
}

/** What was asked to be changed must be what was read: 428 where nobody says. */
export function requiredMatch(call: Call): IfMatch {
  const match = optionalMatch(call)
  if (match !== null) return match
  throw new ServiceError(
    'version_missing',
    'If-Match is missing; expected the ETag of what is to be changed',
    { field: 'If-Match' },
  )
}

const TAG = /^(W\/)?"([^"]*)"$/

/** Weak tags are never the same as anything here, as HTTP has it. */
export function optionalMatch({ headers }: Call): IfMatch | null {
  const stated = headers['if-match']
  if (stated === undefined) return null
  if (stated.trim() === '*') return 'any'
  const tags = stated.split(',').map((tag) => TAG.exec(tag.trim()))
  if (tags.some((tag) => tag === null))
    throw badField('If-Match', `is ${quote(stated)}; expected an ETag such as "7", or *`)
  return tags.flatMap((tag) =>
    tag![1] === undefined && /^\d{1,15}$/.test(tag![2]!) ? [Number(tag![2])] : [],
  )
}

export const etag = (version: number): string => `"${version}"`

/** Texts for people may be absent, or null. */
export function textOrNone(body: Body, field: string): string | undefined {
  return body[field] === null ? undefined : optionalText(body, field)
}

/** Only what is there, so that optional fields stay absent. */
export function present<T extends object>(fields: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  return Object.fromEntries(
    Object.entries(fields).filter(([, value]) => value !== undefined),
  ) as never
}
