/** What operators and their tools ask: health, readiness, metrics, and the interface's own description. */
import { ServiceError } from '../error-codes.js'
import type { Handlers } from '../http/route.js'
import { may } from '../security/caller.js'
import type { MetricsText } from '../telemetry/metrics-text.js'

export interface Readiness {
  readonly ready: boolean
  readonly reason?: string
  readonly rules?: { readonly revision: number; readonly count: number }
  readonly store?: { readonly kind: 'memory' | 'redis'; readonly breaker?: string }
  /** Where rules come from a control plane: how far this instance has come. */
  readonly feed?: {
    readonly revision: number
    readonly head: number
    readonly lag_seconds: number
    readonly away: boolean
  }
  readonly database?: { readonly kind: 'postgres' | 'embedded'; readonly away: boolean }
  /** Of those who may look: every instance that follows the same feed. */
  readonly planes?: readonly PlaneReadiness[]
}

export interface PlaneReadiness {
  readonly instance: string
  readonly host: string
  readonly revision: number
  readonly lag_seconds: number
  readonly seen_seconds: number
}

export interface OperatingParts {
  readonly readiness: () => Readiness
  readonly metrics: MetricsText
  /** Made when it is first asked for. */
  readonly openApi: () => unknown
}

type OperatingRoute = 'health' | 'readiness' | 'metrics' | 'openapi'

export function operatingHandlers({
  readiness,
  metrics,
  openApi,
}: OperatingParts): Handlers<OperatingRoute> {
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
