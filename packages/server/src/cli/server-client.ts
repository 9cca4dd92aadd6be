/**
 * A running server, asked from the command line. Every way in which it may not answer, or not as Sluice
 * does, has its words and its exit code here; the token is never part of them.
 */
import { request as httpRequest, type RequestOptions } from 'node:http'
import { request as httpsRequest } from 'node:https'
import {
  propertiesOf,
  type RouteContract,
  type RouteId,
  routeOf,
  type SchemaFault,
  shapeFault,
} from '@sluice/contract'
import { UsageError } from '../config.js'
import { printable } from '../rules-file/print-faults.js'
import { CommandError, EXIT } from './exit-codes.js'
import type { Globals } from './globals.js'
import {
  type Answered,
  type Answerer,
  type AnswerOf,
  type AnyAsking,
  type AskingArguments,
  type ItemOf,
  inNamespace,
  pathOf,
} from './operation.js'

type Json = Readonly<Record<string, unknown>>

/** The server said no, by one of its codes. */
export class Refusal extends CommandError {
  readonly code: string

  constructor(code: string, message: string, exitCode: number) {
    super(message, exitCode)
    this.code = code
  }
}

/** What answered is not what the contract promises. */
export class StrangeAnswer extends CommandError {
  constructor({ field, message }: SchemaFault) {
    const isDecision = ['allowed', 'decision'].includes(field)
    const words = isDecision ? 'there is no decision in its answer' : `${field} ${message}`
    super(
      `What answered is not Sluice, or of another version: ${printable(words)}. Is --server right?`,
      EXIT.outOfReach,
    )
  }
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

export class ServerClient<Ids extends RouteId = RouteId> implements Answerer<Ids> {
  readonly url: URL
  /** For people: without what may be secret in it. */
  readonly name: string
  readonly #token: string | undefined
  readonly #namespace: string | undefined

  constructor({ server, token, namespace }: Pick<Globals, 'server' | 'token' | 'namespace'>) {
    this.url = readUrl(server)
    this.name = `${this.url.origin}${this.url.pathname.replace(/\/$/, '')}`
    this.#token = token
    this.#namespace = namespace
    if (token !== undefined && !/^[\x21-\x7e]+$/.test(token))
      throw new UsageError('the token has characters that no header can carry')
  }

  /** What the operation answers where all is well; whatever else comes is thrown in words. */
  async call<Id extends Ids>(id: Id, ...[asking]: AskingArguments<Id>): Promise<Answered<Id>> {
    const contract = routeOf(id)
    const raw = await this.#ask(contract, inNamespace(contract, asking ?? {}, this.#namespace))
    return { body: this.#bodyOf(contract, raw) as AnswerOf<Id>, etag: raw.etag }
  }

  /** The items of a list, page after page. */
  async *items<Id extends Ids>(
    id: Id,
    ...[asking]: AskingArguments<Id>
  ): AsyncIterableIterator<ItemOf<Id>> {
    const { limit: size } = propertiesOf(routeOf(id).query) as { limit?: { maximum?: number } }
    const given: Readonly<Record<string, unknown>> = asking?.query ?? {}
    let cursor: string | null | undefined
    do {
      const query = { ...given, limit: given['limit'] ?? size?.maximum, cursor }
      const { body } = await this.call(id, ...([{ ...asking, query }] as AskingArguments<Id>))
      const page = body as { items: ItemOf<Id>[]; next?: string | null }
      yield* page.items
      cursor = page.next
    } while (typeof cursor === 'string')
  }

  /** All of them. */
  async list<Id extends Ids>(id: Id, ...asking: AskingArguments<Id>): Promise<ItemOf<Id>[]> {
    const all: ItemOf<Id>[] = []
    for await (const item of this.items(id, ...asking)) all.push(item)
    return all
  }

  #bodyOf({ answer, status, isDecision, alsoAnswers }: RouteContract, raw: Raw): unknown {
    if (answer === null && raw.status === status) return raw.text
    const body = this.#json(raw)
    const isWell = raw.status < 300 || raw.status === alsoAnswers?.status
    if (answer === null || !(isWell || (isDecision && 'allowed' in body)))
      throw this.#refusal(raw.status, body)
    const fault = shapeFault(answer, body)
    if (fault !== undefined) throw new StrangeAnswer(fault)
    return body
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
    throw this.#stranger(`HTTP ${status}, ${kind}`)
  }

  #refusal(status: number, body: Json): CommandError {
    const { code, message, faults } = (body['error'] ?? {}) as Record<string, unknown>
    if (typeof code !== 'string' || typeof message !== 'string')
      return this.#stranger(`HTTP ${status}, no error code`)
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

  #ask(contract: RouteContract, asking: AnyAsking): Promise<Raw> {
    const { url } = this
    const { ifMatch, withinMs = WITHIN_MS } = asking
    const body = asking.body === undefined ? null : JSON.stringify(asking.body)
    const options: RequestOptions = {
      method: contract.method,
      hostname: url.hostname.replace(/^\[|\]$/g, ''),
      port: url.port,
      path: `${url.pathname.replace(/\/$/, '')}${pathOf(contract, asking)}`,
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

  #stranger(why: string): CommandError {
    return new CommandError(
      `${this.name} answers, but not as Sluice does (${why}). Is --server right?`,
      EXIT.outOfReach,
    )
  }

  #silence(error: NodeJS.ErrnoException): CommandError {
    const { code = '', message } = error
    if (code.startsWith('HPE_') || ['EPROTO', 'ECONNRESET', 'EPIPE'].includes(code))
      return this.#stranger(code)
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
