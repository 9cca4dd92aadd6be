/** What node:http refuses before there is a request, in the words that every error has. */
import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'
import { ServiceError } from '../../error-codes.js'
import { errorReply } from '../../http/answers.js'
import type { Reply } from '../../http/route.js'
import { AUTH_PATH, type AuthErrors } from './auth-errors.js'
import type { OrdinaryConnection } from './ordinary-connection.js'

/**
 * A connection that is closed while its other side still sends may be reset, and the answer with it: what
 * comes is read and dropped for so long.
 */
const LINGER_MS = 2000

const AUTH_LINE = new RegExp(`^[A-Z]+ ${AUTH_PATH}`)

export interface ClientErrorParts {
  readonly authErrors: AuthErrors
  readonly connectionOf: (socket: Duplex) => OrdinaryConnection | undefined
}

export function refuseClient({ authErrors, connectionOf }: ClientErrorParts) {
  return (error: NodeJS.ErrnoException, socket: Duplex): void => {
    if (!socket.writable || error.code === 'ECONNRESET') {
      socket.destroy()
      return
    }
    const said = inWords(error)
    const isAuth = AUTH_LINE.test(connectionOf(socket)?.requestLine ?? '')
    const { status, headers, text } = printed(isAuth ? authErrors.reply(said) : errorReply(said))
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
    socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n${lines.join('')}\r\n${text}`)
    socket.removeAllListeners('data')
    socket.resume()
    setTimeout(() => socket.destroy(), LINGER_MS).unref()
  }
}

function inWords({ code }: NodeJS.ErrnoException): ServiceError {
  if (code === 'HPE_HEADER_OVERFLOW')
    return new ServiceError('headers_too_large', 'the head of the request is longer than 16 KB')
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT')
    return new ServiceError('timed_out', 'the request did not arrive in time')
  return new ServiceError('bad_request', 'the request is not HTTP/1.1 as it must be')
}

export function refuseExpectation({ authErrors }: Pick<ClientErrorParts, 'authErrors'>) {
  return (request: IncomingMessage, response: ServerResponse): void => {
    const isAuth = request.url?.split('?')[0] === AUTH_PATH
    const error = new ServiceError('bad_request', 'Expect is something else than 100-continue', {
      field: 'Expect',
    })
    const { status, headers, text } = printed(isAuth ? authErrors.reply(error) : errorReply(error))
    response.writeHead(status, headers)
    response.end(text)
  }
}

function printed({ status, headers, body }: Reply) {
  const text = JSON.stringify(body)
  return {
    status,
    headers: {
      Connection: 'close',
      'Content-Type': 'application/json',
      'Content-Length': Buffer.byteLength(text),
      ...headers,
    },
    text,
  }
}
