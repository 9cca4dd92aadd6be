/** Which route answers what, and what goes wrong in words. All meaning of the REST interface is reached through here. */
import type { IncomingHttpHeaders } from 'node:http'
import { ServiceError } from '../../error-codes.js'
import type { Reply, Route } from './route.js'
import { type Body, parseBody } from './wire-request.js'

export class OrdinaryAnswers {
  readonly #byPath = new Map<string, Route[]>()
  /** A defect: what the caller is not told. */
  readonly #failed: (error: unknown) => void

  constructor(routes: readonly Route[], failed: (error: unknown) => void) {
    this.#failed = failed
    for (const route of routes)
      this.#byPath.set(route.path, [...(this.#byPath.get(route.path) ?? []), route])
  }

  /** Nobody needs a token for it. */
  isOpen(path: string): boolean {
    return this.#byPath.get(path)?.[0]?.role === 'anyone'
  }

  route(path: string, method: string): Route {
    const routes = this.#byPath.get(path)
    if (routes === undefined)
      throw new ServiceError(
        'not_found',
        `there is no route ${path.slice(0, 100)}; see /v1/openapi.json`,
      )
    const asked = method === 'HEAD' ? 'GET' : method
    const route = routes.find((one) => one.method === asked)
    if (route !== undefined) return route
    const allowed = routes.map((one) => one.method).join(', ')
    throw new ServiceError('method_not_allowed', `${path} takes ${allowed}`, {
      headers: { Allow: allowed },
    })
  }

  handle(
    route: Route,
    headers: IncomingHttpHeaders,
    bytes: Buffer | null,
    query: string,
  ): Reply | Promise<Reply> {
    let body: Body | undefined
    return route.handle({
      headers,
      query: () => new URLSearchParams(query),
      body: () => (body ??= parseBody(decoded(bytes ?? Buffer.alloc(0)))),
    })
  }

  /** Never rejects: what goes wrong is a reply. */
  async guarded(work: () => Promise<Reply>): Promise<Reply> {
    try {
      return await work()
    } catch (error) {
      if (error instanceof ServiceError) return errorReply(error)
      this.#failed(error)
      return errorReply(new ServiceError('internal', 'a defect in Sluice; its log says more'))
    }
  }
}

export function errorReply({ code, message, field, status, headers }: ServiceError): Reply {
  const error = field === undefined ? { code, message } : { code, message, field }
  return { status, headers, body: { error } }
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Bytes that are no UTF-8 are no JSON. */
function decoded(bytes: Buffer): string {
  try {
    return utf8.decode(bytes)
  } catch {
    throw new ServiceError('bad_request', 'the body is not UTF-8')
  }
}
