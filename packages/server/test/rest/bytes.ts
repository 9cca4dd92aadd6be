/** A caller who writes bytes and reads answers from them, for what no HTTP client would send. */
import type { Socket } from 'node:net'

export interface RawAnswer {
  readonly status: number
  readonly head: string
  readonly body: string
}

export function checkBytes(
  user: string,
  more = '',
  resource = '/hello',
  fields: object = {},
): string {
  const body = JSON.stringify({ subject: { user }, resource, ...fields })
  return `POST /v1/check HTTP/1.1\r\nHost: localhost\r\n${more}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
}

export class RawCaller {
  readonly socket: Socket
  #text = ''
  isEnded = false
  #hear: () => void = () => {}

  constructor(socket: Socket) {
    this.socket = socket
    socket.setEncoding('latin1')
    socket.on('data', (text: string) => {
      this.#text += text
      this.#hear()
    })
    socket.on('error', () => {})
    for (const event of ['end', 'close'])
      socket.on(event, () => {
        this.isEnded = true
        this.#hear()
      })
  }

  send(text: string): void {
    this.socket.write(text, 'latin1')
  }

  /** The next answer; null if the connection ends before. */
  async next(): Promise<RawAnswer | null> {
    for (;;) {
      const answer = this.#take()
      if (answer !== null) return answer
      if (this.isEnded) return null
      await this.#news()
    }
  }

  #take(): RawAnswer | null {
    const end = this.#text.indexOf('\r\n\r\n')
    if (end < 0) return null
    const head = this.#text.slice(0, end)
    const length = Number(/^content-length: *(\d+)/im.exec(head)?.[1] ?? 0)
    if (this.#text.length < end + 4 + length) return null
    const body = this.#text.slice(end + 4, end + 4 + length)
    this.#text = this.#text.slice(end + 4 + length)
    return { status: Number(head.split(' ')[1]), head, body }
  }

  async ended(): Promise<void> {
    while (!this.isEnded) await this.#news()
  }

  #news(): Promise<void> {
    return new Promise((resolve) => {
      this.#hear = resolve
    })
  }
}
