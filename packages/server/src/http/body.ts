/** Reads JSON bodies. An error names the field and says what was expected. */
import { type TSchema, validate } from '@sluice/contract'
import { didYouMean, quote } from '@sluice/limiter/transport'
import { ServiceError } from '../error-codes.js'
import { boundExceeded, DEEPEST } from '../nesting.js'

export type Body = Readonly<Record<string, unknown>>

/** A batch of 1000 checks has some tens of thousands of values. Parsing this many takes too little time to be noticed. */
const BOUNDS = { deepest: DEEPEST, mostValues: 200_000 }

const EXCEEDED = {
  deepest: `the body is nested more than ${DEEPEST} deep`,
  mostValues: `the body has more than ${BOUNDS.mostValues} values; send fewer at a time`,
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

export function badField(field: string, message: string): ServiceError {
  return new ServiceError('bad_request', `${field} ${message}`, { field })
}

/** The JSON object in a body. Throws 400 for anything else, such as bytes that are not UTF-8. */
export function parseBody(bytes: Uint8Array): Body {
  const exceeded = boundExceeded(bytes, BOUNDS)
  if (exceeded !== null) throw new ServiceError('bad_request', EXCEEDED[exceeded])
  let body: unknown
  try {
    body = JSON.parse(utf8.decode(bytes))
  } catch (error) {
    if (error instanceof TypeError) throw new ServiceError('bad_request', 'the body is not UTF-8')
    const why = error instanceof Error ? error.message : String(error)
    throw new ServiceError('bad_request', `the body is not JSON: ${quote(why).slice(1, -1)}`)
  }
  if (isBody(body)) return body
  const what = Array.isArray(body) ? 'a list' : quote(body)
  throw new ServiceError('bad_request', `the body is ${what}; expected an object`)
}

export function isBody(value: unknown): value is Body {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Throws 400 with the first fault. */
export function requireValid(schema: TSchema, body: Body): void {
  const [fault] = validate(schema, body)
  if (fault !== undefined) throw badField(fault.field, fault.message)
}

/** Throws 400 for a field that is not among the known ones. */
export function refuseUnknown(body: Body, known: readonly string[], prefix = ''): void {
  for (const field of Object.keys(body)) {
    if (known.includes(field)) continue
    throw badField(`${prefix}${field.slice(0, 64)}`, `is unknown${didYouMean(field, known)}`)
  }
}

export function optionalText(body: Body, field: string): string | undefined {
  const value = body[field]
  if (value === undefined || typeof value === 'string') return value
  throw badField(field, `is ${quote(value)}; expected a text`)
}
