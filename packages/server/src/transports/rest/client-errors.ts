/** What node:http refuses before there is a request, in the words that every error has. */
import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'
import { ServiceError } from '../../error-codes.js'
import { errorReply } from '../../http/answers.js'

export function refuseClient(error: NodeJS.ErrnoException, socket: Duplex): void {
  if (!socket.writable || error.code === 'ECONNRESET') {
    socket.destroy()
    return
  }
  const { status, body } = errorReply(inWords(error))
  const bytes = JSON.stringify(body)
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}`,
    'Connection: close',
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(bytes)}`,
  ]
  socket.end(`${head.join('\r\n')}\r\n\r\n${bytes}`)
}

function inWords({ code }: NodeJS.ErrnoException): ServiceError {
  if (code === 'HPE_HEADER_OVERFLOW')
    return new ServiceError('headers_too_large', 'the head of the request is longer than 16 KB')
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT')
    return new ServiceError('timed_out', 'the request did not arrive in time')
  return new ServiceError('bad_request', 'the request is not HTTP/1.1 as it must be')
}

export function refuseExpectation(_request: IncomingMessage, response: ServerResponse): void {
  const { status, body } = errorReply(
    new ServiceError('bad_request', 'Expect is something else than 100-continue', {
      field: 'Expect',
    }),
  )
  const bytes = JSON.stringify(body)
  response.writeHead(status, {
    'Content-Type': 'application/json',
    'Content-Length': Buffer.byteLength(bytes),
    Connection: 'close',
  })
  response.end(bytes)
}
