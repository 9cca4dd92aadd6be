/** The namespaces that are decided for. Each has its rules and a limiter of its own; all share one store. */
import { createLimiter, type Limiter, RuleSet } from '@sluice/limiter'
import type { Store } from '@sluice/limiter/transport'
import { ServiceError } from './error-codes.js'
import { DEFAULT_NAMESPACE } from './security/caller.js'

export class Tenant {
  readonly namespace: string
  readonly limiter: Limiter

  constructor(namespace: string, limiter: Limiter) {
    this.namespace = namespace
    this.limiter = limiter
  }
}

export class Tenants implements Iterable<Tenant> {
  readonly #store: Store
  readonly #byNamespace = new Map<string, Tenant>()
  /** Of the rules in force, all namespaces together: what their source calls it. */
  revision = 0
  /** Counts the changes of any namespace's rules. */
  changes = 0
  /** Which one is meant where nobody says. */
  home = DEFAULT_NAMESPACE

  constructor(store: Store) {
    this.#store = store
  }

  [Symbol.iterator](): IterableIterator<Tenant> {
    return this.#byNamespace.values()
  }

  get(namespace: string): Tenant | undefined {
    return this.#byNamespace.get(namespace)
  }

  /** Throws 400 for one that does not exist. */
  require(namespace: string, field = 'namespace'): Tenant {
    const tenant = this.#byNamespace.get(namespace)
    if (tenant !== undefined) return tenant
    throw new ServiceError(
      'unknown_namespace',
      `${field} is ${JSON.stringify(namespace.slice(0, 64))}, which is not served here`,
      { field },
    )
  }

  /**
   * Puts these rules in force in their namespace, in slices. `since` is when they took effect by the
   * store's clock, in milliseconds; now unless given.
   */
  async use(rules: RuleSet, since?: number): Promise<void> {
    const { namespace } = rules
    const tenant = this.#byNamespace.get(namespace)
    if (tenant === undefined)
      this.#byNamespace.set(
        namespace,
        new Tenant(namespace, createLimiter({ rules, store: this.#store })),
      )
    else await tenant.limiter.changeRules(rules, since === undefined ? {} : { since })
    this.changes++
  }

  /** The namespace is gone: nobody is decided for in it any more, and its counters are forgotten. */
  async remove(namespace: string): Promise<void> {
    const tenant = this.#byNamespace.get(namespace)
    this.#byNamespace.delete(namespace)
    await tenant?.limiter.changeRules(RuleSet.compile({ namespace }))
    this.changes++
  }

  /** How many rules there are in all. */
  get size(): number {
    let size = 0
    for (const { limiter } of this) size += limiter.rules.size
    return size
  }
}
