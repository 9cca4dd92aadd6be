/**
 * Counts decisions in typed arrays while they are made, and is read when somebody asks. Labels come from
 * the rules, never from a request; rules beyond the first two hundred share one. Hot code: a decision
 * costs one lookup and two additions.
 */

import type { RuleSet } from '@sluice/limiter'
import {
  ByRule,
  type CompiledRule,
  DEGRADED_REASONS,
  type DecisionRecord,
  MINUTE_MS,
} from '@sluice/limiter/transport'
import type { Observer } from '../decisions.js'

export const OUTCOMES = [
  'allowed',
  'limited',
  'blocked',
  'exempt',
  'shadow_limited',
  'failed_open',
  'failed_closed',
] as const
const [ALLOWED, LIMITED, BLOCKED, EXEMPT, SHADOW_LIMITED, FAILED_OPEN, FAILED_CLOSED] = [
  0, 1, 2, 3, 4, 5, 6,
]
const WIDTH = OUTCOMES.length
const MOST_RULES = 200

/** Upper bounds in seconds. */
export const BUCKETS = [
  0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1,
]

export class Histogram {
  /** How many were at most each bound, and above the last; not added up. */
  readonly counts = new Float64Array(BUCKETS.length + 1)
  sum = 0

  add(seconds: number, count: number): void {
    let i = 0
    while (i < BUCKETS.length && seconds > BUCKETS[i]!) i++
    this.counts[i]! += count
    this.sum += seconds * count
  }
}

/** What decisions are counted under. */
interface Label {
  readonly namespace: string
  readonly rule: string
  readonly scope: string
}

const OTHER: Label = { namespace: '', rule: '_other', scope: '' }

export class Meter implements Observer {
  readonly labels: Label[] = [OTHER]
  readonly #slots = new Map<string, number>()
  /** Places of rules that are not in force any more. */
  readonly #free: number[] = []
  readonly #slotOf = new ByRule<number>()
  #counts: Float64Array = new Float64Array(16 * WIDTH)
  /** The fullest subject of each rule in this minute, and in the one before. */
  #peaks: Float64Array = new Float64Array(16)
  #peaksBefore: Float64Array = new Float64Array(16)
  #minuteEnds = Date.now() + MINUTE_MS
  readonly degraded = new Float64Array(DEGRADED_REASONS.length)
  readonly durations = new Map<string, Histogram>()

  decided(decision: DecisionRecord, _request: unknown, namespace: string): void {
    const { answer, topRule, topIndex } = decision
    const { rules } = answer.transaction
    if (topRule < 0) this.#countListed(decision, namespace)
    else {
      const slot = this.#slot(rules[topRule]!)
      let outcome = decision.allowed ? ALLOWED : LIMITED
      if (!answer.isCounted(topIndex)) outcome = decision.allowed ? FAILED_OPEN : FAILED_CLOSED
      else {
        const used = 1 - answer.remaining(topIndex) / decision.topLimit!.numbers.burst
        if (used > this.#peaks[slot]!) this.#peaks[slot] = used
      }
      this.#counts[slot * WIDTH + outcome]!++
    }
    if (answer.isDegraded) this.degraded[DEGRADED_REASONS.indexOf(answer.degradedReason!)]!++
    for (let i = 0; i < rules.length; i++) if (rules[i]!.shadow) this.#countShadow(decision, i)
  }

  /** No rule decided. */
  #countListed(decision: DecisionRecord, namespace: string): void {
    const outcome = decision.allowed ? (decision.exempt ? EXEMPT : ALLOWED) : BLOCKED
    const slot = this.#slotNamed({ namespace, rule: '', scope: '' })
    this.#counts[slot * WIDTH + outcome]!++
  }

  #countShadow({ answer }: DecisionRecord, index: number): void {
    const rule = answer.transaction.rules[index]!
    const first = answer.firstOf(index)
    for (let limit = first; limit < first + rule.limits.length; limit++) {
      if (answer.isYes(limit) || !answer.isCounted(limit)) continue
      this.#counts[this.#slot(rule) * WIDTH + SHADOW_LIMITED]!++
      return
    }
  }

  #slot(rule: CompiledRule): number {
    return this.#slotOf.get(rule) ?? this.#findSlot(rule)
  }

  #findSlot(rule: CompiledRule): number {
    const { family, name, scope } = rule
    return this.#slotOf.set(
      rule,
      this.#slotNamed({ namespace: family.namespace, rule: name, scope }),
    )
  }

  #slotNamed(label: Label): number {
    const key = keyOf(label)
    const known = this.#slots.get(key)
    if (known !== undefined) return known
    if (this.#slots.size >= MOST_RULES) return 0
    const free = this.#free.pop()
    const slot = free ?? this.labels.length
    this.labels[slot] = label
    this.#slots.set(key, slot)
    if (free !== undefined) {
      this.#counts.fill(0, slot * WIDTH, (slot + 1) * WIDTH)
      this.#peaks[slot] = 0
      this.#peaksBefore[slot] = 0
    }
    if ((slot + 1) * WIDTH > this.#counts.length) {
      this.#counts = grown(this.#counts)
      this.#peaks = grown(this.#peaks)
      this.#peaksBefore = grown(this.#peaksBefore)
    }
    return slot
  }

  /** So many decisions, each of which took so long. */
  took(transport: string, seconds: number, count: number): void {
    let histogram = this.durations.get(transport)
    if (histogram === undefined) {
      histogram = new Histogram()
      this.durations.set(transport, histogram)
    }
    histogram.add(seconds, count)
  }

  /** Decisions by label and outcome, those that there were. */
  *decisions(): IterableIterator<Label & { outcome: string; count: number }> {
    for (const [slot, label] of this.labels.entries()) {
      for (const [i, outcome] of OUTCOMES.entries()) {
        const count = this.#counts[slot * WIDTH + i]!
        if (count > 0) yield { ...label, outcome, count }
      }
    }
  }

  /** How full the fullest subject of each rule was within the last minute or two. */
  *peaks(now: number): IterableIterator<{ namespace: string; rule: string; ratio: number }> {
    if (now >= this.#minuteEnds) {
      const isRecent = now < this.#minuteEnds + MINUTE_MS
      this.#peaksBefore = isRecent ? this.#peaks : new Float64Array(this.#peaks.length)
      this.#peaks = new Float64Array(this.#peaks.length)
      this.#minuteEnds = now + MINUTE_MS
    }
    // A rule may have been of another scope a moment ago.
    const byRule = new Map<string, { namespace: string; rule: string; ratio: number }>()
    for (const [slot, { namespace, rule }] of this.labels.entries()) {
      const ratio = Math.min(1, Math.max(this.#peaks[slot]!, this.#peaksBefore[slot]!))
      const key = `${namespace}|${rule}`
      if (ratio > (byRule.get(key)?.ratio ?? 0)) byRule.set(key, { namespace, rule, ratio })
    }
    yield* byRule.values()
  }

  /** These rules are in force in their namespace: the places of others may be taken. */
  use({ namespace, all }: RuleSet): void {
    const kept = new Set(all.map(({ name, scope }) => keyOf({ namespace, rule: name, scope })))
    for (const [key, slot] of this.#slots) {
      const label = this.labels[slot]!
      if (label.namespace !== namespace || label.rule === '' || kept.has(key)) continue
      this.#slots.delete(key)
      this.#free.push(slot)
    }
    this.#slotOf.clear()
  }
}

function keyOf({ namespace, rule, scope }: Label): string {
  return `${namespace}|${rule}|${scope}`
}

function grown(array: Float64Array): Float64Array {
  const larger = new Float64Array(array.length * 2)
  larger.set(array)
  return larger
}
