/** What a change of rules changes, in words for the log: the first few rules by name, and how many of everything else. */

import { fieldWords, printField } from '@sluice/contract'
import type { Normalize, Rule, RuleBook, RuleSet, Slices } from '@sluice/limiter'
import { type Entry, inSlices, type Override, type Pace, printLimit } from '@sluice/limiter'
import { differingFields, type OwnField } from '@sluice/limiter/transport'
import { type BookPart, differingParts } from './differing-parts.js'

const MOST_LINES = 20
const STEP = 100

export interface RuleChanges {
  /** Whether the rule sets differ in anything, also in what `lines` has no words for. */
  readonly isChanged: boolean
  /** Lines such as `changed per-user 10/s -> 5/s`; at least one where rules that were there changed. */
  readonly lines: readonly string[]
}

/** Compares two rule sets whole, in slices. Every part that differs has a line, if only a general one. */
export function describeChanges(
  before: RuleSet | null,
  after: RuleSet,
  pace?: Pace,
): Promise<RuleChanges> {
  return inSlices(compare(before, after), pace)
}

function* compare(before: RuleSet | null, after: RuleSet): Slices<RuleChanges> {
  const parts = yield* differingParts(before?.book ?? null, after.book)
  if (parts.size === 0) return { isChanged: false, lines: [] }
  const lines = yield* compareRules(before, after)
  if (lines.length > 0) for (const part of ['rules', 'defaultRule'] as const) parts.delete(part)
  for (const [part, items] of Object.entries(LISTS) as [BookPart, ListTexts][]) {
    if (!parts.has(part)) continue
    const { added, removed } = yield* count(
      before === null ? [] : items(before.book),
      items(after.book),
    )
    const words = [added > 0 ? `${added} added` : '', removed > 0 ? `${removed} removed` : '']
    const line = words.filter((word) => word !== '').join(', ')
    if (line !== '') lines.push(`${part}: ${line}`)
    if (line !== '' || before === null) parts.delete(part)
  }
  if (before !== null && parts.delete('normalize')) {
    const [was, is] = [before, after].map(({ book }) => normalizeText(book.normalize))
    lines.push(`changed normalize ${was} -> ${is}`)
    // What they are compared with has changed along with it.
    for (const part of ['rules', 'defaultRule', 'costs'] as const) parts.delete(part)
  }
  // Warnings follow from the other parts.
  if (lines.length > 0) parts.delete('warnings')
  if (before !== null)
    for (const part of parts) lines.push(generalLine(part, before.book, after.book))
  return { isChanged: true, lines }
}

function* compareRules(before: RuleSet | null, after: RuleSet): Slices<string[]> {
  const lines: string[] = []
  let more = 0
  let looked = 0
  const say = (line: () => string) => (lines.length < MOST_LINES ? lines.push(line()) : more++)
  for (const rule of rulesOf(after.book)) {
    if (++looked % STEP === 0) yield
    const old = before === null ? undefined : ruleOf(before, rule.name)
    if (old === undefined) {
      say(() => `added ${rule.name} ${limitsOf(rule)}`)
      continue
    }
    const fields = differingFields(old, rule)
    if (fields.length > 0)
      say(() => `changed ${rule.name} ${differences(old, rule, fields).join(', ')}`)
  }
  for (const rule of before === null ? [] : rulesOf(before.book)) {
    if (++looked % STEP === 0) yield
    if (ruleOf(after, rule.name) === undefined) say(() => `removed ${rule.name}`)
  }
  if (more > 0) lines.push(`and ${more} more`)
  return lines
}

/** For a part that differs in something the lines above do not show, such as the order of its items. */
function generalLine(part: BookPart, before: RuleBook, after: RuleBook): string {
  const [a, b]: unknown[] = [before[part], after[part]]
  const name = NAMES[part] ?? part
  if (Array.isArray(a) && Array.isArray(b))
    return a.length === b.length ? `${name}: another order` : `${name}: changed`
  const isShort = (value: unknown) => typeof value === 'number' || typeof value === 'string'
  return isShort(a) && isShort(b) ? `${name} ${a} -> ${b}` : `${name}: changed`
}

/** Names of the document, where they are not the rule book's. */
const NAMES: Partial<Record<BookPart, string>> = {
  ipv6Prefix: 'ipv6_prefix',
  defaultRule: 'default_rule',
}

function* rulesOf(book: RuleBook): IterableIterator<Rule> {
  yield* book.rules
  if (book.defaultRule !== null) yield book.defaultRule
}

function ruleOf(rules: RuleSet, name: string): Rule | undefined {
  const { defaultRule } = rules.book
  return defaultRule?.name === name ? defaultRule : rules.named(name)?.rule
}

function normalizeText(normalize: Normalize): string {
  const { checks, trailingSlash, foldCase } = normalize
  const onOff = (isOn: boolean) => (isOn ? 'on' : 'off')
  return `checks ${onOff(checks)}, trailing_slash ${trailingSlash}, fold_case ${onOff(foldCase)}`
}

/** Everything but the rules, each item as a text that is different when it is. */
type ListTexts = (book: RuleBook) => Iterable<string>
const LISTS: Partial<Record<BookPart, ListTexts>> = {
  scopes: ({ scopes }) => scopes,
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

function limitsOf(rule: Rule): string {
  return fieldWords('limits', printField(rule, 'limits'))
}

/** What is different, limits first. */
function differences(a: Rule, b: Rule, fields: readonly OwnField[]): string[] {
  const words = (rule: Rule, name: OwnField) => fieldWords(name, printField(rule, name))
  return fields
    .toSorted((one, other) => Number(other === 'limits') - Number(one === 'limits'))
    .map((name) => {
      const change = `${words(a, name)} -> ${words(b, name)}`
      return name === 'limits' ? change : `${name} ${change}`
    })
}
