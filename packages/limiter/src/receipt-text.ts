/**
 * Receipts and holds as texts, for those who give back over a network and perhaps to another instance.
 * Printable ASCII without quotes: `decidedAt;degraded` of a receipt, `id;degraded;expiry;time-out` of a
 * hold, then a part for each rule. Nothing here is secret or signed: whoever sends such a text abroad seals it.
 */
import { createHash } from 'node:crypto'
import type { DecisionRecord } from './decision-record.js'
import { HoldTicket } from './hold-ticket.js'
import { Receipt } from './receipt.js'
import type { CompiledRule } from './rules/compiled-rule.js'
import type { RuleSet } from './rules/rule-set.js'
import { DEGRADED_REASONS, type Take } from './stores/answer.js'
import { costOf } from './stores/transaction.js'

const ids = new WeakMap<object, string>()

/** A limit's identity in six characters. */
export function shortId(limit: { readonly id: string }): string {
  let id = ids.get(limit)
  if (id === undefined) {
    id = createHash('sha256').update(limit.id).digest('base64url').slice(0, 6)
    ids.set(limit, id)
  }
  return id
}

/** What a decision took; null if nothing. */
export function printReceipt(decision: DecisionRecord): string | null {
  if (!decision.hasReceipt) return null
  const { answer, transaction, decidedAt } = decision
  const reason = answer.degradedReason
  const degraded = reason === null ? 0 : 1 + DEGRADED_REASONS.indexOf(reason)
  const parts = [`${decidedAt};${degraded}`]
  for (const [i, rule] of transaction.rules.entries()) {
    const { name, scope, unit } = rule
    const value = encodeURIComponent(transaction.values[i]!)
    let part = `;${name},${scope},${unit},${value},${costOf(transaction, i)}`
    const first = answer.firstOf(i)
    for (const [j, limit] of rule.limits.entries()) {
      if (!answer.wasTaken(first + j)) continue
      const { mark, markRest, givenBack } = answer.takeOf({ index: first + j, limit })
      part += `,${shortId(limit)},${limit.numbers.amount},${mark - decidedAt},${markRest},${givenBack}`
    }
    parts.push(part)
  }
  return parts.join('')
}

/** The receipt of such a text; rules that are gone give nothing back. */
export function readReceipt(text: string, rules: RuleSet): Receipt {
  const [time, degraded, ...parts] = text.split(';') as [string, string, ...string[]]
  const takenAt = Number(time)
  const isLocal = Number(degraded) !== 0
  const takes = parts.map((part) => {
    const [name, scope, unit, value, cost, ...limits] = part.split(',') as Five
    const rule = ruleOf(rules, name, scope)
    const taken: { id: string; take: Take }[] = []
    for (let i = 0; i + 5 <= limits.length; i += 5) {
      const [short, amount, mark, rest, givenBack] = limits.slice(i, i + 5) as Five
      const limit = rule?.limits.find((other) => shortId(other) === short)
      if (limit === undefined) continue
      const take = {
        mark: Number(mark) + takenAt,
        markRest: Number(rest),
        givenBack: Number(givenBack),
        takenAt,
        takenUnder: Number(amount),
        isLocal,
      }
      taken.push({ id: limit.id, take })
    }
    return { rule, unit, value: decodeURIComponent(value), cost: Number(cost), limits: taken }
  })
  return Receipt.restored(takes)
}

type Five = [string, string, string, string, string, ...string[]]

function ruleOf(rules: RuleSet, name: string, scope: string): CompiledRule | undefined {
  const rule = rules.named(name)
  return rule?.scope === scope ? rule : undefined
}

/** A hold that knows its places. */
export function printHold(hold: HoldTicket): string {
  const rows = hold.rows.map(
    ({ rule, value }) => `;${rule.name},${rule.scope},${encodeURIComponent(value)}`,
  )
  const { id, isDegraded, expiresAtMs, timeoutMs } = hold
  const head = [encodeURIComponent(id), isDegraded ? 1 : 0, expiresAtMs, timeoutMs]
  return `${head.join(';')}${rows.join('')}`
}

export function readHold(text: string, rules: RuleSet): HoldTicket {
  const [id, degraded, expiresAtMs, timeoutMs, ...parts] = text.split(';') as Five
  const rows = parts.flatMap((part) => {
    const [name, scope, value] = part.split(',') as Five
    const rule = ruleOf(rules, name, scope)
    return rule === undefined ? [] : [{ rule, value: decodeURIComponent(value) }]
  })
  return new HoldTicket(
    decodeURIComponent(id),
    rows,
    Number(expiresAtMs),
    Number(timeoutMs),
    degraded === '1',
  )
}
