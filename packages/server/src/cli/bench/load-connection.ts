/**
 * One keep-alive connection that always has one request under way, written and read as bytes: the client
 * shares the machine with the server, so it is to take as little of it as it can.
 */
import { connect as connectTcp, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'

/** What was answered, and how long that took. */
export type Answered = (status: number, body: Buffer, ms: number) => void

export interface LoadOptions {
  readonly url: URL
  /** The next request, whole. */
  readonly next: () => Buffer
  readonly answered: Answered
  /** It cannot go on. */
  readonly failed: (why: string) => void
}

const HEAD_END = Buffer.from('\r\n\r\n')

export class LoadConnection {
  readonly #socket: Socket
  readonly #options: LoadOptions
  #buffered: Buffer = Buffer.alloc(0)
  #sentAt = 0
  #isClosed = false

  constructor(options: LoadOptions) {
    this.#options = options
    const { url } = options
    const isTls = url.protocol === 'https:'
    const host = url.hostname.replace(/^\[|\]$/g, '')
    const where = { host, port: Number(url.port || (isTls ? 443 : 80)) }
    this.#socket = isTls
      ? connectTls({ ...where, servername: host }, () => this.#send())
      : connectTcp(where, () => this.#send())
    this.#socket.setNoDelay(true)
    this.#socket.on('data', (chunk) => this.#read(chunk))
    this.#socket.on('error', (error: NodeJS.ErrnoException) =>
      this.#fail(error.code ?? error.message),
    )
    this.#socket.on('close', () => this.#fail('the server closed a connection'))
  }

  close(): void {
    this.#isClosed = true
    this.#socket.destroy()
  }

  #send(): void {
    if (this.#isClosed) return
    this.#sentAt = performance.now()
    this.#socket.write(this.#options.next())
  }

  #read(chunk: Buffer): void {
    this.#buffered = this.#buffered.length === 0 ? chunk : Buffer.concat([this.#buffered, chunk])
    const headEnd = this.#buffered.indexOf(HEAD_END)
    if (headEnd < 0) return
    const head = this.#buffered.toString('latin1', 0, headEnd)
    const length = /\r\ncontent-length: *(\d+)/i.exec(head)
    if (!head.startsWith('HTTP/1.1 ') || length === null)
      return this.#fail('it answers, but not as Sluice does')
    const end = headEnd + HEAD_END.length + Number(length[1])
    if (this.#buffered.length < end) return
    const body = this.#buffered.subarray(headEnd + HEAD_END.length, end)
    this.#buffered = this.#buffered.subarray(end)
    this.#options.answered(Number(head.slice(9, 12)), body, performance.now() - this.#sentAt)
    this.#send()
  }

  #fail(why: string): void {
    if (this.#isClosed) return
    this.close()
    this.#options.failed(why)
  }
}
