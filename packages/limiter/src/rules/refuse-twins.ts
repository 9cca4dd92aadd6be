/** Rules that cannot be together in one document: two of a name, or two that govern the same requests. */
import { quote } from '../faults.js'
import type { FieldReader } from '../field-reader.js'
import { patternKey } from './pattern.js'
import type { Rule } from './rule.js'
import { isSameField, OWN_FIELDS, RULE_FIELDS } from './rule-fields.js'

const SAME_IN_FAMILY = OWN_FIELDS.filter((name) => RULE_FIELDS[name].sameInFamily)

/**
 * One rule per scope, value, tier, resource and methods, unless additive; one name each; one kind per
 * family. Shadow rules contest only among themselves, disabled ones never.
 */
export function refuseTwins(reader: FieldReader, rules: readonly Rule[]): void {
  const byName = new Set<string>()
  const byPlace = new Map<string, Rule>()
  const families = new Map<string, Rule>()
  for (const rule of rules) {
    const path = `rules.${rule.name}`
    if (byName.has(rule.name))
      reader.note({ path, message: 'this name is taken by a tier of another rule' })
    byName.add(rule.name)
    if (rule.scope === '') continue
    const kin = families.get(rule.family) ?? rule
    families.set(rule.family, kin)
    if (kin !== rule && !SAME_IN_FAMILY.every((name) => isSameField(kin, rule, name)))
      reader.note({
        path,
        message: `shares its counters with ${kin.name}, so ${listed(SAME_IN_FAMILY)} must be the same`,
      })
    if (rule.additive || !rule.enabled || rule.pattern.length === 0) continue
    const place = placeOf(rule)
    const twin = byPlace.get(place)
    if (twin !== undefined) {
      const message = `governs the same requests as ${twin.name}${whenNormalized(rule, twin)}; put the limits into one rule, or make one additive`
      reader.note({ path, message })
    }
    byPlace.set(place, rule)
  }
}

function listed(names: readonly string[]): string {
  return `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`
}

/** Equal for rules that contest the same requests. */
function placeOf({ scope, value, tier, pattern, normalPattern, methods, shadow }: Rule): string {
  const who = typeof value === 'object' ? JSON.stringify(value) : value
  return JSON.stringify([scope, who, tier, patternKey(normalPattern ?? pattern), methods, shadow])
}

/** Says why two rules are the same that are written differently. */
function whenNormalized({ pattern, resource }: Rule, twin: Rule): string {
  if (patternKey(pattern) === patternKey(twin.pattern)) return ''
  return ` once resources are normalised: ${quote(resource)} and ${quote(twin.resource)} are one`
}
