/**
 * What the consume script answers. Rows of nothing but buckets come back as they were found, and the
 * verdicts are reckoned here with the algorithm that the script ran; that costs Redis least.
 */
import { decideTat, noteTake } from '../../algorithms/bucket.js'
import { GIVEN_BACK, STATUS, VERDICT_WIDTH, YES } from '../../algorithms/verdict.js'
import type { CompiledRule } from '../../rules/compiled-rule.js'
import type { LeaseAnswer } from '../leased/lease-port.js'
import { ALLOWED, costOf, DECIDED_AT, DEGRADED, FIRST_VERDICT } from '../store.js'
import { newVerdicts } from '../verdicts.js'
import type { Asked } from './consume-arguments.js'
import type { RuleLayout } from './rule-layout.js'

/** Told what each rule's row says was ever taken from it, by anyone. */
export type Saw = (
  rule: CompiledRule,
  value: string,
  taken: number,
  cost: number,
  verdicts: number[],
  at: number,
) => void

/** The script's answer, read from front to back. */
export interface Answers {
  readonly now: number
  readonly letters: Buffer
  readonly texts: Buffer
  readonly records: readonly Buffer[]
  letterAt: number
  textAt: number
  recordAt: number
}

const VERDICTS = 0x76 // v
const SUMS = 0x73 // s
const NOTHING = 0x2d // -

/** The verdicts of one transaction, whose rules are next in the answers. */
export function verdictsOf(
  { transaction, layouts }: Asked,
  allowed: boolean,
  answers: Answers,
  saw: Saw,
): number[] {
  const { now, letters, texts } = answers
  let limits = 0
  for (let i = 0; i < layouts.length; i++) limits += layouts[i]!.limits.length
  const out = newVerdicts(limits)
  out[ALLOWED] = allowed ? 1 : 0
  out[DECIDED_AT] = now
  out[DEGRADED] = 0
  const takes = allowed && !transaction.dryRun
  let o = FIRST_VERDICT
  for (let i = 0; i < layouts.length; i++) {
    const layout = layouts[i]!
    const letter = letters[answers.letterAt++]!
    const from = answers.textAt
    const cost = costOf(transaction, i)
    let taken = 0
    if (letter === VERDICTS) {
      taken = texts.readDoubleLE(from)
      answers.textAt = readVerdicts(texts, from + 8, out, o, layout.limits.length)
    } else {
      taken = reckon(layout, letter, texts, from, cost, now, takes, out, o)
      if (letter !== NOTHING) answers.textAt += layout.sumsAt
      if (letter === SUMS) answers.textAt += 8 * layout.limits.length
    }
    saw(transaction.rules[i]!, transaction.values[i]!, taken, takes ? cost : 0, out, o)
    o += layout.limits.length * VERDICT_WIDTH
  }
  return out
}

/** Numbers of a lease's answer before its verdicts. */
const LEASE_WIDTH = 7

/** The answer to a lease, which is next in the answers. */
export function leaseAnswerOf(
  { transaction: { rules, values }, layouts }: Asked,
  answers: Answers,
  saw: Saw,
): LeaseAnswer {
  const { now, texts } = answers
  answers.letterAt++
  const from = answers.textAt
  const [rule, value] = [rules[0]!, values[0]!]
  const numbers: number[] = []
  for (let i = 0; i < LEASE_WIDTH; i++) numbers.push(texts.readDoubleLE(from + 8 * i))
  const [granted, period, birth, run, endsAt, out, taken] = numbers as [
    number,
    number,
    number,
    number,
    number,
    number,
    number,
  ]
  const { length } = layouts[0]!.limits
  const verdicts = newVerdicts(length)
  verdicts[ALLOWED] = 1
  verdicts[DECIDED_AT] = now
  verdicts[DEGRADED] = 0
  answers.textAt = readVerdicts(texts, from + 8 * LEASE_WIDTH, verdicts, FIRST_VERDICT, length)
  saw(rule, value, taken, granted, verdicts, FIRST_VERDICT)
  const lease = { rule, value, grantedAt: now, endsAt, period, birth, run }
  return { granted, lease, out, verdicts }
}

/** Passes over a transaction that was not decided. */
export function skip({ layouts, lease }: Asked, answers: Answers): void {
  const before = lease === null ? 1 : LEASE_WIDTH
  for (const { limits } of layouts)
    if (answers.letters[answers.letterAt++] === VERDICTS)
      answers.textAt += 8 * (before + VERDICT_WIDTH * limits.length)
}

/** Verdicts as the script packed them; answers where they end. */
export function readVerdicts(
  text: Buffer,
  from: number,
  out: number[],
  o: number,
  limits: number,
): number {
  let at = from
  for (let i = 0; i < limits * VERDICT_WIDTH; i++, at += 8) out[o + i] = text.readDoubleLE(at)
  return at
}

/** What the script decided from this row, decided again; answers what was ever taken from it, this take included. */
function reckon(
  layout: RuleLayout,
  letter: number,
  texts: Buffer,
  row: number,
  cost: number,
  now: number,
  takes: boolean,
  out: number[],
  from: number,
): number {
  let o = from
  let taken = 0
  const { limits, tatAt } = layout
  const isThere = letter !== NOTHING
  for (let j = 0; j < limits.length; j++) {
    const { numbers } = limits[j]!
    const at = row + tatAt[j]!
    const t = isThere ? texts.readDoubleLE(at) : 0
    const f = isThere && numbers.rest !== 0 ? texts.readDoubleLE(at + 8) : 0
    decideTat(t, f, numbers, cost, now, out, o)
    out[o + GIVEN_BACK] = 0
    if (takes && out[o + STATUS] === YES) {
      noteTake(cost, out, o)
      if (letter === SUMS) out[o + GIVEN_BACK] = texts.readDoubleLE(row + layout.sumsAt + 8 * j)
      taken = cost
    }
    o += VERDICT_WIDTH
  }
  return (isThere ? texts.readDoubleLE(row + layout.takenAt) : 0) + taken
}
