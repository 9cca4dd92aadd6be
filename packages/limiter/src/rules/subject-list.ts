/** Blocks or exemptions: subjects by exact value, and addresses by CIDR. */
import { type Slices, STEP } from '../slices.js'
import { BloomFilter } from './bloom-filter.js'
import { CidrMap } from './cidr-map.js'
import type { IpAddress } from './ip-address.js'
import type { Entry } from './rule.js'

interface ScopeList {
  readonly exact: Map<string, Entry>
  readonly cidrs: CidrMap<{ entry: Entry }>
  filter: BloomFilter
}

export class SubjectList {
  readonly #scopes = new Map<string, ScopeList>()

  static *assemble(entries: readonly Entry[]): Slices<SubjectList> {
    const made = new SubjectList()
    let added = 0
    for (const entry of entries) {
      made.#add(entry)
      if (++added % STEP === 0) yield
    }
    for (const list of made.#scopes.values()) {
      list.filter = new BloomFilter(list.exact.size)
      for (const text of list.exact.keys()) {
        list.filter.add(text)
        if (++added % STEP === 0) yield
      }
    }
    return made
  }

  #add(entry: Entry): void {
    let list = this.#scopes.get(entry.scope)
    if (list === undefined) {
      list = { exact: new Map(), cidrs: new CidrMap(), filter: new BloomFilter(0) }
      this.#scopes.set(entry.scope, list)
    }
    if (typeof entry.value === 'string') {
      const known = list.exact.get(entry.value)
      if (known === undefined || known.until < entry.until) list.exact.set(entry.value, entry)
    } else {
      const slot = list.cidrs.getOrAdd(entry.value, () => ({ entry }))
      if (slot.entry.until < entry.until) slot.entry = entry
    }
  }

  /** Some entry is a network. */
  get hasCidrs(): boolean {
    return [...this.#scopes.values()].some(({ cidrs }) => !cidrs.isEmpty)
  }

  get isEmpty(): boolean {
    return this.#scopes.size === 0
  }

  get scopes(): Iterable<string> {
    return this.#scopes.keys()
  }

  /** The entry in force for this subject, if there is one. */
  find(scope: string, value: string, address: IpAddress | null, now: number): Entry | null {
    const list = this.#scopes.get(scope)
    if (list === undefined) return null
    if (list.filter.mayHave(value)) {
      const entry = list.exact.get(value)
      if (entry !== undefined && entry.until > now) return entry
    }
    if (address === null || list.cidrs.isEmpty) return null
    for (const { entry } of list.cidrs.matches(address)) {
      if (entry.until > now) return entry
    }
    return null
  }
}
