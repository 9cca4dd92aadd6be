/** Reads the table of costs: what a request to a resource costs, by unit. */
import { type Fault, quote } from '../faults.js'
import { isFields } from '../field-reader.js'
import { AMOUNT_RANGE, isAmount } from '../limits/amount.js'
import { parsePattern, patternKey } from './pattern.js'
import { sortedMethods, splitMethods } from './read-rule.js'
import type { Cost } from './rule.js'
import { METHOD, UNIT } from './words.js'

export function readCosts(table: readonly [string, unknown][], faults: Fault[]): Cost[] {
  const read: Cost[] = []
  const seen = new Set<string>()
  for (const [key, written] of table) {
    const refuse = (message: string) => faults.push({ path: `costs.${key}`, message })
    const { methods, resource } = splitMethods(key)
    const pattern = parsePattern(resource)
    if (typeof pattern === 'string') {
      refuse(`${quote(resource)} ${pattern}`)
      continue
    }
    const bad = methods?.find((method) => !METHOD.test(method))
    if (bad !== undefined) refuse(`${quote(bad)} is not a method`)
    const units: [string, unknown][] = isFields(written)
      ? Object.entries(written)
      : [['requests', written]]
    for (const [unit, cost] of units) {
      if (!UNIT.test(unit)) refuse(`${quote(unit)} is not a unit's name`)
      if (!isAmount(cost)) {
        refuse(`${quote(cost)} is not ${AMOUNT_RANGE}`)
        continue
      }
      const place = JSON.stringify([patternKey(pattern), sortedMethods(methods), unit])
      if (seen.has(place)) refuse('has a cost already')
      seen.add(place)
      read.push({ key, resource, pattern, methods: sortedMethods(methods), unit, cost })
    }
  }
  return read
}
