/** Handlers of `GET /v1/usage` and `GET /v1/violations`. */
import { isoTime, type QueryParameters, type RouteId, type RouteIdsOf } from '@sluice/contract'
import { HOUR_MS, maskWords, parseIp, parseTime, printIp, quote } from '@sluice/limiter/transport'
import { DatabaseAway } from '../control/database.js'
import { isId } from '../control/ids.js'
import { ServiceError } from '../error-codes.js'
import { badField } from '../http/body.js'
import type { Call, Handler, Handlers } from '../http/route.js'
import { namespaceOf } from '../security/caller.js'
import type { Tenants } from '../tenants.js'
import type { After, Filters, Span, UsageReader } from '../usage/usage-reader.js'
import { present } from './pages.js'

export interface UsageParts {
  /** Null where no database is open, or this instance only decides. */
  readonly reader: UsageReader | null
  readonly tenants: Pick<Tenants, 'require' | 'home'>
  /** Milliseconds since the epoch, by the clock that decides. */
  readonly now: () => number
}

/** The query, read. */
interface Question {
  readonly filters: Filters
  readonly span: Span
  readonly after: After | null
  readonly most: number
}

const ITEMS = 100

export function usageHandlers({ reader, tenants, now }: UsageParts): Handlers<RouteIdsOf<'usage'>> {
  const questionOf = (
    { caller }: Pick<Call, 'caller'>,
    query: QueryParameters<'violations'>,
  ): Question => {
    const namespace = namespaceOf(caller, query.namespace, tenants.home)
    const { rules } = tenants.require(namespace).limiter
    const { scope, value, rule, resource } = query
    const values = value === undefined ? undefined : namesOf(value, scope, rules.ipv6Prefix)
    const cursor = readCursor(query.cursor)
    return {
      filters: { namespace, ...present({ scope, values, rule, resource }) },
      span: cursor?.span ?? readSpan(query.from, query.to, now()),
      after: cursor?.after ?? null,
      most: query.limit ?? ITEMS,
    }
  }

  const requireReader = (): UsageReader => {
    if (reader !== null) return reader
    throw new ServiceError('not_a_control_plane', 'no database is open here')
  }

  return {
    usage: withDatabase<'usage'>(async (call) => {
      const { filters, span, after, most } = questionOf(call, call.query())
      const stored = requireReader()
      const summed = stored.spanOf(span)
      const found = await stored.usage(filters, summed, after, most)
      const [from, to] = [isoTime(summed.from), isoTime(summed.to)]
      const items = found.items.map(({ scope, value, rule, allowed, denied, cost }) => {
        return { scope, value: onWire(value), rule, from, to, allowed, denied, cost }
      })
      return {
        status: 200,
        body: { items, totals: found.totals, next: cursorOf(found.next, span) },
      }
    }),

    violations: withDatabase<'violations'>(async (call) => {
      const { filters, span, after, most } = questionOf(call, call.query())
      const found = await requireReader().violations(filters, span, after, most)
      const items = found.items.map(({ at, value, ...item }) => {
        return { at: at.toISOString(), value: onWire(value), ...item }
      })
      return {
        status: 200,
        body: { items, totals: found.totals, next: cursorOf(found.next, span) },
      }
    }),
  }
}

/** Answers `database_unavailable` where the database cannot be reached. */
function withDatabase<Id extends RouteId>(handle: Handler<Id>): Handler<Id> {
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

/** The values under which it may be counted: of an address also its network. */
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
  const time = parseTime(text)
  if (time >= 0) return time
  throw badField(field, `is ${quote(text)}; expected a time after 1970`)
}

/** A cursor has the span in it, so that all pages are of the same span. */
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
    // The error is thrown below.
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
