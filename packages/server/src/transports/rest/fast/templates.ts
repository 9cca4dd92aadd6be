/**
 * The templates of the rules in force, found by the rules that applied and the limit on top. Bounded: each has
 * one of two places, and takes the second from another template where both are taken.
 */
import type { HeaderFamily } from '@sluice/limiter'
import type { CompiledRule, DecisionRecord } from '@sluice/limiter/transport'
import { AnswerTemplate, isPlainYes } from './answer-template.js'

interface Entry {
  readonly rules: readonly CompiledRule[]
  /** The top limit's number in the answer. */
  readonly topIndex: number
  /** Null: such answers have no template. */
  readonly template: AnswerTemplate | null
}

/** A power of two. */
const PLACES = 16_384

export class Templates {
  readonly #areUsed: boolean
  #entries: (Entry | undefined)[] = Array.from({ length: PLACES })

  /** Templates have the headers that are sent unless told otherwise, and no others. */
  constructor(families: readonly HeaderFamily[]) {
    this.#areUsed = families.join() === 'x-ratelimit,draft-11'
  }

  /** Null: to be answered in the ordinary way. */
  of(decision: DecisionRecord): AnswerTemplate | null {
    if (!this.#areUsed || !isPlainYes(decision)) return null
    const { template } = this.#find(decision)
    return template?.fits(decision) === true ? template : null
  }

  #find(decision: DecisionRecord): Entry {
    const { topIndex } = decision
    const { rules } = decision.transaction
    const place = placeOf(rules, topIndex)
    const first = this.#entries[place]
    if (first !== undefined && isOf(first, rules, topIndex)) return first
    const second = this.#entries[place ^ 1]
    if (second !== undefined && isOf(second, rules, topIndex)) return second
    const entry = { rules, topIndex, template: AnswerTemplate.of(decision) }
    this.#entries[first === undefined ? place : place ^ 1] = entry
    return entry
  }

  /** The rules have changed. */
  forget(): void {
    this.#entries.fill(undefined)
  }
}

function placeOf(rules: readonly CompiledRule[], topIndex: number): number {
  let hash = topIndex
  for (let i = 0; i < rules.length; i++) hash = Math.imul(hash ^ rules[i]!.number, 0x9e3779b1)
  return (hash ^ (hash >>> 16)) & (PLACES - 1)
}

function isOf(entry: Entry, rules: readonly CompiledRule[], topIndex: number): boolean {
  if (entry.topIndex !== topIndex) return false
  if (entry.rules === rules) return true
  if (entry.rules.length !== rules.length) return false
  for (let i = 0; i < rules.length; i++) if (entry.rules[i] !== rules[i]) return false
  return true
}
