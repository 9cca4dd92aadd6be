/** What a change of rules changes, in words for the log: the first few rules by name, and how many of everything else. */

import type { Normalize, Rule, RuleBook, RuleSet, Slices } from '@sluice/limiter'
import { type Entry, inSlices, type Override, type Pace, printLimit } from '@sluice/limiter'
import { writeLease } from '@sluice/limiter/transport'

const MOST_LINES = 20
const STEP = 100

/** Lines such as `changed per-user 10/s -> 5/s`, at most 21; none if nothing is different. */
export function describeChanges(
  before: RuleSet | null,
  after: RuleSet,
  pace?: Pace,
): Promise<string[]> {
  return inSlices(compare(before, after), pace)
}

function* compare(before: RuleSet | null, after: RuleSet): Slices<string[]> {
  const lines: string[] = []
  let more = 0
  let looked = 0
  const say = (line: () => string) => (lines.length < MOST_LINES ? lines.push(line()) : more++)
  for (const rule of rulesOf(after.book)) {
    if (++looked % STEP === 0) yield
    const old = before === null ? undefined : ruleOf(before, rule.name)
    if (old === undefined) say(() => `added ${rule.name} ${limitsOf(rule)}`)
    else if (!isSame(old, rule))
      say(() => `changed ${rule.name} ${differences(old, rule).join(', ')}`)
  }
  for (const rule of before === null ? [] : rulesOf(before.book)) {
    if (++looked % STEP === 0) yield
    if (ruleOf(after, rule.name) === undefined) say(() => `removed ${rule.name}`)
  }
  if (more > 0) lines.push(`and ${more} more`)
  const [was, is] = [before?.book.normalize, after.book.normalize].map(normalizeText)
  if (before !== null && was !== is) lines.push(`changed normalize ${was} -> ${is}`)
  for (const [name, items] of Object.entries(LISTS)) {
    const { added, removed } = yield* count(
      before === null ? [] : items(before.book),
      items(after.book),
    )
    const parts = [added > 0 ? `${added} added` : '', removed > 0 ? `${removed} removed` : '']
    const words = parts.filter((part) => part !== '').join(', ')
    if (words !== '') lines.push(`${name}: ${words}`)
  }
  return lines
}

function* rulesOf(book: RuleBook): IterableIterator<Rule> {
  yield* book.rules
  if (book.defaultRule !== null) yield book.defaultRule
}

function ruleOf(rules: RuleSet, name: string): Rule | undefined {
  const { defaultRule } = rules.book
  return defaultRule?.name === name ? defaultRule : rules.named(name)?.rule
}

function normalizeText(normalize: Normalize | undefined): string {
  if (normalize === undefined) return ''
  const { checks, trailingSlash, foldCase } = normalize
  const onOff = (isOn: boolean) => (isOn ? 'on' : 'off')
  return `checks ${onOff(checks)}, trailing_slash ${trailingSlash}, fold_case ${onOff(foldCase)}`
}

/** Everything but the rules, each item as a text that is different when it is. */
const LISTS: Record<string, (book: RuleBook) => Iterable<string>> = {
  *tiers({ tiers }) {
    for (const [scope, values] of tiers)
      for (const [value, tier] of values) yield `${tier} ${scope}:${value}`
  },
  overrides: ({ overrides }) => mapped(overrides, (one) => `${one.rule} ${entryText(one)}`),
  costs: ({ costs }) => mapped(costs, ({ key, unit, cost }) => `${key} ${unit} ${cost}`),
  exemptions: ({ exemptions }) => mapped(exemptions, entryText),
  blocks: ({ blocks }) => mapped(blocks, entryText),
}

function* mapped<T>(items: Iterable<T>, text: (item: T) => string): IterableIterator<string> {
  for (const item of items) yield text(item)
}

function entryText(entry: Entry | Override): string {
  const limits = 'limits' in entry ? entry.limits.map(printLimit) : []
  const { scope, value, until, reason } = entry
  return JSON.stringify([scope, value, String(until), reason, limits])
}

function* count(
  before: Iterable<string>,
  after: Iterable<string>,
): Slices<{ added: number; removed: number }> {
  const gone = new Set<string>()
  let looked = 0
  for (const text of before) {
    gone.add(text)
    if (++looked % STEP === 0) yield
  }
  let added = 0
  for (const text of after) {
    if (!gone.delete(text)) added++
    if (++looked % STEP === 0) yield
  }
  return { added, removed: gone.size }
}

/** What is compared, and how it is said. Limits come first. */
const FIELDS = {
  scope: ({ scope }: Rule) => scope,
  value: ({ value }: Rule) => (typeof value === 'object' ? JSON.stringify(value) : value),
  resource: ({ resource }: Rule) => resource,
  methods: ({ methods }: Rule) => methods?.join('|') ?? 'all',
  tier: ({ tier }: Rule) => tier ?? 'any',
  unit: ({ unit }: Rule) => unit,
  additive: ({ additive }: Rule) => String(additive),
  enabled: ({ enabled }: Rule) => String(enabled),
  shadow: ({ shadow }: Rule) => String(shadow),
  failure_mode: ({ failureMode }: Rule) => failureMode,
  shards: ({ shards }: Rule) => String(shards),
  lease: ({ lease }: Rule) => leaseText(lease),
  description: ({ description }: Rule) => JSON.stringify(description),
}

function leaseText(lease: Rule['lease']): string {
  if (lease === null) return 'unset'
  const written = writeLease(lease)
  if (typeof written === 'object') return JSON.stringify(written)
  return written ? 'on' : 'off'
}

function limitsOf({ limits }: Rule): string {
  return limits.map(printLimit).join(', ')
}

function sameLimits(a: Rule, b: Rule): boolean {
  return (
    a.limits.length === b.limits.length &&
    a.limits.every((limit, i) => {
      const other = b.limits[i]!
      return (
        limit.amount === other.amount &&
        limit.window === other.window &&
        limit.burst === other.burst &&
        limit.algorithm === other.algorithm &&
        limit.calendar === other.calendar &&
        limit.timezone === other.timezone
      )
    })
  )
}

function isSame(a: Rule, b: Rule): boolean {
  return sameLimits(a, b) && Object.values(FIELDS).every((field) => field(a) === field(b))
}

function differences(a: Rule, b: Rule): string[] {
  const limits = sameLimits(a, b) ? [] : [`${limitsOf(a)} -> ${limitsOf(b)}`]
  const others = Object.entries(FIELDS)
    .filter(([, field]) => field(a) !== field(b))
    .map(([name, field]) => `${name} ${field(a)} -> ${field(b)}`)
  return [...limits, ...others]
}
