/** What has been used and what was denied: `GET /v1/usage` and `GET /v1/violations`. */
import { maskWords, parseIp, printIp, quote } from '@sluice/limiter/transport'
import { DatabaseAway } from '../control/database.js'
import { isId } from '../control/ids.js'
import { ServiceError } from '../error-codes.js'
import { badField } from '../http/body.js'
import type { Call, Reply, Route } from '../http/route.js'
import { namespaceOf } from '../security/caller.js'
import type { Tenants } from '../tenants.js'
import type { After, Filters, Span, UsageReader } from '../usage/usage-reader.js'
import { present, queryOf, timeIn } from './call.js'
import { adminRoute } from './parts.js'

export interface UsageRoutesParts {
  /** Null where no database is open, or this instance only decides. */
  readonly reader: UsageReader | null
  readonly tenants: Pick<Tenants, 'require' | 'home'>
  /** Milliseconds since the epoch, by the clock that decides. */
  readonly now: () => number
}

/** What is asked for. */
interface Question {
  readonly filters: Filters
  readonly span: Span
  readonly after: After | null
  readonly most: number
}

const HOUR_MS = 3_600_000
const STANDARD_PAGE = 100
const LARGEST_PAGE = 1000
const COMMON = ['namespace', 'scope', 'value', 'rule', 'from', 'to', 'cursor', 'limit']

export function usageRoutes({ reader, tenants, now }: UsageRoutesParts): Route[] {
  const questionOf = (call: Call, known: readonly string[]): Question => {
    const query = queryOf(call, known)
    const namespace = namespaceOf(call.caller, query['namespace'], tenants.home)
    const { rules } = tenants.require(namespace).limiter
    const { scope, value, rule, resource } = query
    const values = value === undefined ? undefined : namesOf(value, scope, rules.ipv6Prefix)
    const cursor = readCursor(query['cursor'])
    return {
      filters: { namespace, ...present({ scope, values, rule, resource }) },
      span: cursor?.span ?? readSpan(query['from'], query['to'], now()),
      after: cursor?.after ?? null,
      most: readLimit(query['limit']),
    }
  }

  const there = (): UsageReader => {
    if (reader !== null) return reader
    throw new ServiceError('not_a_control_plane', 'no database is open here')
  }

  const usage = async (call: Call): Promise<Reply> => {
    const { filters, span, after, most } = questionOf(call, COMMON)
    const stored = there()
    const summed = stored.spanOf(span)
    const found = await stored.usage(filters, summed, after, most)
    const [from, to] = [isoTime(summed.from), isoTime(summed.to)]
    const items = found.items.map(({ scope, value, rule, allowed, denied, cost }) => {
      return { scope, value: onWire(value), rule, from, to, allowed, denied, cost }
    })
    return { status: 200, body: { items, totals: found.totals, next: cursorOf(found.next, span) } }
  }

  const violations = async (call: Call): Promise<Reply> => {
    const { filters, span, after, most } = questionOf(call, [...COMMON, 'resource'])
    const found = await there().violations(filters, span, after, most)
    const items = found.items.map(({ at, value, ...item }) => {
      return { at: at.toISOString(), value: onWire(value), ...item }
    })
    return { status: 200, body: { items, totals: found.totals, next: cursorOf(found.next, span) } }
  }

  return [
    adminRoute('GET', '/v1/usage', 'reader', whileThere(usage)),
    adminRoute('GET', '/v1/violations', 'reader', whileThere(violations)),
  ]
}

/** Without the database there is no answer, and that is said. */
function whileThere(handle: (call: Call) => Promise<Reply>): Route['handle'] {
  return async (call) => {
    try {
      return await handle(call)
    } catch (error) {
      if (!(error instanceof DatabaseAway)) throw error
      throw new ServiceError(
        'database_unavailable',
        'the database cannot be asked; what is counted meanwhile waits for it',
      )
    }
  }
}

/** What it is counted under, and may have been blocked under. */
function namesOf(value: string, scope: string | undefined, ipv6Prefix: number): string[] {
  const address = scope === 'ip' ? parseIp(value) : undefined
  if (address === undefined) return [value]
  const { version, words } = address
  const network = printIp({ version, words: maskWords(words, version === 6 ? ipv6Prefix : 32) })
  return [...new Set([printIp(address), network])]
}

/** `global` has no value. */
function onWire(value: string | null): string | null {
  return value === '' ? null : value
}

function readSpan(from: string | undefined, to: string | undefined, now: number): Span {
  const end = to === undefined ? now : readTime('to', to)
  const start = from === undefined ? Math.min(now, end) - HOUR_MS : readTime('from', from)
  if (start > end) throw badField('from', `is after to: ${isoTime(start)} > ${isoTime(end)}`)
  return { from: start, to: end }
}

/** Nothing was counted before the epoch. */
function readTime(field: string, text: string): number {
  const time = timeIn(text, field)
  if (time >= 0) return time
  throw badField(field, `is ${quote(text)}; expected a time after 1970`)
}

function readLimit(text: string | undefined): number {
  if (text === undefined) return STANDARD_PAGE
  const most = /^\d{1,4}$/.test(text) ? Number(text) : 0
  if (most >= 1 && most <= LARGEST_PAGE) return most
  throw badField('limit', `is ${quote(text)}; expected a whole number from 1 to ${LARGEST_PAGE}`)
}

/** The span goes with it, so that all pages are of the same one. */
function cursorOf(after: After | null, { from, to }: Span): string | null {
  if (after === null) return null
  const text = JSON.stringify([after.rank, after.place, from, to])
  return Buffer.from(text).toString('base64url')
}

function readCursor(text: string | undefined): { after: After; span: Span } | null {
  if (text === undefined) return null
  try {
    const parts = JSON.parse(Buffer.from(text, 'base64url').toString()) as unknown
    const [rank, place, from, to] = parts as [unknown, unknown, unknown, unknown]
    const isPlace = typeof place === 'string' && isId(place)
    if (isPlace && isNumber(rank) && isTime(from) && isTime(to) && from <= to)
      return { after: { rank, place }, span: { from, to } }
  } catch {
    // Said below.
  }
  throw badField('cursor', 'is not one that was answered here as next')
}

function isNumber(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value)
}

const LATEST = Date.parse('9999-12-31T23:59:59Z')

function isTime(value: unknown): value is number {
  return isNumber(value) && value >= 0 && value <= LATEST
}

function isoTime(ms: number): string {
  return new Date(ms).toISOString()
}
