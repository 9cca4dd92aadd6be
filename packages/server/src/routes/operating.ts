/** Handlers for operators and their tools: health, readiness, metrics and the OpenAPI document. */
import type { AnswerBody, RouteIdsOf } from '@sluice/contract'
import { ServiceError } from '../error-codes.js'
import type { Handlers } from '../http/route.js'
import { may } from '../security/caller.js'
import type { MetricsText } from '../telemetry/metrics-text.js'

export type Readiness = AnswerBody<'readiness'>

export interface OperatingParts {
  readonly readiness: () => Readiness
  readonly metrics: MetricsText
  /** Called once, at the first request. */
  readonly openApi: () => unknown
}

export function operatingHandlers({
  readiness,
  metrics,
  openApi,
}: OperatingParts): Handlers<RouteIdsOf<'operating'>> {
  let document: string | undefined
  return {
    health: () => ({ status: 200, body: { status: 'ok' } }),

    readiness({ caller }) {
      const { planes, ...own } = readiness()
      const isTold = may(caller, 'reader') && caller.namespaces === null && planes !== undefined
      const body = isTold ? { ...own, planes } : own
      return { status: body.ready ? 200 : 503, body }
    },

    async metrics({ caller }) {
      if (caller.namespaces !== null)
        throw new ServiceError(
          'forbidden',
          'metrics are of all namespaces, and the token is for some of them only',
        )
      const body = await metrics.text()
      return { status: 200, body, contentType: metrics.contentType }
    },

    openapi: () => ({ status: 200, body: (document ??= JSON.stringify(openApi())) }),
  }
}
