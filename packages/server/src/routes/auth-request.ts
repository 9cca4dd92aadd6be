/**
 * Reads the request of `GET /v1/auth` from headers: one for each scope, the resource and the method. A gateway
 * may pass on headers of its client. So no other header is read unless a setting allows it, and a header that
 * was sent twice is refused, because one of the two may be the client's.
 */
import {
  type AuthHeader,
  fieldsInHeaders,
  REQUEST_FIELDS,
  REQUEST_HEADERS,
  type RequestField,
  WIRE_NAMES,
} from '@sluice/contract'
import type { Request } from '@sluice/limiter'
import { pathAmbiguity, quote, SCOPE } from '@sluice/limiter/transport'
import { ServiceError } from '../error-codes.js'
import { badField } from '../http/body.js'
import { inWireWords } from '../http/wire-request.js'

const SCOPE_PREFIX = 'x-sluice-scope-'
const SUBJECT = 'X-Sluice-Subject'

/** The header that has a field of the request. */
const HEADER_OF = new Map<string, string>(REQUEST_HEADERS.map(({ field, name }) => [field, name]))
/** The library's names of request fields, by their names in the API. */
const LIBRARY_NAMES = new Map<string | null, string>(
  Object.entries(WIRE_NAMES).map(([name, field]) => [field, name]),
)

/** `rawHeaders`: names and values alternate, as they were received. An error names the header. */
export function readAuthRequest(
  rawHeaders: readonly string[],
  allowed: readonly AuthHeader[],
): Request {
  const scopes = new Map<string, string>()
  const fields = new Map<string, string>()
  const known = new Map<string, string>([
    [SUBJECT.toLowerCase(), SUBJECT],
    ...fieldsInHeaders(allowed).map(({ field, name }) => [name.toLowerCase(), field] as const),
  ])
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const header = rawHeaders[i]!
    const name = header.toLowerCase()
    const isScope = name.startsWith(SCOPE_PREFIX)
    const field = isScope ? scopeOf(header) : known.get(name)
    if (field === undefined) continue
    const into = isScope ? scopes : fields
    if (into.has(field)) throw badField(header, 'is there twice; the gateway must send it once')
    into.set(field, decoded(header, rawHeaders[i + 1]!))
  }
  return requestOf(scopes, fields)
}

function requestOf(
  scopes: ReadonlyMap<string, string>,
  fields: ReadonlyMap<string, string>,
): Request {
  const text = (field: string) => fields.get(field) || undefined
  const request: Record<string, unknown> = {
    subject: subjectOf(scopes, text(SUBJECT)),
    normalize: true,
  }
  const ambiguity = pathAmbiguity(text('resource') ?? '')
  if (ambiguity !== undefined) throw badField(HEADER_OF.get('resource')!, ambiguity)
  for (const { field } of REQUEST_HEADERS) {
    const value = text(field)
    if (value !== undefined) request[LIBRARY_NAMES.get(field)!] = valueOf(field, value)
  }
  return request
}

/** A number where the field is one; what is no number is refused by the library, as it was written. */
function valueOf(field: RequestField, written: string): string | number {
  const { type } = REQUEST_FIELDS[field] as { type?: string }
  return type === 'integer' && /^\d{1,6}$/.test(written) ? Number(written) : written
}

/** An empty value means that the scope is absent: gateways have no other way to say so. */
function subjectOf(
  scopes: ReadonlyMap<string, string>,
  deprecated: string | undefined,
): Record<string, string> {
  const present = [...scopes].filter(([, value]) => value !== '')
  if (deprecated === undefined) return Object.fromEntries(present)
  if (scopes.size > 0)
    throw badField(SUBJECT, `goes without ${headerOf([...scopes.keys()][0]!)}; send only those`)
  return readSubjectHeader(deprecated)
}

function scopeOf(header: string): string {
  const scope = header.slice(SCOPE_PREFIX.length).toLowerCase().replaceAll('-', '_')
  if (SCOPE.test(scope)) return scope
  throw badField(header.slice(0, 64), 'names no scope; expected one such as X-Sluice-Scope-User')
}

function headerOf(scope: string): string {
  const words = scope.split('_').map((word) => word.slice(0, 1).toUpperCase() + word.slice(1))
  return `X-Sluice-Scope-${words.join('-')}`
}

/** Reads one pair, `user=42`. A comma is refused, because a value with one could name a second scope. */
function readSubjectHeader(text: string): Record<string, string> {
  if (text.includes(','))
    throw badField(
      SUBJECT,
      'holds a comma, by which a value could name another scope; send a header for each scope, such as X-Sluice-Scope-User',
    )
  const equals = text.indexOf('=')
  const scope = text.slice(0, Math.max(0, equals)).trim()
  if (scope === '') throw badField(SUBJECT, `has ${quote(text)}; expected scope=value`)
  const value = text.slice(equals + 1).trim()
  return value === '' ? {} : Object.fromEntries([[scope, value]])
}

const ASCII = /^[\0-\x7f]*$/
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Node makes one character of each byte of a header. The bytes are UTF-8. */
function decoded(header: string, value: string): string {
  if (ASCII.test(value)) return value
  try {
    return utf8.decode(Buffer.from(value, 'latin1'))
  } catch {
    throw badField(header, 'is not UTF-8')
  }
}

/** Makes errors name the header instead of the field that it was read into. */
export async function inHeaderWords<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    const said = inWireWords(error)
    if (!(said instanceof ServiceError) || said.field === undefined) throw said
    const [field, scope] = said.field.split('.') as [string, string?]
    const header =
      field === 'subject' && scope !== undefined ? headerOf(scope) : HEADER_OF.get(field)
    if (header === undefined) throw said
    throw new ServiceError(said.code, `${header}: ${said.message}`, { field: header })
  }
}
