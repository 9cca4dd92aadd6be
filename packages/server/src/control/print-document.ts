/** What is stored, printed as the document that says it, some of it at a time. */
import type { OverrideInput, RuleInput, RulesDocument, Slices } from '@sluice/limiter'
import type { CostItem, ListedSubject } from '../feed/change.js'
import { type Content, isSame, type OverrideRow, type RuleRow, type TierRow } from './content.js'

/** How many of anything are worked on between two yields. */
const STEP = 100

/**
 * The document that says what is stored. Variants that differ in tier and limits only go into their rule.
 * Rules are in their order; what has none is sorted, so that the same content is the same document.
 */
export function* documentOf(namespace: string, content: Content): Slices<RulesDocument> {
  const { settings } = content
  const tiers = yield* sortedBy(
    content.tiers,
    ({ tier, scope, value }) => `${tier} ${scope}:${value}`,
  )
  const overrides = yield* sortedBy(
    content.overrides,
    (one) => `${one.rule} ${one.scope}:${one.value}`,
  )
  const exemptions = yield* sortedBy(content.exemptions, listedKey)
  const blocks = yield* sortedBy(content.blocks, listedKey)
  const costs = yield* sortedBy(
    content.costs,
    (cost) => `${cost.resource} ${costKey(cost)} ${cost.unit}`,
  )
  const list = <T>(name: string, items: readonly T[]) =>
    items.length === 0 ? {} : { [name]: items }
  return {
    version: 1,
    ...(namespace === 'default' ? {} : { namespace }),
    ...settings,
    ...(tiers.length === 0 ? {} : { tiers: yield* membersByTier(tiers) }),
    rules: yield* foldedRules(content.rules),
    ...list('overrides', yield* mapped(overrides, overrideInput)),
    ...(costs.length === 0 ? {} : { costs: yield* costTable(costs) }),
    ...list('exemptions', yield* mapped(exemptions, listEntry)),
    ...list('blocks', yield* mapped(blocks, listEntry)),
  } as RulesDocument
}

/** Each of them in turn, with a yield now and then. */
function* eachOf<T>(items: readonly T[], work: (item: T) => void): Slices<void> {
  for (const [i, item] of items.entries()) {
    work(item)
    if (i % STEP === STEP - 1) yield
  }
}

function* mapped<T, U>(items: readonly T[], change: (item: T) => U): Slices<U[]> {
  const all: U[] = []
  yield* eachOf(items, (item) => all.push(change(item)))
  return all
}

interface Keyed<T> {
  readonly item: T
  readonly by: string
}

/** Short runs are sorted, and then merged two by two until there is one. */
function* sortedBy<T>(items: readonly T[], key: (item: T) => string): Slices<T[]> {
  const keyed = yield* mapped(items, (item) => ({ item, by: key(item) }))
  let runs: Keyed<T>[][] = []
  for (let i = 0; i < keyed.length; i += STEP) {
    const run = keyed.slice(i, i + STEP)
    runs.push(run.sort((a, b) => (a.by < b.by ? -1 : a.by > b.by ? 1 : 0)))
    yield
  }
  while (runs.length > 1) {
    const longer: Keyed<T>[][] = []
    for (let i = 0; i < runs.length; i += 2) longer.push(yield* merged(runs[i]!, runs[i + 1] ?? []))
    runs = longer
  }
  return yield* mapped(runs[0] ?? [], ({ item }) => item)
}

function* merged<T>(left: readonly Keyed<T>[], right: readonly Keyed<T>[]): Slices<Keyed<T>[]> {
  const all: Keyed<T>[] = []
  for (let [i, j] = [0, 0]; i < left.length || j < right.length; ) {
    const [a, b] = [left[i], right[j]]
    const takesLeft = b === undefined || (a !== undefined && a.by <= b.by)
    all.push(takesLeft ? a! : b)
    if (takesLeft) i++
    else j++
    if (all.length % STEP === 0) yield
  }
  return all
}

function listedKey({ scope, value, until }: ListedSubject): string {
  return `${scope}:${value} ${until}`
}

/** Without a prototype: `__proto__` is the name of a resource like any other. */
function table<T>(): Record<string, T> {
  return Object.create(null) as Record<string, T>
}

function* membersByTier(tiers: readonly TierRow[]): Slices<Record<string, string[]>> {
  const members = table<string[]>()
  yield* eachOf(tiers, ({ tier, scope, value }) => {
    const all = (members[tier] ??= [])
    all.push(`${scope}:${value}`)
  })
  return members
}

function* foldedRules(rows: readonly RuleRow[]): Slices<Record<string, RuleInput>> {
  const bases = new Map<string, RuleRow>()
  yield* eachOf(rows, (row) => bases.set(row.name, row))
  const tiers = new Map<string, Record<string, RuleInput['limits']>>()
  const inBase = new Set<string>()
  yield* eachOf(rows, ({ name, family, tier, body }) => {
    const base = bases.get(family)
    if (name === family || tier === null || base === undefined || base.tier !== null) return
    if (!differOnlyInTier(base.body, body)) return
    const limits = tiers.get(family) ?? table<RuleInput['limits']>()
    limits[tier] = body.limits
    tiers.set(family, limits)
    inBase.add(name)
  })
  const folded = table<RuleInput>()
  yield* eachOf(rows, ({ name, body }) => {
    const limits = tiers.get(name)
    if (inBase.has(name)) return
    folded[name] ??= limits === undefined ? body : { ...body, tiers: limits }
  })
  return folded
}

function differOnlyInTier(base: RuleInput, variant: RuleInput): boolean {
  const { limits: _a, ...rest } = base
  const { limits: _b, tier: _tier, ...other } = variant
  return isSame(rest, other)
}

export function overrideInput({
  scope,
  value,
  rule,
  limits,
  until,
  reason,
}: OverrideRow): OverrideInput {
  return {
    scope,
    value,
    rule,
    limits: limits as OverrideInput['limits'],
    ...(until === null ? {} : { until }),
    ...(reason === null ? {} : { reason }),
  }
}

function listEntry({ scope, value, until, reason }: ListedSubject): unknown {
  if (until === null && reason === null) return `${scope}:${value}`
  return {
    [scope]: value,
    ...(until === null ? {} : { until }),
    ...(reason === null ? {} : { reason }),
  }
}

function* costTable(costs: readonly CostItem[]): Slices<Record<string, Record<string, number>>> {
  const byKey = table<Record<string, number>>()
  yield* eachOf(costs, (one) => {
    const units = (byKey[costKey(one)] ??= {})
    units[one.unit] = one.cost
  })
  return byKey
}

export function costKey({ methods, resource }: Pick<CostItem, 'methods' | 'resource'>): string {
  return methods === null ? resource : `${methods.join('|')} ${resource}`
}
