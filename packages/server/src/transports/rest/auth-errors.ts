/**
 * Errors of `GET /v1/auth`. A gateway takes any status but 2xx, 401 and 403 for an outage, and may let
 * requests pass then. So every error of the request is 403 with `X-Sluice-Error`; a wrong token stays 401,
 * and a failure of Sluice stays 5xx.
 */
import type { ErrorCode, ServiceError } from '../../error-codes.js'
import { errorReply } from '../../http/answers.js'
import type { Reply } from '../../http/route.js'
import type { Log } from '../../telemetry/log.js'

export const AUTH_PATH = '/v1/auth'

export class AuthErrors {
  readonly #log: Log
  readonly #counts = new Map<ErrorCode, number>()

  constructor(log: Log) {
    this.#log = log
  }

  /** How many there were, by code. */
  get counts(): ReadonlyMap<string, number> {
    return this.#counts
  }

  readonly reply = (error: ServiceError): Reply => {
    this.#count(error)
    const said = errorReply(error)
    if (error.status === 401 || error.status >= 500) return said
    return { ...said, status: 403, headers: { ...said.headers, 'X-Sluice-Error': error.code } }
  }

  /** The first of each code is logged: a client cannot fill the log. */
  #count({ code, message }: ServiceError): void {
    const count = this.#counts.get(code) ?? 0
    this.#counts.set(code, count + 1)
    if (count > 0) return
    this.#log.warn(
      `GET /v1/auth refused a request: ${message}; sluice_auth_errors_total counts more of these`,
      { code },
    )
  }
}
