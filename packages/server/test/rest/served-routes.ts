/** Routes alone over HTTP, for whoever the test says; every answer is held against the OpenAPI document. */
import { createServer, type Server } from 'node:http'
import { expect } from 'vitest'
import { OrdinaryAnswers } from '../../src/http/answers.js'
import type { Route } from '../../src/http/route.js'
import type { Caller } from '../../src/security/caller.js'
import { type Answer, ask } from '../service.js'
import { untruths } from './true-to-openapi.js'

export const READER: Caller = {
  name: 'r',
  id: 'r',
  role: 'reader',
  namespaces: new Set(['default']),
}

export class ServedRoutes {
  caller: Caller = READER
  readonly #server: Server
  #port = 0

  constructor(routes: readonly Route[]) {
    const answers = new OrdinaryAnswers(routes, () => undefined)
    this.#server = createServer((request, response) => {
      const url = new URL(request.url!, 'http://here')
      const { caller } = this
      void answers
        .guarded(async () => {
          const found = answers.find(url.pathname, request.method!)
          await answers.admit(found.route, caller)
          const asked = {
            caller,
            headers: request.headers,
            rawHeaders: [],
            bytes: null,
            query: url.search,
          }
          return answers.handle(found, asked)
        })
        .then(({ status, body }) => {
          response.writeHead(status, { 'content-type': 'application/json' })
          return response.end(JSON.stringify(body))
        })
    })
  }

  async start(): Promise<this> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve))
    this.#port = (this.#server.address() as { port: number }).port
    return this
  }

  async get(path: string, query: Record<string, string> = {}): Promise<Answer> {
    const search = new URLSearchParams(query).toString()
    const answer = await ask(
      {
        host: '127.0.0.1',
        port: this.#port,
        method: 'GET',
        path: `${path}?${search}`,
        headers: {},
      },
      null,
    )
    expect(untruths('GET', path, answer)).toEqual([])
    return answer
  }

  stop(): void {
    this.#server.close()
  }
}
