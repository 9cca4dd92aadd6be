/** What control routes share: the namespace of a request, pages of lists, and the versions of `If-Match`. */
import { hasControlCharacters, parseTime, quote } from '@sluice/limiter/transport'
import type { Page, PageRequest } from '../control/context.js'
import { isId } from '../control/ids.js'
import type { IfMatch } from '../control/rules-part.js'
import { ServiceError } from '../error-codes.js'
import { badField } from '../http/body.js'
import type { Call, Reply } from '../http/route.js'
import { namespaceOf } from '../security/caller.js'

/** The namespace that a query names. Throws 403 where the caller's token is not for it. */
export function namespaceIn(
  { caller }: Pick<Call, 'caller'>,
  query: { readonly namespace?: string },
  home?: string,
): string {
  return namespaceOf(caller, query.namespace, home)
}

/** The same for routes where the query, the body or both name it. */
export function namespaceOfBody(
  { caller }: Pick<Call, 'caller'>,
  query: { readonly namespace?: string },
  body: { readonly namespace?: string },
): string {
  const stated = body.namespace
  if (stated !== undefined && (query.namespace ?? stated) !== stated)
    throw badField('namespace', 'differs between the query and the body')
  return namespaceOf(caller, stated ?? query.namespace)
}

const ITEMS = 100

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/
const isNumber = (part: string) => /^\d{1,15}$/.test(part)
const isOrdinal = (part: string) => /^\d{1,9}$/.test(part)
const isTime = (part: string) => TIME.test(part) && !Number.isNaN(parseTime(part))

/** How the parts of each list's cursor look. */
const KEYS = {
  id: [isId],
  name: [(part: string) => part.length > 0 && part.length <= 200 && !hasControlCharacters(part)],
  place: [(part: string) => part.length > 0 && part.length <= 4096],
  version: [isNumber],
  audit: [isTime, isNumber, isOrdinal],
} as const

type Key = keyof typeof KEYS

export function pageIn(
  { cursor, limit = ITEMS }: { readonly cursor?: string; readonly limit?: number },
  key: Key,
): PageRequest {
  return { after: cursor === undefined ? null : readCursor(cursor, key), limit }
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

interface AnsweredPage<T> {
  readonly items: readonly T[]
  readonly next: string | null
}

/** The answer of a list. */
export function pageReply<T>({ items, next }: Page<T>, key: Key): Reply<AnsweredPage<T>> {
  const cursor =
    next === null ? null : Buffer.from(JSON.stringify([key, ...next])).toString('base64url')
  return { status: 200, body: { items, next: cursor } }
}

/** The versions that `If-Match` allows to be changed. Throws 428 without that header. */
export function requiredMatch(call: Pick<Call, 'headers'>): IfMatch {
  const match = optionalMatch(call)
  if (match !== null) return match
  throw new ServiceError(
    'version_missing',
    'If-Match is missing; expected the ETag of what is to be changed',
    { field: 'If-Match' },
  )
}

const TAG = /^(W\/)?"([^"]*)"$/

/** The same, or null without that header. Weak tags match no version, as HTTP says. */
export function optionalMatch({ headers }: Pick<Call, 'headers'>): IfMatch | null {
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

type Present<T> = { [K in keyof T]?: NonNullable<T[K]> }

/** The fields that are not null or undefined. An answer that is sent back has null for absent fields. */
export function present<T extends object>(fields: T): Present<T> {
  return Object.fromEntries(
    Object.entries(fields).filter(([, value]) => value !== undefined && value !== null),
  ) as Present<T>
}
