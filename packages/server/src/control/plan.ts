/** What would change between what a namespace holds and what a document wants, and what it means for counters. */
import { type AnswerBody, fieldsInWords, isStoredAsWritten, printStored } from '@sluice/contract'
import { isFault, parseLimit, type RuleInput, type Slices } from '@sluice/limiter'
import { limitIdentity, OWN_FIELDS, type OwnField, RULE_FIELDS } from '@sluice/limiter/transport'
import type { ListedSubject } from '../feed/change.js'
import {
  type Content,
  type CostRow,
  isSame,
  type OverrideRow,
  type RuleRow,
  stableText,
  type TierRow,
} from './content.js'
import type { StoredContent } from './load-content.js'
import { costKey } from './print-document.js'

export type PlannedChange = AnswerBody<'applyDocument'>['changes'][number]

/** Of one kind: what comes, what goes, and what is there and other. */
export interface Difference<B, A> {
  readonly added: readonly A[]
  readonly removed: readonly B[]
  readonly changed: readonly (readonly [B, A])[]
}

export interface ContentDifference {
  readonly settings: boolean
  readonly rules: Difference<StoredContent['rules'][number], RuleRow>
  readonly tiers: Difference<TierRow, TierRow>
  readonly overrides: Difference<OverrideRow, OverrideRow>
  readonly exemptions: Difference<StoredContent['exemptions'][number], ListedSubject>
  readonly blocks: Difference<StoredContent['blocks'][number], ListedSubject>
  readonly costs: Difference<StoredContent['costs'][number], CostRow>
}

const STEP = 100

function* differenceOf<B, A>(
  before: readonly B[],
  after: readonly A[],
  key: (item: B | A) => string,
  text: (item: B | A) => string,
): Slices<Difference<B, A>> {
  const left = new Map<string, B[]>()
  let looked = 0
  for (const item of before) {
    const same = left.get(key(item))
    if (same === undefined) left.set(key(item), [item])
    else same.push(item)
    if (++looked % STEP === 0) yield
  }
  const added: A[] = []
  const changed: (readonly [B, A])[] = []
  for (const item of after) {
    const old = left.get(key(item))?.shift()
    if (old === undefined) added.push(item)
    else if (text(old) !== text(item)) changed.push([old, item])
    if (++looked % STEP === 0) yield
  }
  return { added, removed: [...left.values()].flat(), changed }
}

const listedText = ({ scope, value, until, reason }: ListedSubject) =>
  JSON.stringify([scope, value, until, reason])
const overrideText = ({ limits, until, reason }: OverrideRow) =>
  JSON.stringify([limits, until, reason])
const placeOf = ({ place }: { readonly place: string }) => place

export function* compareContent(before: StoredContent, after: Content): Slices<ContentDifference> {
  return {
    settings: !isSame(before.settings, after.settings),
    rules: yield* differenceOf(
      before.rules,
      after.rules,
      ({ name }) => name,
      ({ body }) => stableText(body),
    ),
    tiers: yield* differenceOf(before.tiers, after.tiers, placeOf, ({ tier }) => tier),
    overrides: yield* differenceOf(before.overrides, after.overrides, placeOf, overrideText),
    exemptions: yield* differenceOf(before.exemptions, after.exemptions, listedText, listedText),
    blocks: yield* differenceOf(before.blocks, after.blocks, listedText, listedText),
    costs: yield* differenceOf(before.costs, after.costs, placeOf, ({ cost, resource }) =>
      JSON.stringify([cost, resource]),
    ),
  }
}

export function* plannedChanges(
  difference: ContentDifference,
  before: Content,
  after: Content,
): Slices<PlannedChange[]> {
  const { rules, tiers, overrides, exemptions, blocks, costs } = difference
  const lists = [
    ['exemption', exemptions],
    ['block', blocks],
  ] as const
  const changes: PlannedChange[] = difference.settings ? [settingsChange(before, after)] : []
  yield* changesOf(changes, 'rule', rules, {
    name: ({ name }) => name,
    text: ({ body }) => limitsText(body),
    more: ruleChange,
  })
  yield* changesOf(changes, 'tier', tiers, {
    name: ({ scope, value }) => `${scope}:${value}`,
    text: ({ tier }) => tier,
    more: carried,
  })
  yield* changesOf(changes, 'override', overrides, {
    name: ({ scope, value, rule }) => `${scope}:${value} ${rule}`,
    text: ({ limits, until, reason }) =>
      limits.join(', ') +
      (until === null ? '' : ` until ${until}`) +
      (reason === null ? '' : ` (${reason})`),
    more: carried,
  })
  for (const [what, list] of lists)
    yield* changesOf(changes, what, list, {
      name: ({ scope, value }) => `${scope}:${value}`,
      text: ({ until, reason }) =>
        [until === null ? 'always' : `until ${until}`, reason ?? ''].join(' ').trim(),
      more: () => ({}),
    })
  yield* changesOf(changes, 'cost', costs, {
    name: (cost) => `${costKey(cost)} ${cost.unit}`,
    text: ({ cost }) => String(cost),
    more: () => ({}),
  })
  return changes
}

type Said = Partial<Pick<PlannedChange, 'before' | 'after' | 'counters'>>

/** The same row with other numbers. */
const carried = (): Said => ({ counters: 'carry over' })

/** How an item is named and printed, and what else a change of it says. */
interface Telling<A, B> {
  readonly name: (item: A) => string
  readonly text: (item: A) => string
  readonly more: (before: B, after: A) => Said
}

function* changesOf<B extends A, A>(
  changes: PlannedChange[],
  what: PlannedChange['what'],
  { added, removed, changed }: Difference<B, A>,
  { name, text, more }: Telling<A, B>,
): Slices<void> {
  const say = (item: A, change: PlannedChange['change'], said: Said) =>
    changes.push({
      what,
      name: name(item),
      change,
      before: null,
      after: null,
      counters: null,
      ...said,
    })
  for (const item of added) if (say(item, 'added', { after: text(item) }) % STEP === 0) yield
  for (const item of removed) if (say(item, 'removed', { before: text(item) }) % STEP === 0) yield
  for (const [old, item] of changed) {
    const said = { before: text(old), after: text(item), ...more(old, item) }
    if (say(item, 'changed', said) % STEP === 0) yield
  }
}

function settingsChange(before: Content, after: Content): PlannedChange {
  return {
    what: 'settings',
    name: 'settings',
    change: 'changed',
    before: stableText(before.settings),
    after: stableText(after.settings),
    counters: null,
  }
}

function limitsText({ limits }: RuleInput): string {
  return (limits as readonly string[]).join(', ')
}

/** What is different, and whether what subjects have used stays. */
function ruleChange(before: RuleRow, after: RuleRow): Said {
  const [was, is] = [writtenOf(before), writtenOf(after)]
  const fields = OWN_FIELDS.filter(
    (name) => !isSame(before.body[name] ?? null, after.body[name] ?? null),
  )
  const startsAnew = fields.some(
    (name) => RULE_FIELDS[name].change === 'counters' && !keepsCounters(name, before, after),
  )
  return {
    before: fieldsInWords(fields, was),
    after: fieldsInWords(fields, is),
    counters: startsAnew ? 'start anew' : 'carry over',
  }
}

/** Every field; null where the author has left it to the namespace's default. */
function writtenOf({ body }: RuleRow): { readonly [F in OwnField]?: unknown } {
  const left = OWN_FIELDS.filter((name) => isStoredAsWritten(name) && body[name] === undefined)
  return { ...printStored(body, null), ...Object.fromEntries(left.map((name) => [name, null])) }
}

/** Other amounts are counted in the same row. */
function keepsCounters(name: OwnField, before: RuleRow, after: RuleRow): boolean {
  if (name !== 'limits') return false
  const known = new Set(identitiesOf(before.body))
  return identitiesOf(after.body).every((identity) => known.has(identity))
}

/** Algorithm and window; equal ones are told apart by their order. */
function identitiesOf({ limits }: RuleInput): string[] {
  const seen = new Map<string, number>()
  return (limits as readonly string[]).map((text) => {
    const limit = parseLimit(text, 'UTC')
    const identity = isFault(limit) ? text : limitIdentity(limit)
    const ordinal = seen.get(identity) ?? 0
    seen.set(identity, ordinal + 1)
    return `${identity}#${ordinal}`
  })
}
