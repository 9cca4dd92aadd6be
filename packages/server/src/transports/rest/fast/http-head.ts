/**
 * Reads the head of a request for the two hot routes, and nothing else. What it accepts is a strict part
 * of what node's own parser accepts, and read alike; everything else is handed over to that parser with
 * all its bytes, so that only one of them ever decides what is wrong with a request.
 *
 * Accepted: `POST /v1/check` or `/v1/check/batch`, HTTP/1.1, CRLF line ends, one Host, one Content-Length
 * of digits, at most one Connection of `close` or `keep-alive`, at most one Authorization. Not accepted,
 * among others: Transfer-Encoding, Expect, Upgrade, Origin, folded lines, bytes outside printable ASCII.
 */

/** What became of the bytes. */
export const WHOLE = 1
export const MORE_NEEDED = 0
export const HAND_OVER = -1

const CR = 13
const LF = 10
const COLON = 58
const SPACE = 32
const TAB = 9

/** Longer heads are node's to read. */
export const LONGEST_HEAD = 8192
const MOST_HEADERS = 64

const bytesOf = (text: string): Uint8Array => Buffer.from(text, 'latin1')
const CHECK_LINE = bytesOf('POST /v1/check HTTP/1.1\r\n')
const BATCH_LINE = bytesOf('POST /v1/check/batch HTTP/1.1\r\n')

/** Which bytes may stand in a header's name: RFC 9110's token. */
const TOKEN = new Uint8Array(256)
for (const character of "!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")
  TOKEN[character.charCodeAt(0)] = 1

/** Headers that mean something here or to node's parser, by length; a name is compared without case. */
const HOST = bytesOf('host')
const EXPECT = bytesOf('expect')
const ORIGIN = bytesOf('origin')
const UPGRADE = bytesOf('upgrade')
const CONNECTION = bytesOf('connection')
const TRACEPARENT = bytesOf('traceparent')
const AUTHORIZATION = bytesOf('authorization')
const CONTENT_LENGTH = bytesOf('content-length')
const PROXY_CONNECTION = bytesOf('proxy-connection')
const TRANSFER_ENCODING = bytesOf('transfer-encoding')
const IDEMPOTENCY_KEY = bytesOf('x-idempotency-key')
const CLOSE = bytesOf('close')
const KEEP_ALIVE = bytesOf('keep-alive')

export class HttpHead {
  isBatch = false
  bodyStart = 0
  bodyLength = 0
  /** The caller wants the connection closed after the answer. */
  closes = false
  /** Where the values of Host and Authorization stand; the end is 0 where there is none. */
  hostStart = 0
  hostEnd = 0
  authorizationStart = 0
  authorizationEnd = 0

  #lengths = 0
  #connections = 0

  read(bytes: Uint8Array, start: number, end: number): number {
    this.closes = false
    this.bodyLength = -1
    this.hostEnd = 0
    this.authorizationStart = 0
    this.authorizationEnd = 0
    this.#lengths = 0
    this.#connections = 0
    let at = this.#readRequestLine(bytes, start, end)
    if (at <= 0) return at
    const limit = Math.min(end, start + LONGEST_HEAD)
    for (let headers = 0; headers <= MOST_HEADERS; headers++) {
      if (at + 1 >= limit) return this.#unfinished(start, end)
      if (bytes[at] === CR) {
        if (bytes[at + 1] !== LF) return HAND_OVER
        this.bodyStart = at + 2
        return this.#lengths === 1 && this.hostEnd > 0 ? WHOLE : HAND_OVER
      }
      const nameStart = at
      while (at < limit && TOKEN[bytes[at]!] === 1) at++
      if (at >= limit) return this.#unfinished(start, end)
      if (bytes[at] !== COLON || at === nameStart) return HAND_OVER
      const nameEnd = at++
      while (at < limit && (bytes[at] === SPACE || bytes[at] === TAB)) at++
      const valueStart = at
      while (at < limit) {
        const byte = bytes[at]!
        if (byte < SPACE ? byte !== TAB : byte > 126) break
        at++
      }
      if (at + 1 >= limit) return this.#unfinished(start, end)
      if (bytes[at] !== CR || bytes[at + 1] !== LF) return HAND_OVER
      let valueEnd = at
      while (
        valueEnd > valueStart &&
        (bytes[valueEnd - 1] === SPACE || bytes[valueEnd - 1] === TAB)
      )
        valueEnd--
      at += 2
      if (!this.#take(bytes, nameStart, nameEnd, valueStart, valueEnd)) return HAND_OVER
    }
    return HAND_OVER
  }

  /** Bytes that end early may go on well, unless there are too many of them already. */
  #unfinished(start: number, end: number): number {
    return end - start >= LONGEST_HEAD ? HAND_OVER : MORE_NEEDED
  }

  #readRequestLine(bytes: Uint8Array, start: number, end: number): number {
    // The two lines differ from their fifteenth byte on.
    const isBatch = end - start > 14 && bytes[start + 14] === 47
    const line = isBatch ? BATCH_LINE : CHECK_LINE
    const length = Math.min(line.length, end - start)
    for (let i = 0; i < length; i++) if (bytes[start + i] !== line[i]) return HAND_OVER
    if (length < line.length) return MORE_NEEDED
    this.isBatch = isBatch
    return start + length
  }

  /** False: a header that is not for this reader. */
  #take(bytes: Uint8Array, start: number, end: number, from: number, to: number): boolean {
    switch (end - start) {
      case 4:
        if (!isName(bytes, start, HOST)) return true
        if (this.hostEnd > 0 || to === from) return false
        this.hostStart = from
        this.hostEnd = to
        return true
      case 6:
        return !isName(bytes, start, EXPECT) && !isName(bytes, start, ORIGIN)
      case 7:
        return !isName(bytes, start, UPGRADE)
      case 10:
        return !isName(bytes, start, CONNECTION) || this.#takeConnection(bytes, from, to)
      case 11:
        return !isName(bytes, start, TRACEPARENT)
      case 13:
        if (!isName(bytes, start, AUTHORIZATION)) return true
        if (this.authorizationEnd > 0 || to === from) return false
        this.authorizationStart = from
        this.authorizationEnd = to
        return true
      case 14:
        return !isName(bytes, start, CONTENT_LENGTH) || this.#takeLength(bytes, from, to)
      case 16:
        return !isName(bytes, start, PROXY_CONNECTION)
      case 17:
        return !isName(bytes, start, TRANSFER_ENCODING) && !isName(bytes, start, IDEMPOTENCY_KEY)
      default:
        return true
    }
  }

  #takeConnection(bytes: Uint8Array, from: number, to: number): boolean {
    if (this.#connections++ > 0 || bytes[to] !== CR) return false
    if (to - from === CLOSE.length && isName(bytes, from, CLOSE)) {
      this.closes = true
      return true
    }
    return to - from === KEEP_ALIVE.length && isName(bytes, from, KEEP_ALIVE)
  }

  #takeLength(bytes: Uint8Array, from: number, to: number): boolean {
    // Node's parser does not take every kind of space after the digits.
    if (this.#lengths++ > 0 || to === from || to - from > 7 || bytes[to] !== CR) return false
    let length = 0
    for (let i = from; i < to; i++) {
      const digit = bytes[i]! - 48
      if (digit < 0 || digit > 9) return false
      length = length * 10 + digit
    }
    this.bodyLength = length
    return true
  }
}

/** Compares without case; `name` is in lower case, and as long as what it is compared with. */
function isName(bytes: Uint8Array, start: number, name: Uint8Array): boolean {
  for (let i = 0; i < name.length; i++) {
    const byte = bytes[start + i]!
    if ((byte >= 65 && byte <= 90 ? byte + 32 : byte) !== name[i]) return false
  }
  return true
}
