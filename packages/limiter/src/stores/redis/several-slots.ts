/**
 * A transaction whose rows are in several slots of a cluster. Each slot takes for real and answers with
 * receipts; if one denies, the others are given back by receipt, once. Every request that is admitted
 * holds a full charge in each limit, and giving back leaves at most what would be there without the take:
 * nothing is admitted too much. A crash in between costs what was taken until it is refilled.
 *
 * Parts are asked for at once while every limit has room; near the limit one after the other in the
 * order of their slots, so that requests do not deny each other for ever.
 */
import { BUCKET, CONCURRENCY } from '../../algorithms/limit-numbers.js'
import { span, spanned } from '../../algorithms/token-time.js'
import { MARK, MARK_REST, REMAINING, RESET_AT, VERDICT_WIDTH } from '../../algorithms/verdict.js'
import type { CompiledLimit, CompiledRule } from '../../rules/compiled-rule.js'
import {
  ALLOWED,
  costOf,
  DECIDED_AT,
  FIRST_VERDICT,
  type HoldPlace,
  partOf,
  type Return,
  type Transaction,
  type Verdicts,
  wasTaken,
} from '../store.js'

/** The rules of a transaction whose rows are together, by their places. */
export interface Part {
  readonly slot: number
  readonly rules: readonly number[]
}

export interface Slots {
  /** Takes from the rows of one slot, or from none; rejects with a StoreFailure. */
  ask(part: Transaction): Promise<Verdicts>
  giveBack(takes: Takes): void
}

/** A part as it was asked for, and what was answered. */
interface Answered {
  readonly part: Transaction
  readonly verdicts: Verdicts
}

export async function consumeParts(
  slots: Slots,
  transaction: Transaction,
  parts: readonly Part[],
  isTight: boolean,
): Promise<number[]> {
  const asked = parts.map(({ rules }) => partOf(transaction, rules))
  const answers = isTight ? await oneByOne(slots, asked) : await allAtOnce(slots, asked)
  const allowed = answers.every(({ verdicts }) => verdicts[ALLOWED] === 1)
  const out = new Array<number>(FIRST_VERDICT + VERDICT_WIDTH * limitsOf(transaction)).fill(0)
  out[ALLOWED] = allowed ? 1 : 0
  out[DECIDED_AT] = Math.max(...answers.map(({ verdicts }) => verdicts[DECIDED_AT]!))
  for (const [i, part] of parts.entries()) copy(transaction, part, answers[i]!, allowed, out)
  if (!allowed) giveBack(slots, answers)
  return out
}

async function allAtOnce(slots: Slots, asked: readonly Transaction[]): Promise<Answered[]> {
  const settled = await Promise.allSettled(
    asked.map(async (part) => ({ part, verdicts: await slots.ask(part) })),
  )
  const answers = settled.flatMap((result) => (result.status === 'fulfilled' ? result.value : []))
  const failed = settled.find((result) => result.status === 'rejected')
  if (failed === undefined) return answers
  giveBack(slots, answers)
  throw failed.reason
}

/** After a no the others are only asked what is left. */
async function oneByOne(slots: Slots, asked: readonly Transaction[]): Promise<Answered[]> {
  const answers: Answered[] = []
  try {
    for (const each of asked) {
      const isDenied = answers.some(({ verdicts }) => verdicts[ALLOWED] !== 1)
      const part = isDenied ? { ...each, dryRun: true } : each
      answers.push({ part, verdicts: await slots.ask(part) })
    }
  } catch (failure) {
    giveBack(slots, answers)
    throw failure
  }
  return answers
}

/** By receipt, and not waited for: until it arrives others may be denied what is on its way back. */
function giveBack(slots: Slots, answers: readonly Answered[]): void {
  for (const { part, verdicts } of answers)
    if (verdicts[ALLOWED] === 1 && !part.dryRun) slots.giveBack(takesOf(part, verdicts))
}

/** What an allowed transaction took: by receipt, and the holds. */
export interface Takes {
  readonly returns: readonly Return[]
  readonly holds: readonly HoldPlace[]
  /** This instance's time when it asked. */
  readonly now: number
}

export function takesOf(transaction: Transaction, verdicts: Verdicts): Takes {
  const returns: Return[] = []
  const holds: HoldPlace[] = []
  for (const { rule, limit, value, cost: amount, at } of eachLimit(transaction)) {
    if (!wasTaken(verdicts, at) || isRenewal(limit, verdicts, at)) continue
    const takenUnder = limit.numbers.amount
    if (limit.numbers.kind === CONCURRENCY)
      holds.push({ id: transaction.holdId, rows: [{ rule, value }] })
    else returns.push({ rule, limit, value, amount, takenUnder, verdicts, at })
  }
  return { returns, holds, now: transaction.now }
}

interface PlacedLimit {
  readonly rule: CompiledRule
  readonly limit: CompiledLimit
  readonly value: string
  readonly cost: number
  readonly at: number
}

function* eachLimit(transaction: Transaction): IterableIterator<PlacedLimit> {
  let at = FIRST_VERDICT
  for (const [i, rule] of transaction.rules.entries()) {
    for (const limit of rule.limits) {
      yield { rule, limit, value: transaction.values[i]!, cost: costOf(transaction, i), at }
      at += VERDICT_WIDTH
    }
  }
}

function limitsOf(transaction: Transaction): number {
  return transaction.rules.reduce((sum, { limits }) => sum + limits.length, 0)
}

/** The id was held before: it lives on, and nothing was taken for it. */
function isRenewal({ numbers }: CompiledLimit, verdicts: Verdicts, at: number): boolean {
  return numbers.kind === CONCURRENCY && verdicts[at + MARK_REST] === 0
}

/** The part's verdicts into the whole's; if the whole is denied, as if nothing had been taken. */
function copy(
  transaction: Transaction,
  { rules }: Part,
  { part, verdicts }: Answered,
  allowed: boolean,
  out: number[],
): void {
  const places = [...eachLimit(transaction)]
  let at = FIRST_VERDICT
  for (const i of rules) {
    for (const place of places.filter(({ rule }) => rule === transaction.rules[i])) {
      for (let n = 0; n < VERDICT_WIDTH; n++) out[place.at + n] = verdicts[at + n]!
      const isTaken = wasTaken(verdicts, at) && !isRenewal(place.limit, verdicts, at)
      if (!allowed && isTaken && !part.dryRun) untake(place, verdicts[DECIDED_AT]!, out)
      at += VERDICT_WIDTH
    }
  }
}

/** Exact for buckets; of others the reset time may be that of the take which is given back. */
function untake({ limit: { numbers }, cost, at }: PlacedLimit, now: number, out: number[]): void {
  out[at + REMAINING] = Math.min(numbers.burst, out[at + REMAINING]! + cost)
  if (numbers.kind === BUCKET) {
    span(cost, numbers)
    out[at + RESET_AT] = Math.max(now, out[at + MARK]! - spanned[0]!)
  } else if (out[at + REMAINING] === numbers.burst) out[at + RESET_AT] = now
}
