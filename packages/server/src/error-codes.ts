/** What goes wrong with a request, as it is told to the caller. */
import { ERROR_CODES, type ErrorBody, type ErrorCode, isRetryable } from '@sluice/contract'

export type { ErrorCode }

/** One of the things that are wrong: where, and what was expected. */
export type WireFault = NonNullable<ErrorBody['faults']>[number]

/** What an error says of itself on the wire. */
export class ServiceError extends Error {
  readonly code: ErrorCode
  readonly field: string | undefined
  readonly faults: readonly WireFault[] | undefined
  /** Headers that go with it. */
  readonly headers: Readonly<Record<string, string>>
  /** Certainly nothing was done. */
  readonly retryable: boolean

  constructor(
    code: ErrorCode,
    message: string,
    details: {
      field?: string
      headers?: Record<string, string>
      faults?: readonly WireFault[]
      /** It may have been done, although the code says otherwise. */
      mayHaveRun?: boolean
    } = {},
  ) {
    super(message)
    this.code = code
    this.field = details.field
    this.faults = details.faults
    this.headers = details.headers ?? {}
    this.retryable = isRetryable(code) && details.mayHaveRun !== true
  }

  /** The error as it is answered. */
  toJSON(): ErrorBody {
    const { code, message, field, faults, retryable } = this
    return {
      code,
      message,
      ...(field === undefined ? {} : { field }),
      ...(faults === undefined ? {} : { faults }),
      ...(retryable ? { retryable } : {}),
    }
  }

  get status(): number {
    return ERROR_CODES[this.code].status
  }
}
