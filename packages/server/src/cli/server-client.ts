/**
 * A running server, asked from the command line. Every way in which it may not answer, or not as Sluice
 * does, has its words and its exit code here; the token is never part of them.
 */
import { request as httpRequest, type RequestOptions } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { UsageError } from '../config.js'
import { printable } from '../rules-file/print-faults.js'
import { CommandError, EXIT } from './exit-codes.js'
import type { Globals } from './globals.js'

export type Json = Readonly<Record<string, unknown>>

export interface Answer {
  readonly status: number
  readonly body: Json
}

/** Whoever answers the routes of the API: a server, or rules of a file. */
export interface Decider {
  post(path: string, body: Json): Promise<Answer>
}

/** What goes with a question besides its path. */
export interface Asking {
  readonly body?: Json
  /** The version that is to be changed. */
  readonly ifMatch?: string
  /** How long the answer may take, where that may be long. */
  readonly withinMs?: number
}

/** An answer that is well, with the version of what it is about. */
export interface Versioned extends Answer {
  readonly etag: string | null
}

/** The server said no, by one of its codes. */
export class Refusal extends CommandError {
  readonly code: string

  constructor(code: string, message: string, exitCode: number) {
    super(message, exitCode)
    this.code = code
  }
}

/** Where something is asked for: what is undefined is left out. */
export function pathOf(
  segments: readonly string[],
  query: Readonly<Record<string, string | number | undefined>> = {},
): string {
  const path = segments.map(encodeURIComponent).join('/')
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(query))
    if (value !== undefined) search.set(name, String(value))
  return `/v1/${path}${search.size === 0 ? '' : `?${search.toString()}`}`
}

interface Raw {
  readonly status: number
  readonly type: string
  readonly text: string
  readonly etag: string | null
}

/** What else a status means for the command; failed where it is not here. */
const EXIT_CODES: Readonly<Record<number, number>> = {
  400: EXIT.usage,
  403: EXIT.notAuthorised,
  422: EXIT.invalidRules,
}

const WITHIN_MS = 10_000
const LONGEST_ANSWER = 32 * 1024 * 1024

export class ServerClient implements Decider {
  readonly url: URL
  /** For people: without what may be secret in it. */
  readonly name: string
  readonly #token: string | undefined

  constructor({ server, token }: Pick<Globals, 'server' | 'token'>) {
    this.url = readUrl(server)
    this.name = `${this.url.origin}${this.url.pathname.replace(/\/$/, '')}`
    this.#token = token
    if (token !== undefined && !/^[\x21-\x7e]+$/.test(token))
      throw new UsageError('the token has characters that no header can carry')
  }

  /** Any route; whatever is not 2xx is thrown in words. */
  async ask(method: string, path: string, asking: Asking = {}): Promise<Versioned> {
    const text = asking.body === undefined ? null : JSON.stringify(asking.body)
    const raw = await this.#ask(method, path, text, asking)
    const answer = raw.status === 204 ? {} : this.#json(raw)
    if (raw.status >= 300) throw this.#refusal(raw.status, answer)
    return { status: raw.status, body: answer, etag: raw.etag }
  }

  /** The items of a list, page after page. */
  async *items(path: string): AsyncIterableIterator<Json> {
    const sign = path.includes('?') ? '&' : '?'
    let more = ''
    do {
      const { body } = await this.ask('GET', path + more)
      yield* listIn(body)
      const { next } = body
      more = typeof next === 'string' ? `${sign}cursor=${encodeURIComponent(next)}` : ''
    } while (more !== '')
  }

  /** A decision or another body of 2xx; everything else is thrown in words. */
  async post(path: string, body: Json): Promise<Answer> {
    const raw = await this.#ask('POST', path, JSON.stringify(body))
    const answer = { status: raw.status, body: this.#json(raw) }
    if (raw.status < 300 || 'allowed' in answer.body) return answer
    throw this.#refusal(raw.status, answer.body)
  }

  /** A JSON body, whatever its status. */
  async get(path: string): Promise<Answer> {
    const raw = await this.#ask('GET', path, null)
    return { status: raw.status, body: this.#json(raw) }
  }

  /** A text of 200; a refusal is thrown in words. */
  async text(path: string): Promise<string> {
    const raw = await this.#ask('GET', path, null)
    if (raw.status === 200) return raw.text
    throw this.#refusal(raw.status, this.#json(raw))
  }

  #json({ status, type, text }: Raw): Json {
    if (type.startsWith('application/json')) {
      try {
        const body: unknown = JSON.parse(text)
        if (typeof body === 'object' && body !== null && !Array.isArray(body)) return body as Json
      } catch {
        // Said below.
      }
    }
    const kind = type === '' ? 'no content type' : printable(type.slice(0, 80))
    throw new CommandError(
      `${this.name} answers, but not as Sluice does (HTTP ${status}, ${kind}). Is --server right?`,
      EXIT.outOfReach,
    )
  }

  #refusal(status: number, body: Json): CommandError {
    const { code, message, faults } = (body['error'] ?? {}) as Record<string, unknown>
    if (typeof code !== 'string' || typeof message !== 'string')
      return new CommandError(
        `${this.name} answers, but not as Sluice does (HTTP ${status}, no error code). Is --server right?`,
        EXIT.outOfReach,
      )
    const more = `(${printable(code)}; see: sluice help ${printable(code)})`
    if (status === 401) return new Refusal(code, this.#unauthorised(), EXIT.notAuthorised)
    const exit = EXIT_CODES[status] ?? EXIT.failed
    return new Refusal(code, `${faultLines(faults)}${printable(message)} ${more}`, exit)
  }

  #unauthorised(): string {
    return this.#token === undefined
      ? `${this.name} wants a token. Give it: SLUICE_TOKEN=… (see: sluice help unauthorized)`
      : `${this.name} does not know this token (see: sluice help unauthorized)`
  }

  #ask(
    method: string,
    path: string,
    body: string | null,
    { ifMatch, withinMs = WITHIN_MS }: Asking = {},
  ): Promise<Raw> {
    const { url } = this
    const options: RequestOptions = {
      method,
      hostname: url.hostname.replace(/^\[|\]$/g, ''),
      port: url.port,
      path: `${url.pathname.replace(/\/$/, '')}${path}`,
      headers: {
        accept: 'application/json',
        ...(body === null ? {} : { 'content-type': 'application/json' }),
        ...(ifMatch === undefined ? {} : { 'if-match': ifMatch }),
        ...(this.#token === undefined ? {} : { authorization: `Bearer ${this.#token}` }),
      },
      agent: false,
      timeout: withinMs,
    }
    return new Promise((resolve, reject) => {
      const send = url.protocol === 'https:' ? httpsRequest : httpRequest
      const asked = send(options, (answer) => {
        const chunks: Buffer[] = []
        let length = 0
        answer.on('error', (error) => reject(this.#silence(error)))
        answer.on('data', (chunk: Buffer) => {
          length += chunk.length
          if (length > LONGEST_ANSWER) answer.destroy(new Error('its answer does not end'))
          else chunks.push(chunk)
        })
        answer.on('end', () =>
          resolve({
            status: answer.statusCode ?? 0,
            type: answer.headers['content-type'] ?? '',
            text: Buffer.concat(chunks).toString(),
            etag: answer.headers.etag ?? null,
          }),
        )
      })
      asked.on('timeout', () => asked.destroy(new Error(`no answer within ${withinMs / 1000} s`)))
      asked.on('error', (error) => reject(this.#silence(error)))
      asked.end(body ?? undefined)
    })
  }

  #silence(error: NodeJS.ErrnoException): CommandError {
    const { code = '', message } = error
    if (code.startsWith('HPE_') || ['EPROTO', 'ECONNRESET', 'EPIPE'].includes(code))
      return new CommandError(
        `${this.name} answers, but not as Sluice does (${code}). Is --server right?`,
        EXIT.outOfReach,
      )
    if (/CERT|SIGNATURE|ALTNAME/.test(code))
      return new CommandError(
        `${this.name} shows a certificate that is not trusted here (${code}). Trust its authority: NODE_EXTRA_CA_CERTS=FILE`,
        EXIT.outOfReach,
      )
    const why = printable(code === '' ? message : code)
    return new CommandError(
      `Nothing answers at ${this.name} (${why}). Start it: sluice serve`,
      EXIT.outOfReach,
    )
  }
}

function listIn(body: Json): readonly Json[] {
  const { items } = body
  return Array.isArray(items) ? (items as readonly Json[]) : []
}

/** Each on a line of its own. */
function faultLines(faults: unknown): string {
  // One alone is what the message says.
  if (!Array.isArray(faults) || faults.length < 2) return ''
  return (faults as readonly Record<string, unknown>[])
    .map(({ field, message }) => `${printable(String(field))}: ${printable(String(message))}\n`)
    .join('')
}

function readUrl(text: string): URL {
  const written = /^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? text : `http://${text}`
  const url = URL.canParse(written) ? new URL(written) : null
  if (url !== null && ['http:', 'https:'].includes(url.protocol)) return url
  throw new UsageError('--server cannot be read; expected an address such as http://localhost:4290')
}
