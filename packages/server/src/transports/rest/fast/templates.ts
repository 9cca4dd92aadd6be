/** The templates of the rules in force, found by the rules that applied and the limit on top. Bounded. */
import type { HeaderFamily } from '@sluice/limiter'
import type { CompiledRule, DecisionRecord } from '@sluice/limiter/transport'
import { AnswerTemplate, isPlainYes } from './answer-template.js'

interface Node {
  readonly next: Map<CompiledRule, Node>
  /** By the top limit's number in the answer; null: such answers have no template. */
  readonly templates: (AnswerTemplate | null | undefined)[]
}

const MOST = 10_000

export class Templates {
  readonly #areUsed: boolean
  #root: Node = newNode()
  #count = 0
  #lastRules: readonly CompiledRule[] | null = null
  #lastTop = 0
  #last: AnswerTemplate | null = null

  /** Templates have the headers that are sent unless told otherwise, and no others. */
  constructor(families: readonly HeaderFamily[]) {
    this.#areUsed = families.join() === 'x-ratelimit,draft-11'
  }

  /** Null: to be answered in the ordinary way. */
  of(decision: DecisionRecord): AnswerTemplate | null {
    if (!this.#areUsed || !isPlainYes(decision)) return null
    const template = this.#find(decision)
    return template?.fits(decision) === true ? template : null
  }

  #find(decision: DecisionRecord): AnswerTemplate | null {
    const { rules } = decision.transaction
    const { topIndex } = decision
    if (rules === this.#lastRules && topIndex === this.#lastTop) return this.#last
    let node = this.#root
    for (let i = 0; i < rules.length; i++) node = this.#nextOf(node, rules[i]!)
    let template = node.templates[topIndex]
    if (template === undefined) {
      template = AnswerTemplate.of(decision)
      node.templates[topIndex] = template
    }
    this.#lastRules = rules
    this.#lastTop = topIndex
    this.#last = template
    return template
  }

  #nextOf(node: Node, rule: CompiledRule): Node {
    const known = node.next.get(rule)
    if (known !== undefined) return known
    const next = newNode()
    node.next.set(rule, next)
    if (++this.#count > MOST) this.forget()
    return next
  }

  /** The rules have changed. */
  forget(): void {
    this.#root = newNode()
    this.#count = 0
    this.#lastRules = null
  }
}

function newNode(): Node {
  return { next: new Map(), templates: [] }
}
