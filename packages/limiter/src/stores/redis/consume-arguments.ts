/** Transactions and leases that travel in one call of the consume script, as its keys and arguments. */
import type { LeaseAsk } from '../leased/lease-port.js'
import { costOf, type Transaction } from '../store.js'
import type { RuleLayout } from './rule-layout.js'

/** A transaction with what Redis needs to know of it. */
export interface Asked {
  readonly transaction: Transaction
  readonly layouts: readonly RuleLayout[]
  /** Of each rule the row's. */
  readonly keys: readonly string[]
  /** Its idempotency record's key, fingerprint and description; null if it has none. */
  readonly once: readonly [key: string, fingerprint: string, description: string] | null
  /** It is no transaction: this is asked of its one row instead. */
  readonly lease: LeaseAsk | null
}

interface Arguments {
  readonly keys: string[]
  readonly args: (string | Buffer)[]
}

/** `now`: 0, or the time to decide by. `packed` gives a rule's numbers. */
export function consumeArguments(
  list: readonly Asked[],
  now: number,
  packed: (layout: RuleLayout) => Buffer,
): Arguments {
  const keys: string[] = []
  for (const asked of list) pushKeys(asked, keys)
  const [first] = list as [Asked]
  const [layout] = first.layouts as [RuleLayout]
  if (now === 0 && first.layouts.length === 1 && isPlainRun(list))
    return { keys, args: [plainStream(list.length), packed(layout), layout.names] }
  return { keys, args: argumentsOf(list, now, packed) }
}

function pushKeys({ once, keys: own, layouts }: Asked, keys: string[]): void {
  if (once !== null) keys.push(once[0])
  for (let i = 0; i < own.length; i++) {
    const key = own[i]!
    keys.push(key)
    const { besides } = layouts[i]!
    for (let j = 0; j < besides.length; j++) keys.push(`${key}:${besides[j]!}`)
  }
}

/** Everybody asks for one of the same rule: most calls. */
function isPlainRun(list: readonly Asked[]): boolean {
  const [first] = list as [Asked]
  const { cost, costs, dryRun, holdId } = first.transaction
  if (cost !== 1 || costs !== null || dryRun || holdId !== '' || first.once !== null) return false
  if (first.lease !== null) return false
  for (let i = 1; i < list.length; i++) if (!asksTheSame(first, list[i]!)) return false
  return true
}

const plainStreams: Buffer[] = []

/** What such calls say, which depends on their length only. */
function plainStream(times: number): Buffer {
  plainStreams[times] ??= doubles([0, 1, times, 0, 0, 0, 1, 1, 1])
  return plainStreams[times]
}

function argumentsOf(
  list: readonly Asked[],
  now: number,
  packed: (layout: RuleLayout) => Buffer,
): (string | Buffer)[] {
  const texts: string[] = []
  const layouts: RuleLayout[] = []
  /** Texts come after the rules, whose number is known at the end: their places are noted. */
  const textPlaces: number[] = []
  const stream: number[] = [now, 0]
  let runAt = -1
  let before: Asked | null = null
  for (const asked of list) {
    const { transaction, once } = asked
    if (before !== null && asksTheSame(before, asked)) {
      stream[runAt] = stream[runAt]! + 1
      continue
    }
    before = asked
    runAt = stream.length
    if (asked.lease !== null) {
      pushLease(asked.lease, indexOf(layouts, asked.layouts[0]!), stream)
      continue
    }
    stream.push(1, transaction.dryRun ? 1 : 0, 0, 0, asked.layouts.length)
    if (transaction.holdId !== '') {
      textPlaces.push(runAt + 2)
      stream[runAt + 2] = texts.push(transaction.holdId)
    }
    if (once !== null) {
      textPlaces.push(runAt + 3)
      stream[runAt + 3] = texts.push(once[1])
      texts.push(once[2])
    }
    for (let i = 0; i < asked.layouts.length; i++) {
      stream.push(indexOf(layouts, asked.layouts[i]!) + 1, costOf(transaction, i))
    }
  }
  stream[1] = layouts.length
  for (const place of textPlaces) stream[place] = stream[place]! + 1 + 2 * layouts.length
  const args: (string | Buffer)[] = [doubles(stream)]
  for (const layout of layouts) args.push(packed(layout), layout.names)
  return args.concat(texts)
}

function indexOf(layouts: RuleLayout[], layout: RuleLayout): number {
  const index = layouts.indexOf(layout)
  return index < 0 ? layouts.push(layout) - 1 : index
}

/** What the script reads as a lease instead of a dry run. */
const LEASE = 2
/** Numbers of a report. */
const REPORT = 6

function pushLease({ reports, want }: LeaseAsk, rule: number, stream: number[]): void {
  const pairs = 1 + (REPORT / 2) * reports.length
  stream.push(1, LEASE, reports.length, want, pairs, rule + 1, 0)
  for (const { lease, spent, back } of reports)
    stream.push(lease.period, lease.birth, lease.run, lease.grantedAt, spent, back)
}

export function doubles(numbers: readonly number[]): Buffer {
  return Buffer.from(new Float64Array(numbers).buffer)
}

/** Nothing but the subjects differ. */
function asksTheSame(a: Asked, b: Asked): boolean {
  const [x, y] = [a.transaction, b.transaction]
  if (x.cost !== y.cost || x.dryRun !== y.dryRun || x.costs !== null || y.costs !== null)
    return false
  if (x.holdId !== '' || y.holdId !== '' || a.once !== null || b.once !== null) return false
  if (a.lease !== null || b.lease !== null) return false
  if (x.rules === y.rules) return true
  return x.rules.length === y.rules.length && x.rules.every((rule, i) => rule === y.rules[i])
}
