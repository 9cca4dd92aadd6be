/**
 * The rules of one namespace, made from what is told of it, again and again: only what has changed is
 * read again, and in slices. The control plane has checked everything; what cannot be read here all the
 * same (it may be newer than this instance) is left as it was, and said.
 */
import type { Entry, Fault, Override, Rule, RuleBook, RulesDocument, Slices } from '@sluice/limiter'
import {
  DOCUMENT_PARTS,
  type DocumentPart,
  partsOf,
  readDocument,
  readValue,
  SETTING_PARTS,
} from '@sluice/limiter/transport'
import type { CostItem, Items, ListedSubject } from './change.js'
import type { NamespaceItems } from './feed-state.js'

/** How many items are read between two yields. */
const STEP = 50

interface ReadItem<I, R> {
  readonly item: I
  readonly read: R
}

/** Hears of an item that cannot be read. */
export type Unreadable = (what: string, faults: readonly Fault[]) => void

type Tiers = Map<string, Map<string, string>>

export class NamespaceRules {
  readonly namespace: string
  #settings: Items['namespace'] | null = null
  #frame: RuleBook | null = null
  #rules = new Map<string, ReadItem<Items['rule'], readonly Rule[]>>()
  #overrides = new Map<string, ReadItem<Items['override'], readonly Override[]>>()
  #exemptions = new Map<string, ReadItem<ListedSubject, readonly Entry[]>>()
  #blocks = new Map<string, ReadItem<ListedSubject, readonly Entry[]>>()
  #tiers: Tiers = new Map()
  #tiersOf: NamespaceItems | null = null
  #tierChanges = -1
  #order = 0

  constructor(namespace: string) {
    this.namespace = namespace
  }

  /** All of it: the namespace has no other rules. */
  *book(items: NamespaceItems, unreadable: Unreadable): Slices<RuleBook> {
    const frame = this.#frameOf(items, unreadable)
    yield* this.#readRules(items, unreadable)
    const rules = [...items.rules.keys()].flatMap((name) => this.#rules.get(name)?.read ?? [])
    yield* this.#readSubjects(items, unreadable)
    yield
    return {
      ...frame,
      rules,
      tiers: this.#tiers,
      overrides: this.#overridesOf([...rules, ...(frame.defaultRule ? [frame.defaultRule] : [])]),
      exemptions: listed(this.#exemptions),
      blocks: listed(this.#blocks),
    }
  }

  /** What is told of subjects, over the rules of a file. */
  *over(book: RuleBook, items: NamespaceItems, unreadable: Unreadable): Slices<RuleBook> {
    yield* this.#readSubjects(items, unreadable)
    const rules = book.defaultRule === null ? book.rules : [...book.rules, book.defaultRule]
    yield
    return {
      ...book,
      tiers: merged(book.tiers, this.#tiers),
      overrides: [...book.overrides, ...this.#overridesOf(rules)],
      exemptions: [...book.exemptions, ...listed(this.#exemptions)],
      blocks: [...book.blocks, ...listed(this.#blocks)],
    }
  }

  /** Settings, default rule and costs: few, and read whole. */
  #frameOf({ settings, costs }: NamespaceItems, unreadable: Unreadable): RuleBook {
    if (settings !== this.#settings) {
      // Time zone, defaults and normalize are part of how every rule is read.
      this.#rules = new Map()
      this.#overrides = new Map()
      this.#settings = settings
    }
    const document = { ...settings, namespace: this.namespace, costs: costTable(costs.values()) }
    const read = readDocument(document)
    if (!Array.isArray(read)) this.#frame = read
    else unreadable('settings', read)
    if (this.#frame !== null) return this.#frame
    return readDocument({ namespace: this.namespace }) as RuleBook
  }

  *#readRules({ rules, settings }: NamespaceItems, unreadable: Unreadable): Slices<void> {
    yield* readItems({
      items: rules,
      known: this.#rules,
      document: (entries) => ({
        ...frameOnly(settings),
        namespace: this.namespace,
        rules: Object.fromEntries(entries),
      }),
      pick: ({ rules: read }, name) =>
        read
          .filter((rule) => rule.name === name)
          .map((rule) => ({
            ...rule,
            order: this.#rules.get(name)?.read[0]?.order ?? this.#order++,
          })),
      unreadable: (name, faults) => unreadable(`rule ${name}`, faults),
    })
  }

  *#readSubjects(items: NamespaceItems, unreadable: Unreadable): Slices<void> {
    yield* this.#readTiers(items)
    for (const kind of ['exemptions', 'blocks'] as const) {
      yield* readItems({
        items: items[kind],
        known: kind === 'exemptions' ? this.#exemptions : this.#blocks,
        document: (entries) => ({ [kind]: entries.map(([, entry]) => listEntry(entry)) }),
        pick: (book, _key, i) => [book[kind][i]!],
        unreadable: (key, faults) => unreadable(`${kind} ${key}`, faults),
      })
    }
    const { settings } = items
    yield* readItems({
      items: items.overrides,
      known: this.#overrides,
      document: (entries) => ({
        ...frameOnly(settings),
        // Whether its rule exists is looked at when all is known.
        rules: Object.fromEntries(entries.map(([, one]) => [one.rule, standIn(one)])),
        overrides: entries.map(([, one]) => plainOverride(one)),
      }),
      pick: (book, _key, i) => [book.overrides[i]!],
      unreadable: (key, faults) => unreadable(`override ${key}`, faults),
    })
  }

  *#readTiers(items: NamespaceItems): Slices<void> {
    if (this.#tiersOf === items && this.#tierChanges === items.tierChanges) return
    const tiers: Tiers = new Map()
    let looked = 0
    for (const [subject, tier] of items.tiers) {
      if (++looked % 1000 === 0) yield
      const colon = subject.indexOf(':')
      const scope = subject.slice(0, colon)
      const value = readValue(scope, subject.slice(colon + 1))
      if (typeof value !== 'string') continue
      const values = tiers.get(scope) ?? new Map<string, string>()
      tiers.set(scope, values)
      values.set(value, tier)
    }
    this.#tiers = tiers
    this.#tiersOf = items
    this.#tierChanges = items.tierChanges
  }

  /** Those whose rule is there and counts their scope. */
  #overridesOf(rules: readonly Rule[]): Override[] {
    if (this.#overrides.size === 0) return []
    const scopes = new Map<string, string>()
    for (const { name, family, scope } of rules) {
      scopes.set(name, scope)
      scopes.set(family, scope)
    }
    return [...this.#overrides.values()].flatMap(({ read }) =>
      read.filter(({ rule, scope }) => scopes.get(rule) === scope),
    )
  }
}

interface Reading<I, R> {
  readonly items: ReadonlyMap<string, I>
  /** What was read before; brought up to date. */
  readonly known: Map<string, ReadItem<I, readonly R[]>>
  readonly document: (entries: readonly (readonly [string, I])[]) => RulesDocument
  readonly pick: (book: RuleBook, key: string, index: number) => readonly R[]
  readonly unreadable: (key: string, faults: readonly Fault[]) => void
}

function* readItems<I, R>(reading: Reading<I, R>): Slices<void> {
  const { items, known, unreadable } = reading
  for (const key of known.keys()) if (!items.has(key)) known.delete(key)
  let entries: (readonly [string, I])[] = []
  let looked = 0
  for (const entry of items) {
    if (++looked % 1000 === 0) yield
    if (known.get(entry[0])?.item === entry[1]) continue
    entries.push(entry)
    if (entries.length < STEP) continue
    readChunk(reading, entries)
    entries = []
    yield
  }
  readChunk(reading, entries)

  function readChunk({ document, pick }: Reading<I, R>, chunk: typeof entries): void {
    if (chunk.length === 0) return
    const book = readDocument(document(chunk))
    if (!Array.isArray(book)) {
      for (const [i, [key, item]] of chunk.entries())
        known.set(key, { item, read: pick(book, key, i) })
    } else if (chunk.length > 1) for (const one of chunk) readChunk(reading, [one])
    else {
      const [key, item] = chunk[0]!
      unreadable(key, book)
      // Not told again until it changes; what it was before stays.
      known.set(key, { item, read: known.get(key)?.read ?? [] })
    }
  }
}

function listed(entries: ReadonlyMap<string, ReadItem<ListedSubject, readonly Entry[]>>): Entry[] {
  return [...entries.values()].flatMap(({ read }) => read)
}

/** The settings that are part of how every rule is read. */
const OF_RULES = SETTING_PARTS.filter((part) => {
  const { changesRules }: DocumentPart = DOCUMENT_PARTS[part]
  return changesRules === true
})

function frameOnly(settings: Items['namespace']): RulesDocument {
  return partsOf(settings, OF_RULES)
}

function listEntry({ scope, value, until, reason }: ListedSubject) {
  return {
    [scope]: value,
    ...(until === null ? {} : { until }),
    ...(reason === null ? {} : { reason }),
  }
}

/** A rule that the override may be of. */
function standIn({ scope, rule }: Items['override']) {
  const tier = rule.split('@')[1]
  return { scope, limits: '1/s' as const, additive: true, ...(tier === undefined ? {} : { tier }) }
}

/** Without what is not said. */
function plainOverride(override: Items['override']): Items['override'] {
  const stated = Object.entries(override).filter(([, value]) => value !== null)
  return Object.fromEntries(stated) as unknown as Items['override']
}

function costTable(costs: Iterable<CostItem>): NonNullable<RulesDocument['costs']> {
  const table = new Map<string, Record<string, number>>()
  for (const { resource, methods, unit, cost } of costs) {
    const key = methods === null ? resource : `${methods.join('|')} ${resource}`
    table.set(key, { ...table.get(key), [unit]: cost })
  }
  return Object.fromEntries(table)
}

/** Later ones win. */
function merged(first: RuleBook['tiers'], second: RuleBook['tiers']): RuleBook['tiers'] {
  if (second.size === 0) return first
  const both = new Map(first)
  for (const [scope, values] of second)
    both.set(scope, new Map([...(first.get(scope) ?? []), ...values]))
  return both
}
