/** Reads the table of costs: what a request to a resource costs, by unit. */
import { quote, type Warning } from '../faults.js'
import { type FieldReader, isFields } from '../field-reader.js'
import { AMOUNT_RANGE, isAmount } from '../limits/limit.js'
import { sortedMethods, splitMethods } from './methods.js'
import { type Normalize, normalizePattern } from './normalize.js'
import { parsePattern, patternKey } from './pattern.js'
import type { Cost } from './rule.js'
import { METHOD, UNIT } from './words.js'

export interface CostContext {
  readonly normalize: Normalize
  readonly warnings: Warning[]
}

export function readCosts(document: FieldReader, { normalize, warnings }: CostContext): Cost[] {
  const read: Cost[] = []
  const seen = new Set<string>()
  const normal = new Map<string, Cost>()
  for (const [key, written] of document.entries('costs', 'costs by resource') ?? []) {
    const refuse = (message: string) => document.note({ path: `costs.${key}`, message })
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
      const normalPattern = normalizePattern(pattern, normalize)
      const one = {
        key,
        resource,
        pattern,
        normalPattern,
        methods: sortedMethods(methods),
        unit,
        cost,
      }
      const place = JSON.stringify([patternKey(pattern), one.methods, unit])
      if (seen.has(place)) refuse('has a cost already')
      seen.add(place)
      read.push(one)
      const normalPlace = JSON.stringify([patternKey(normalPattern ?? pattern), one.methods, unit])
      const twin = normal.get(normalPlace)
      if (twin !== undefined && patternKey(twin.pattern) !== patternKey(pattern))
        warnings.push({
          code: 'same_cost',
          path: `costs.${key}`,
          message: `is the same as ${twin.key} once resources are normalised; the higher cost is charged then`,
        })
      normal.set(normalPlace, one)
    }
  }
  return read
}
