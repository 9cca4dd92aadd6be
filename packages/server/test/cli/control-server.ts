/** A control plane with all of its routes behind a socket, which decides by what it is told. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { memoryStore, RuleSet } from '@sluice/limiter'
import { ControlPlane } from '../../src/control/control-plane.js'
import { Decisions } from '../../src/decisions.js'
import { DOCUMENT_LIMITS } from '../../src/document-limits.js'
import { OrdinaryAnswers } from '../../src/http/answers.js'
import { bindRoutes } from '../../src/http/route.js'
import { OnceInMemory } from '../../src/receipts/once.js'
import { Vouchers } from '../../src/receipts/vouchers.js'
import { decisionHandlers } from '../../src/routes/decisions.js'
import { controlRoutes } from '../../src/routes/routes.js'
import { usageHandlers } from '../../src/routes/usage.js'
import { Gate } from '../../src/security/gate.js'
import { TokenBook } from '../../src/security/token-book.js'
import { Log } from '../../src/telemetry/log.js'
import { Tenants } from '../../src/tenants.js'
import { AuthErrors } from '../../src/transports/rest/auth-errors.js'
import { BodyBudget } from '../../src/transports/rest/body-budget.js'
import { requestListener } from '../../src/transports/rest/request-listener.js'
import { UsageKeeper } from '../../src/usage/keeping.js'
import { UsageRecorder } from '../../src/usage/recorder.js'
import { UsageSender } from '../../src/usage/sender.js'
import { Tally } from '../../src/usage/tally.js'
import { UsageReader } from '../../src/usage/usage-reader.js'
import { DATABASES } from '../control/databases.js'
import { QUIET } from '../usage/stored.js'

export interface ControlServer {
  readonly control: ControlPlane
  readonly port: number
  readonly failures: unknown[]
  /** What was decided until now is stored. */
  store(): Promise<void>
  stop(): Promise<void>
}

export async function startControl(): Promise<ControlServer> {
  const at = await DATABASES[0]!.start()
  const database = at.open()
  const tenants = new Tenants(memoryStore())
  await tenants.use(RuleSet.compile({}))
  const control = new ControlPlane({
    database,
    applied: async () => {
      for (const { name } of await control.namespaces()) {
        const { text } = await control.documents.read(name)
        await tenants.use(RuleSet.compile({ ...JSON.parse(text), namespace: name }))
      }
    },
  })
  await control.prepare()
  const now = Date.now
  const log = QUIET
  const keeper = new UsageKeeper({ database, now, log })
  await keeper.tend()
  const recorder = new UsageRecorder({ database, now, log, keeper })
  const tally = new Tally(now())
  const sender = new UsageSender({ tally, now, deliver: (batch) => recorder.record([batch]) })
  const decisions = new Decisions({
    tenants,
    vouchers: new Vouchers({ secret: new Uint8Array(16), once: new OnceInMemory(now), now }),
    observer: {
      decided: (decision, request, namespace) => tally.decided(decision, request, namespace),
      took: () => undefined,
    },
    headerFamilies: [],
    answers: 'full',
  })
  const failures: unknown[] = []
  const answers = new OrdinaryAnswers(
    [
      ...bindRoutes(decisionHandlers(decisions)),
      ...controlRoutes({ control, tenants, mode: 'database', documentLimits: DOCUMENT_LIMITS }),
      ...bindRoutes(usageHandlers({ reader: new UsageReader(database, now), tenants, now })),
    ],
    (error) => failures.push(error),
  )
  const gate = new Gate(null, new TokenBook())
  const authErrors = new AuthErrors(new Log({ write: () => undefined }))
  const parts = { answers, gate, authErrors, budget: new BodyBudget(), isDraining: () => false }
  const server = createServer(requestListener(parts))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    control,
    port: (server.address() as AddressInfo).port,
    failures,
    store: async () => {
      sender.take()
      await sender.send()
    },
    stop: async () => {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
      await database.close()
      await at.stop()
    },
  }
}
