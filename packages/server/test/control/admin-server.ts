/** The admin routes behind a real socket, over a database of the test's own. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { memoryStore, RuleSet } from '@sluice/limiter'
import { expect } from 'vitest'
import { DOCUMENT_LIMITS } from '../../src/document-limits.js'
import { OrdinaryAnswers } from '../../src/http/answers.js'
import type { Route } from '../../src/http/route.js'
import type { ControlParts } from '../../src/routes/control-parts.js'
import { controlRoutes } from '../../src/routes/routes.js'
import { Gate } from '../../src/security/gate.js'
import { TokenBook } from '../../src/security/token-book.js'
import { Log } from '../../src/telemetry/log.js'
import { Tenants } from '../../src/tenants.js'
import { AuthErrors } from '../../src/transports/rest/auth-errors.js'
import { BodyBudget } from '../../src/transports/rest/body-budget.js'
import { requestListener } from '../../src/transports/rest/request-listener.js'
import { untruths } from '../rest/true-to-openapi.js'
import { type Answer, askJson } from '../service.js'

export interface AdminServer {
  readonly url: string
  readonly routes: readonly Route[]
  readonly tenants: Tenants
  /** Tokens that may be shown. */
  readonly tokens: TokenBook
  /** What went wrong that no caller was told. */
  readonly failures: unknown[]
  /** Every answer is held against the OpenAPI document. */
  call(
    method: string,
    path: string,
    body?: unknown,
    headers?: Record<string, string>,
  ): Promise<Answer>
  stop(): Promise<void>
}

export async function startAdmin(
  parts: Omit<ControlParts, 'tenants' | 'documentLimits'> &
    Partial<Pick<ControlParts, 'tenants' | 'documentLimits'>>,
): Promise<AdminServer> {
  const tenants = parts.tenants ?? new Tenants(memoryStore())
  if (tenants.get('default') === undefined) await tenants.use(RuleSet.compile({}))
  const routes = controlRoutes({ documentLimits: DOCUMENT_LIMITS, ...parts, tenants })
  const failures: unknown[] = []
  const tokens = new TokenBook()
  const answers = new OrdinaryAnswers(routes, (error) => failures.push(error))
  const gate = new Gate(null, tokens)
  const listener = requestListener({
    answers,
    gate,
    authErrors: new AuthErrors(new Log({ write: () => undefined })),
    budget: new BodyBudget(),
    isDraining: () => false,
  })
  const server = createServer(listener)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    routes,
    tenants,
    tokens,
    failures,
    async call(method, path, body, headers = {}) {
      const answer = await askJson({ host: '127.0.0.1', port, method, path, headers }, body)
      const template = templateOf(routes, path.split('?')[0]!)
      if (template !== undefined) expect(untruths(method, template, answer)).toEqual([])
      return answer
    },
    stop: async () => {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}

function templateOf(routes: readonly Route[], path: string): string | undefined {
  const asked = path.split('/')
  return routes
    .map(({ contract }) => contract.path)
    .find((template) => {
      const segments = template.split('/')
      return (
        segments.length === asked.length &&
        segments.every((one, i) => one.startsWith('{') || one === asked[i])
      )
    })
}
