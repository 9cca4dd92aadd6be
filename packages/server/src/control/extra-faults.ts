/** What the control plane refuses besides the library's reader: texts that a database cannot keep or nobody should print. */
import type { Fault, RuleField, RulesDocument } from '@sluice/limiter'
import { hasControlCharacters } from '@sluice/limiter/transport'

/** Of descriptions and reasons. */
export const LONGEST_TEXT = 1000

type Fields = Readonly<Record<string, unknown>>
const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Fields that the library accepts as they are. */
const CHECKS: Readonly<Partial<Record<RuleField, (value: unknown) => string | undefined>>> = {
  resource: (value) => (typeof value === 'string' ? pairFault(value) : undefined),
  description: (value) => (typeof value === 'string' ? textFault(value) : undefined),
}

export function extraFaults(document: RulesDocument): Fault[] {
  const { rules, default_rule } = document as { rules?: unknown; default_rule?: unknown }
  const all = isFields(rules) ? Object.entries(rules) : []
  const named: [string, unknown][] = all.map(([name, rule]) => [`rules.${name}`, rule])
  const faults = [...named, ['default_rule', default_rule] as const].flatMap(([path, rule]) =>
    isFields(rule) ? ruleFaults(rule, path) : [],
  )
  return [...faults, ...costFaults((document as Fields)['costs'])]
}

function costFaults(costs: unknown): Fault[] {
  return Object.keys(isFields(costs) ? costs : {}).flatMap((key) => {
    const message = pairFault(key)
    return message === undefined ? [] : [{ path: `costs.${key}`, message }]
  })
}

function ruleFaults(rule: Fields, path: string): Fault[] {
  return Object.entries(CHECKS).flatMap(([field, check]) => {
    const message = rule[field] === undefined ? undefined : check(rule[field])
    return message === undefined ? [] : [{ path: `${path}.${field}`, message }]
  })
}

/** Reasons of overrides, exemptions and blocks. */
export function textFaults(document: RulesDocument): Fault[] {
  return (['overrides', 'exemptions', 'blocks'] as const).flatMap((list) => {
    const items = (document as Fields)[list]
    if (!Array.isArray(items)) return []
    return items.flatMap((item: unknown, i): Fault[] => {
      const reason = isFields(item) ? item['reason'] : undefined
      const message = typeof reason === 'string' ? textFault(reason) : undefined
      return message === undefined ? [] : [{ path: `${list}[${i}].reason`, message }]
    })
  })
}

/** What is wrong with a text for people; undefined if nothing is. */
export function textFault(text: string): string | undefined {
  if (text.length > LONGEST_TEXT) return `is longer than ${LONGEST_TEXT} characters`
  if (hasControlCharacters(text)) return 'holds control characters'
  return pairFault(text)
}

/** No database keeps half a character. */
function pairFault(text: string): string | undefined {
  return text.isWellFormed() ? undefined : 'holds half a surrogate pair'
}
