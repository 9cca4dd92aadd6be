/**
 * Decides by a rules file alone: the routes of the server without the server, over counters that are all
 * unused and forgotten at the end.
 */
import { randomBytes } from 'node:crypto'
import { routeOf } from '@sluice/contract'
import { memoryStore } from '@sluice/limiter'
import { Decisions } from '../decisions.js'
import { ServiceError } from '../error-codes.js'
import { type Body, requireValid } from '../http/body.js'
import type { Call, Handlers } from '../http/route.js'
import { OnceInMemory } from '../receipts/once.js'
import { Vouchers } from '../receipts/vouchers.js'
import { decisionHandlers } from '../routes/decisions.js'
import { loadRules } from '../rules-file/load-rules.js'
import { printable } from '../rules-file/print-faults.js'
import type { Caller } from '../security/caller.js'
import { Tenants } from '../tenants.js'
import { CommandError, EXIT } from './exit-codes.js'
import type { Globals } from './globals.js'
import {
  type Answered,
  type Answerer,
  type AnswerOf,
  type AskingArguments,
  inNamespace,
} from './operation.js'
import { faultyRules } from './rules-files.js'
import type { Terminal } from './terminal.js'

type Decided = 'check' | 'explain'

/** Whoever has the file may ask anything of it. */
const CALLER: Caller = { name: 'file', id: 'file', role: 'admin', namespaces: null }

export class OfflineDecider implements Answerer<Decided> {
  readonly #handlers: Handlers<Decided>
  readonly #namespace: string | undefined

  private constructor(handlers: Handlers<Decided>, namespace: string | undefined) {
    this.#handlers = handlers
    this.#namespace = namespace
  }

  static async by(
    file: string,
    { terminal, globals }: { readonly terminal: Terminal; readonly globals: Globals },
  ): Promise<OfflineDecider> {
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
      answers: 'lean',
    })
    terminal.say(
      terminal.paint(
        'dim',
        `By ${printable(file)} alone: no server was asked, nothing is used yet.`,
      ) + '\n',
    )
    return new OfflineDecider(decisionHandlers(decisions), globals.namespace)
  }

  async call<Id extends Decided>(id: Id, ...[asking]: AskingArguments<Id>): Promise<Answered<Id>> {
    const contract = routeOf(id)
    const { query = {}, body } = inNamespace(contract, asking!, this.#namespace)
    if (contract.bodyCheckedBy === 'schema') requireValid(contract.body!, body as Body)
    const call: Call = {
      caller: CALLER,
      headers: {},
      rawHeaders: [],
      params: {},
      query: () => query,
      rawQuery: () => new URLSearchParams(),
      bytes: () => Buffer.from(JSON.stringify(body)),
      body: (() => body) as Call['body'],
    }
    try {
      const reply = await this.#handlers[id](call)
      return { body: withoutReceipt(reply.body as object) as AnswerOf<Id>, etag: null }
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error
      throw new CommandError(
        `${printable(error.message)} (${error.code}; see: sluice help ${error.code})`,
        EXIT.usage,
      )
    }
  }
}

/** Nobody would honour it. */
function withoutReceipt(body: object): object {
  return 'receipt' in body ? { ...body, receipt: null } : body
}
