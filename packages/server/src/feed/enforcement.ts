/** Puts what is told in force: rules in their namespaces, and tokens where callers are let in. */
import { setImmediate as endOfTurn } from 'node:timers/promises'
import { inSlices, type RuleBook, RuleSet } from '@sluice/limiter'
import type { TokenBook } from '../security/token-book.js'
import type { Log } from '../telemetry/log.js'
import type { Tenants } from '../tenants.js'
import { type FeedState, NamespaceItems, type Touched } from './feed-state.js'
import { NamespaceRules } from './namespace-rules.js'

export interface EnforcementParts {
  readonly tenants: Tenants
  readonly tokens: TokenBook
  readonly log: Log
  /** New rules are in force. */
  readonly enforced: (rules: RuleSet) => void
}

export class Enforcement {
  readonly #parts: EnforcementParts
  readonly #byNamespace = new Map<string, NamespaceRules>()
  /** The rules of a file, which what is told of subjects goes over. */
  #file: RuleBook | null = null
  #state: FeedState | null = null
  /** One at a time, in the order of their beginning. */
  #last: Promise<void> = Promise.resolve()

  constructor(parts: EnforcementParts) {
    this.#parts = parts
  }

  /** What is told from now on, and touched by it. `since` is when by the store's clock, in milliseconds. */
  enforce(state: FeedState, touched: Touched, since?: number): Promise<void> {
    return this.#next(async () => {
      this.#state = state
      if (touched.tokens) this.#useTokens(state)
      let isFirst = true
      for (const namespace of touched.namespaces) {
        // Each is worked on in slices, but a small one ends within its first: hundreds would be one long turn.
        if (!isFirst) await endOfTurn()
        isFirst = false
        await this.#use(namespace, since)
      }
    })
  }

  /** The file's rules are these from now on. */
  useFile(rules: RuleSet): Promise<void> {
    return this.#next(async () => {
      this.#file = rules.book
      const items = this.#state?.namespaces.get(rules.namespace)
      if (items === undefined) await this.#put(rules)
      else await this.#use(rules.namespace)
    })
  }

  #next(work: () => Promise<void>): Promise<void> {
    const next = this.#last.then(work)
    this.#last = next.catch(() => undefined)
    return next
  }

  async #use(namespace: string, since?: number): Promise<void> {
    const items = this.#state?.namespaces.get(namespace)
    if (this.#file !== null && this.#file.namespace !== namespace) return
    if (items === undefined && this.#file === null) {
      this.#byNamespace.delete(namespace)
      await this.#parts.tenants.remove(namespace)
      return
    }
    let rules = this.#byNamespace.get(namespace)
    if (rules === undefined) {
      rules = new NamespaceRules(namespace)
      this.#byNamespace.set(namespace, rules)
    }
    const { log } = this.#parts
    const unreadable = (what: string, faults: readonly { message: string }[]) =>
      log.error(`${what} cannot be read here, and stays as it was`, {
        code: 'invalid_rules',
        namespace,
        error: faults.map(({ message }) => message).join('; '),
      })
    const told = items ?? new NamespaceItems()
    const book = await inSlices(
      this.#file === null ? rules.book(told, unreadable) : rules.over(this.#file, told, unreadable),
    )
    const before = this.#parts.tenants.get(namespace)?.limiter.rules
    await this.#put(await inSlices(RuleSet.assemble(book, before)), since)
  }

  async #put(rules: RuleSet, since?: number): Promise<void> {
    await this.#parts.tenants.use(rules, since)
    this.#parts.enforced(rules)
  }

  #useTokens({ tokens }: FeedState): void {
    this.#parts.tokens.use(
      [...tokens].map(([id, { name, hash, role, namespaces, expires_at }]) => ({
        id,
        name,
        hash,
        role,
        namespaces,
        expiresAt: expires_at === null ? null : Date.parse(expires_at),
      })),
    )
  }
}
