/** The ordinary way of a request through node:http: admitted, routed, read within limits, answered. */
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { ServiceError } from '../../error-codes.js'
import { isWrite, type OrdinaryAnswers } from '../../http/answers.js'
import type { Reply } from '../../http/route.js'
import type { Gate } from '../../security/gate.js'
import { AUTH_PATH, type AuthErrors } from './auth-errors.js'
import type { BodyBudget } from './body-budget.js'
import type { OrdinaryConnection } from './ordinary-connection.js'

export interface ListenerParts {
  readonly answers: OrdinaryAnswers
  readonly gate: Gate
  readonly authErrors: AuthErrors
  readonly budget: BodyBudget
  /** Answers say `Connection: close`. */
  readonly isDraining: () => boolean
  /** Says when a request begins; without it each begins at once. */
  readonly connectionOf?: (socket: Duplex) => OrdinaryConnection
}

export function requestListener(parts: ListenerParts): RequestListener {
  const { answers, gate, authErrors, budget, isDraining, connectionOf } = parts
  return (request, response) => {
    const work = () => void answer(request, response)
    if (connectionOf === undefined) work()
    else connectionOf(request.socket).run(request, response, work)
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = request.url ?? '/'
    const mark = url.indexOf('?')
    const path = mark < 0 ? url : url.slice(0, mark)
    const query = mark < 0 ? '' : url.slice(mark)
    const { headers, rawHeaders } = request
    const isAuth = path === AUTH_PATH
    const work = async () => {
      if (headers.host === undefined && request.httpVersion === '1.1')
        throw new ServiceError('bad_request', 'Host is missing', { field: 'Host' })
      if (hasSeveralHosts(request.rawHeaders))
        throw new ServiceError('bad_request', 'Host is given more than once', { field: 'Host' })
      const address = request.socket.remoteAddress ?? ''
      // A gateway may pass on the Origin of its own client.
      const shown = isAuth ? { ...headers, origin: undefined } : headers
      const caller = gate.admit(shown, address, answers.isOpen(path))
      const found = answers.find(path, request.method ?? 'GET')
      const { route } = found
      await answers.admit(route, caller)
      const { method, longestBody } = route.contract
      const bytes = isWrite(method) ? await readBody(request, longestBody, budget) : null
      return answers.handle(found, { caller, headers, rawHeaders, bytes, query })
    }
    const reply = await (isAuth ? answers.guarded(work, authErrors.reply) : answers.guarded(work))
    if (!response.destroyed) send(request, response, reply)
  }

  function send(request: IncomingMessage, response: ServerResponse, reply: Reply): void {
    const { status, headers, body, contentType = 'application/json' } = reply
    const text = body === undefined ? '' : typeof body === 'string' ? body : JSON.stringify(body)
    const all: Record<string, string | number> = { 'Content-Length': Buffer.byteLength(text) }
    if (body !== undefined) all['Content-Type'] = contentType
    // A body that nobody read would be taken for the next request.
    if (isDraining() || !request.complete) all['Connection'] = 'close'
    response.writeHead(status, Object.assign(all, headers))
    // A text leaves with its head in one write, bytes would need two.
    response.end(text)
  }
}

/** node:http keeps the first of several; what is in front of us may have gone by another. */
function hasSeveralHosts(rawHeaders: readonly string[]): boolean {
  let hosts = 0
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]!
    if (name.length === 4 && name.toLowerCase() === 'host') hosts++
  }
  return hosts > 1
}

function readBody(request: IncomingMessage, longest: number, budget: BodyBudget): Promise<Buffer> {
  const tooLong = () =>
    new ServiceError('payload_too_large', `the body is longer than ${longest} bytes`)
  if (Number(request.headers['content-length'] ?? 0) > longest) return Promise.reject(tooLong())
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let length = 0
    request.on('data', (chunk: Buffer) => {
      const isKept = length + chunk.length <= longest && budget.take(chunk.length)
      if (isKept) {
        length += chunk.length
        chunks.push(chunk)
        return
      }
      request.pause()
      const isTooLong = length + chunk.length > longest
      reject(isTooLong ? tooLong() : new ServiceError('busy', 'too much is being sent at once'))
    })
    request.once('close', () => budget.give(length))
    request.on('end', () => resolve(Buffer.concat(chunks)))
    request.on('error', () => reject(new ServiceError('bad_request', 'the request ended early')))
  })
}
