/**
 * Decides by a rules file alone: the routes of the server without the server, over counters that are all
 * unused and forgotten at the end.
 */
import { randomBytes } from 'node:crypto'
import { memoryStore } from '@sluice/limiter'
import { Decisions } from '../decisions.js'
import { ServiceError } from '../error-codes.js'
import type { Call, Handlers } from '../http/route.js'
import { OnceInMemory } from '../receipts/once.js'
import { Vouchers } from '../receipts/vouchers.js'
import { decisionHandlers } from '../routes/decisions.js'
import { loadRules } from '../rules-file/load-rules.js'
import { printable } from '../rules-file/print-faults.js'
import type { Caller } from '../security/caller.js'
import { Tenants } from '../tenants.js'
import { CommandError, EXIT } from './exit-codes.js'
import { faultyRules } from './faulty-rules.js'
import type { Answer, Decider, Json } from './server-client.js'
import type { Terminal } from './terminal.js'

/** Whoever has the file may ask anything of it. */
const CALLER: Caller = { name: 'file', id: 'file', role: 'admin', namespaces: null }

export class OfflineDecider implements Decider {
  readonly #handlers: Handlers<'check' | 'explain'>

  private constructor(handlers: Handlers<'check' | 'explain'>) {
    this.#handlers = handlers
  }

  static async by(file: string, terminal: Terminal): Promise<OfflineDecider> {
    const loaded = await loadRules(file)
    if ('faults' in loaded) throw faultyRules(file, loaded, terminal)
    const tenants = new Tenants(memoryStore())
    await tenants.use(loaded.rules)
    tenants.home = loaded.rules.namespace
    tenants.revision = 1
    const decisions = new Decisions({
      tenants,
      vouchers: new Vouchers({
        secret: randomBytes(16),
        once: new OnceInMemory(),
        now: Date.now,
      }),
      observer: { decided: () => undefined, took: () => undefined },
      headerFamilies: [],
      answers: 'full',
    })
    terminal.say(
      terminal.paint(
        'dim',
        `By ${printable(file)} alone: no server was asked, nothing is used yet.`,
      ) + '\n',
    )
    return new OfflineDecider(decisionHandlers(decisions))
  }

  async post(path: string, body: Json): Promise<Answer> {
    const id = path === '/v1/check' ? 'check' : 'explain'
    try {
      const call: Call = {
        caller: CALLER,
        headers: {},
        rawHeaders: [],
        params: {},
        query: () => ({}),
        rawQuery: () => new URLSearchParams(),
        bytes: () => Buffer.from(JSON.stringify(body)),
        body: (() => body) as Call['body'],
      }
      const reply = await this.#handlers[id](call)
      return { status: reply.status, body: withoutReceipts(reply.body as Json) }
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error
      throw new CommandError(
        `${printable(error.message)} (${error.code}; see: sluice help ${error.code})`,
        EXIT.usage,
      )
    }
  }
}

/** Nobody would honour them. */
function withoutReceipts(body: Json): Json {
  const decision = body['decision'] as Json | undefined
  return {
    ...body,
    ...('receipt' in body ? { receipt: null } : {}),
    ...(decision === undefined ? {} : { decision: { ...decision, receipt: null } }),
  }
}
