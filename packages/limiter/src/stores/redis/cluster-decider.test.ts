/** Requests over several slots: which slots are asked when, and what each of them takes. */
import { describe, expect, it } from 'vitest'
import type { CompiledRule } from '../../rules/compiled-rule.js'
import { RuleSet } from '../../rules/rule-set.js'
import type { Answer } from '../answer.js'
import { MemoryStore } from '../memory/store.js'
import { givingBack } from '../operation.js'
import { newTransaction, type Transaction } from '../transaction.js'
import { ClusterDecider, type ClusterParts } from './cluster-decider.js'
import { Addresses, Keys } from './keys.js'
import { Records } from './records.js'

const NOW = 1_790_000_000_000_000
const RULES = RuleSet.compile({
  rules: {
    user: { scope: 'user', limits: '10/h' },
    org: { scope: 'org', limits: '10/h' },
    key: { scope: 'key', limits: '10/h' },
  },
})
const VALUES = { user: 'ada', org: 'acme', key: 'k' }
const addresses = new Addresses(new Keys('sluice'), true)
/** In the order of their slots. */
const ORDERED = [...RULES.all].sort((a, b) => slotOf(a) - slotOf(b))

function slotOf({ family }: CompiledRule): number {
  return addresses.slotOfRow(family, valueOf(family))
}

function valueOf({ scope }: { readonly scope: string }): string {
  return VALUES[scope as keyof typeof VALUES]
}

/** Slots whose rows are in one store. They answer when the test lets them, in any order. */
class HandSlots {
  readonly store = new MemoryStore()
  /** Asked and not answered: `-` before what is only looked at. */
  readonly asked = new Map<string, () => void>()
  readonly #decider: ClusterDecider

  constructor(left: number) {
    const ask = (part: Transaction, who: string) =>
      new Promise<Answer>((resolve) => {
        const name = part.rules.map((rule) => rule.name).join('+')
        this.asked.set(`${who}${part.dryRun ? '-' : ''}${name}`, () =>
          resolve(this.store.decide(part)),
        )
      })
    this.#decider = new ClusterDecider({
      addresses,
      records: new Records(new Map()),
      deadlineMs: 100,
      askPart: (part) => ask(part, whoOf(part)),
      decideInSlot: (transaction) => ask(transaction, whoOf(transaction)),
      giveBack: (answer) => {
        this.store.change(givingBack(answer), { now: NOW, deadline: 0 })
      },
      record: () => Promise.reject(new Error('no records here')),
      isMoving: () => false,
      leftOf: () => left,
    } satisfies ClusterParts)
  }

  decide(rules: readonly CompiledRule[], who = ''): Promise<Answer> {
    const values = rules.map(({ family }) => valueOf(family))
    return this.#decider.decide(
      newTransaction(rules, values, 1, NOW, { deadline: deadlineOf(who) }),
    )
  }

  /** These slots answer, all before any answer arrives. */
  async answer(...names: readonly string[]): Promise<void> {
    for (const name of names) {
      this.asked.get(name)!()
      this.asked.delete(name)
    }
    await new Promise(setImmediate)
  }

  get names(): string[] {
    return [...this.asked.keys()]
  }

  take(rule: CompiledRule, cost: number): void {
    this.store.decide(newTransaction([rule], [valueOf(rule.family)], cost, NOW))
  }

  left(rule: CompiledRule): number {
    return this.store
      .decide(newTransaction([rule], [valueOf(rule.family)], 1, NOW, { dryRun: true }))
      .remaining(0)
  }
}

/** Whose request it is travels in its deadline. */
const WHO = ['', 'A:', 'B:']
const deadlineOf = (who: string) => WHO.indexOf(who)
const whoOf = ({ deadline }: Transaction) => WHO[deadline]!
const names = (rules: readonly CompiledRule[]) => rules.map(({ name }) => name)

describe('a request over several slots', () => {
  it('is asked in all of them at once while each limit has more than a tenth left', () => {
    const slots = new HandSlots(0.11)
    void slots.decide(RULES.all)
    expect(slots.names.toSorted()).toEqual(names(RULES.all).toSorted())
  })

  it('is asked one by one near the limit, in the order of the slots, however its rules are ordered', async () => {
    for (const rules of [ORDERED, ORDERED.toReversed()]) {
      const slots = new HandSlots(0.1)
      const answer = slots.decide(rules)
      for (const { name } of ORDERED) {
        expect(slots.names).toEqual([name])
        await slots.answer(name)
      }
      expect((await answer).allowed).toBe(true)
    }
  })

  it('only looks at the slots after the one that denies, and leaves all as they were', async () => {
    const slots = new HandSlots(0.1)
    const [first, second, third] = ORDERED as [CompiledRule, CompiledRule, CompiledRule]
    slots.take(second, 10)
    const answer = slots.decide(ORDERED)
    await slots.answer(first.name)
    await slots.answer(second.name)
    expect(slots.names).toEqual([`-${third.name}`])
    await slots.answer(`-${third.name}`)
    expect((await answer).allowed).toBe(false)
    expect(ORDERED.map((rule) => slots.left(rule))).toEqual([10, 0, 10])
  })

  it('shows what a slot has left without the take that is given back', async () => {
    const slots = new HandSlots(1)
    const [first, second] = ORDERED as [CompiledRule, CompiledRule]
    slots.take(second, 10)
    const answer = slots.decide([first, second])
    for (const name of slots.names) await slots.answer(name)
    const denied = await answer
    expect([denied.allowed, denied.remaining(0), denied.remaining(1)]).toEqual([false, 10, 0])
  })
})

it('of two requests for the last token of two slots one passes', async () => {
  const [first, second] = ORDERED as [CompiledRule, CompiledRule]
  const slots = new HandSlots(0.1)
  for (const rule of [first, second]) slots.take(rule, 9)
  const answers = [slots.decide([first, second], 'A:'), slots.decide([second, first], 'B:')]
  // One finds the first slot sooner, the other the second.
  while (slots.names.length > 0) {
    const sooner = [`A:${first.name}`, `B:${second.name}`].filter((name) => slots.asked.has(name))
    await slots.answer(...(sooner.length > 0 ? sooner : slots.names))
  }
  expect((await Promise.all(answers)).filter(({ allowed }) => allowed)).toHaveLength(1)
})
