/**
 * Transactions that travel in one call of the consume script: how they are put into its arguments, and
 * how its answer is read. Rows of nothing but buckets come back as they were found, and the verdicts are
 * reckoned here with the algorithm that the script ran; that costs Redis least.
 */
import { decideTat, noteTake } from '../../algorithms/bucket.js'
import { GIVEN_BACK, STATUS, VERDICT_WIDTH, YES } from '../../algorithms/verdict.js'
import type { CompiledRule } from '../../rules/compiled-rule.js'
import { ALLOWED, costOf, DECIDED_AT, DEGRADED, FIRST_VERDICT, type Transaction } from '../store.js'
import { newVerdicts } from '../verdicts.js'
import type { RuleLayout } from './rule-layout.js'

/** A transaction with what Redis needs to know of it. */
export interface Asked {
  readonly transaction: Transaction
  readonly layouts: readonly RuleLayout[]
  /** Of each rule the row's. */
  readonly keys: readonly string[]
  /** Its idempotency record's key, fingerprint and description; null if it has none. */
  readonly once: readonly [key: string, fingerprint: string, description: string] | null
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
  const texts: string[] = []
  const layouts: RuleLayout[] = []
  /** Texts come after the rules, whose number is known at the end: their places are noted. */
  const textPlaces: number[] = []
  const stream: number[] = [now, 0]
  let runAt = -1
  let before: Asked | null = null
  for (const asked of list) {
    const { transaction, once } = asked
    if (once !== null) keys.push(once[0])
    for (let i = 0; i < asked.keys.length; i++) {
      const key = asked.keys[i]!
      keys.push(key)
      for (const beside of asked.layouts[i]!.besides) keys.push(`${key}:${beside}`)
    }
    if (before !== null && asksTheSame(before, asked)) {
      stream[runAt] = stream[runAt]! + 1
      continue
    }
    before = asked
    runAt = stream.length
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
      let index = layouts.indexOf(asked.layouts[i]!)
      if (index < 0) index = layouts.push(asked.layouts[i]!) - 1
      stream.push(index + 1, costOf(transaction, i))
    }
  }
  stream[1] = layouts.length
  for (const place of textPlaces) stream[place] = stream[place]! + 1 + 2 * layouts.length
  const args: (string | Buffer)[] = [doubles(stream)]
  for (const layout of layouts) args.push(packed(layout), layout.names)
  return { keys, args: args.concat(texts) }
}

export function doubles(numbers: readonly number[]): Buffer {
  return Buffer.from(Float64Array.from(numbers).buffer)
}

/** Nothing but the subjects differ. */
function asksTheSame(a: Asked, b: Asked): boolean {
  const [x, y] = [a.transaction, b.transaction]
  if (x.cost !== y.cost || x.dryRun !== y.dryRun || x.costs !== null || y.costs !== null)
    return false
  if (x.holdId !== '' || y.holdId !== '' || a.once !== null || b.once !== null) return false
  if (x.rules === y.rules) return true
  return x.rules.length === y.rules.length && x.rules.every((rule, i) => rule === y.rules[i])
}

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

/** Passes over a transaction that was not decided. */
export function skip({ layouts }: Asked, answers: Answers): void {
  for (const { limits } of layouts)
    if (answers.letters[answers.letterAt++] === VERDICTS)
      answers.textAt += 8 + 8 * VERDICT_WIDTH * limits.length
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
