/** What operators and their tools ask: health, readiness, metrics, and the interface's own description. */
import type { Registry } from 'prom-client'
import type { Route } from '../../http/route.js'

export interface Readiness {
  readonly ready: boolean
  readonly reason?: string
  readonly rules?: { readonly revision: number; readonly count: number }
  readonly store?: { readonly kind: 'memory' | 'redis'; readonly breaker?: string }
}

export interface OperatingParts {
  readonly readiness: () => Readiness
  readonly metrics: Registry
  readonly openApi: unknown
}

export function operatingRoutes({ readiness, metrics, openApi }: OperatingParts): Route[] {
  const document = JSON.stringify(openApi)
  const get = (path: string, role: Route['role'], handle: Route['handle']): Route => ({
    method: 'GET',
    path,
    role,
    longestBody: 0,
    handle,
  })
  return [
    get('/healthz', 'anyone', () => ({ status: 200, body: { status: 'ok' } })),
    get('/readyz', 'anyone', () => {
      const body = readiness()
      return { status: body.ready ? 200 : 503, body }
    }),
    get('/metrics', 'reader', async () => ({
      status: 200,
      body: await metrics.metrics(),
      contentType: metrics.contentType,
    })),
    get('/v1/openapi.json', 'reader', () => ({ status: 200, body: document })),
  ]
}
