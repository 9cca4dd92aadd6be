/** The one class of what is thrown, and the one table of its codes. A denial is never thrown: it is an answer. */
import { type Fault, printFault } from './faults.js'

export const ERROR_CODES = {
  bad_request:
    'The request cannot be decided as it is; `field` says which part is wrong. Nothing was counted.',
  invalid_rules:
    'The rules are refused; `faults` has everything that is wrong. The rules before stay in force.',
  invalid_options: 'An option is not what it must be; `field` says which one.',
  idempotency_conflict: 'The idempotency key was used within 5 minutes for another request.',
  idempotency_in_progress:
    'The first request with this idempotency key is still being decided; ask again in a moment.',
  not_supported: 'The store cannot do this; the message says which store can.',
  invalid_snapshot: 'The exported state cannot be read: damaged, or of another version.',
  closed: 'The limiter was closed.',
} as const

export type ErrorCode = keyof typeof ERROR_CODES

export class SluiceError extends Error {
  override readonly name = 'SluiceError'
  readonly code: ErrorCode
  /** The part of the request or options that is wrong: `subject.user`, `cost`. */
  readonly field: string | undefined
  readonly faults: readonly Fault[]

  constructor(
    code: ErrorCode,
    message: string,
    details: { field?: string; faults?: readonly Fault[] } = {},
  ) {
    super(message)
    this.code = code
    this.field = details.field
    this.faults = details.faults ?? []
  }
}

export function badRequest(field: string, message: string): SluiceError {
  return new SluiceError('bad_request', `${field} ${message}`, { field })
}

export function invalidRules(faults: readonly Fault[]): SluiceError {
  const count = faults.length === 1 ? '1 fault' : `${faults.length} faults`
  const shown = faults.slice(0, 20).map((fault) => `\n  ${printFault(fault)}`)
  const more = faults.length > 20 ? `\n  and ${faults.length - 20} more` : ''
  return new SluiceError('invalid_rules', `${count} in the rules:${shown.join('')}${more}`, {
    faults,
  })
}
