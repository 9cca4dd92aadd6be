/**
 * Finds the route of a request, checks that the caller may use it, runs its handler, and turns errors into answers.
 * Only plain checks on the fast path do not come through here, and they are answered alike.
 */
import type { IncomingHttpHeaders } from 'node:http'
import type { Method } from '@sluice/contract'
import { ServiceError } from '../error-codes.js'
import { type Caller, requireRole } from '../security/caller.js'
import { type Body, parseBody, requireValid } from './body.js'
import { readQuery } from './query.js'
import type { Call, Reply, Route } from './route.js'

/** A request whose head has been read. */
export interface Asked {
  readonly caller: Caller
  readonly headers: IncomingHttpHeaders
  /** Names and values alternate, as they were received. */
  readonly rawHeaders: readonly string[]
  readonly bytes: Buffer | null
  /** Begins with its question mark; empty where there is no query. */
  readonly query: string
}

export interface Found {
  readonly route: Route
  readonly params: Readonly<Record<string, string>>
}

/** Counts a caller's request to the control plane; throws `limited` where there are too many. */
export type AdminLimit = (caller: Caller, isWrite: boolean) => Promise<void> | void

/** The routes of one path. */
interface Place {
  /** The path's segments; one in braces matches any text but an empty one. */
  readonly segments: readonly string[]
  readonly routes: Route[]
}

const PARAMETER = /^\{(\w+)\}$/

export class OrdinaryAnswers {
  readonly #byPath = new Map<string, Place>()
  /** Places with segments in braces, by their number of segments. */
  readonly #open = new Map<number, Place[]>()
  /** Receives unexpected errors, whose details callers are not told. */
  readonly #failed: (error: unknown) => void
  readonly #adminLimit: AdminLimit

  constructor(
    routes: readonly Route[],
    failed: (error: unknown) => void,
    adminLimit: AdminLimit = () => undefined,
  ) {
    this.#failed = failed
    this.#adminLimit = adminLimit
    for (const route of routes) this.#add(route)
  }

  #add(route: Route): void {
    const { path } = route.contract
    const known = this.#byPath.get(path)
    if (known !== undefined) {
      known.routes.push(route)
      return
    }
    const segments = path.split('/')
    const place: Place = { segments, routes: [route] }
    this.#byPath.set(path, place)
    if (!segments.some((segment) => PARAMETER.test(segment))) return
    this.#open.set(segments.length, [...(this.#open.get(segments.length) ?? []), place])
  }

  /** Whether the path needs no token. */
  isOpen(path: string): boolean {
    return this.#byPath.get(path)?.routes[0]?.contract.role === 'anyone'
  }

  find(path: string, method: string): Found {
    const place = this.#placeOf(path)
    if (place === undefined)
      throw new ServiceError(
        'not_found',
        `there is no route ${path.slice(0, 100)}; see /v1/openapi.json`,
      )
    const asked = method === 'HEAD' ? 'GET' : method
    const route = place.routes.find(({ contract }) => contract.method === asked)
    if (route !== undefined) return { route, params: paramsOf(place, path) }
    const allowed = place.routes.map(({ contract }) => contract.method).join(', ')
    throw new ServiceError('method_not_allowed', `${path.slice(0, 100)} takes ${allowed}`, {
      headers: { Allow: allowed },
    })
  }

  #placeOf(path: string): Place | undefined {
    const exact = path.includes('{') ? undefined : this.#byPath.get(path)
    if (exact !== undefined) return exact
    const asked = path.split('/')
    return this.#open
      .get(asked.length)
      ?.find(({ segments }) =>
        segments.every((segment, i) =>
          PARAMETER.test(segment) ? asked[i] !== '' : segment === asked[i],
        ),
      )
  }

  /** Throws where the caller may not use the route, or uses it too often. Runs before the body is read. */
  admit({ contract }: Route, caller: Caller): Promise<void> | void {
    const { role, kind, method } = contract
    if (role !== 'anyone') requireRole(caller, role)
    if (kind === 'control') return this.#adminLimit(caller, isWrite(method))
  }

  async handle({ route, params }: Found, asked: Asked): Promise<Reply> {
    const { contract } = route
    const { bytes } = asked
    if (contract.kind === 'control' && bytes !== null && bytes.length > 0)
      requireJson(asked.headers)
    const reply = await route.handle(callOf(route, params, asked))
    if (contract.deprecated === undefined) return reply
    const { since, sunset } = contract.deprecated
    const said = {
      Deprecation: `@${Math.floor(since.getTime() / 1000)}`,
      Sunset: sunset.toUTCString(),
    }
    return { ...reply, headers: { ...said, ...reply.headers } }
  }

  /** Never rejects: `says` makes a reply of an error. */
  async guarded(work: () => Promise<Reply>, says = errorReply): Promise<Reply> {
    try {
      return await work()
    } catch (error) {
      if (error instanceof ServiceError) return says(error)
      this.#failed(error)
      return says(new ServiceError('internal', 'a defect in Sluice; its log says more'))
    }
  }
}

/** The query and the body are parsed and checked when the handler asks for them. */
function callOf({ contract }: Route, params: Found['params'], asked: Asked): Call {
  const { caller, headers, rawHeaders, bytes, query } = asked
  let body: Body | undefined
  const readBody = () => {
    const read = parseBody(bytes ?? Buffer.alloc(0))
    if (contract.bodyCheckedBy === 'schema' && contract.body !== null)
      requireValid(contract.body, read)
    return read
  }
  return {
    caller,
    headers,
    rawHeaders,
    params,
    query: () => readQuery(contract, new URLSearchParams(query)),
    rawQuery: () => new URLSearchParams(query),
    bytes: () => bytes ?? Buffer.alloc(0),
    body: (() => (body ??= readBody())) as Call['body'],
  }
}

export function isWrite(method: Method): boolean {
  return method !== 'GET'
}

function paramsOf({ segments }: Place, path: string): Record<string, string> {
  const params: Record<string, string> = {}
  const asked = path.split('/')
  for (const [i, segment] of segments.entries()) {
    const name = PARAMETER.exec(segment)?.[1]
    if (name !== undefined) params[name] = unescaped(asked[i]!, name)
  }
  return params
}

function unescaped(text: string, name: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    throw new ServiceError('bad_request', `${name} in the path is not percent-encoded UTF-8`, {
      field: name,
    })
  }
}

export function errorReply(error: ServiceError): Reply {
  const { status, headers } = error
  return { status, headers, body: { error: error.toJSON() } }
}

/** A foreign web page can make a browser send a form here, but not JSON. */
function requireJson(headers: IncomingHttpHeaders): void {
  const type = headers['content-type'] ?? ''
  if (/^application\/(merge-patch\+)?json *(;|$)/i.test(type)) return
  throw new ServiceError(
    'unsupported_media_type',
    `Content-Type is ${JSON.stringify(type.slice(0, 64))}; expected application/json`,
    { field: 'Content-Type' },
  )
}
