/** JSON bodies, read in words: what is wrong names the field and what was expected. */
import { didYouMean, quote } from '@sluice/limiter/transport'
import { ServiceError } from '../error-codes.js'
import { DEEPEST, isDeep, isTooMuch, MOST_VALUES } from '../nesting.js'

export type Body = Readonly<Record<string, unknown>>

/** Bodies up to here are seen through once they are parsed, longer ones before. */
const SEEN_AT_ONCE = 524_288

export function badField(field: string, message: string): ServiceError {
  return new ServiceError('bad_request', `${field} ${message}`, { field })
}

/** The body's one JSON object. */
export function parseBody(text: string): Body {
  if (text.length > SEEN_AT_ONCE && isTooMuch(text))
    throw new ServiceError(
      'bad_request',
      `the body is nested more than ${DEEPEST} deep, or has more than ${MOST_VALUES} values; send fewer at a time`,
    )
  let body: unknown
  try {
    body = JSON.parse(text)
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    throw new ServiceError('bad_request', `the body is not JSON: ${quote(why).slice(1, -1)}`)
  }
  if (text.length <= SEEN_AT_ONCE && isDeep(body))
    throw new ServiceError('bad_request', `the body is nested more than ${DEEPEST} deep`)
  if (isBody(body)) return body
  const what = Array.isArray(body) ? 'a list' : quote(body)
  throw new ServiceError('bad_request', `the body is ${what}; expected an object`)
}

export function isBody(value: unknown): value is Body {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Refuses what a route does not know. */
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

export function requiredText(body: Body, field: string, what: string): string {
  const text = optionalText(body, field)
  if (text !== undefined) return text
  throw badField(field, `is missing; expected ${what}`)
}
