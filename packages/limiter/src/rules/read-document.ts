/** Reads a rules document and notes everything that is wrong with it, not only the first. */
import { didYouMean, type Fault, Faults, quote, TooManyFaults } from '../faults.js'
import { FieldReader, type Fields } from '../field-reader.js'
import { isAmount } from '../limits/amount.js'
import { readTimeZone } from '../limits/long-form.js'
import type { FailureMode } from './document.js'
import { NORMALIZE_DEFAULTS, type Normalize } from './normalize.js'
import { patternKey } from './pattern.js'
import { readCosts } from './read-costs.js'
import { readNormalize } from './read-normalize.js'
import { DEFAULT_RULE, type ReadContext, readLimits, readRule, refuseSplit } from './read-rule.js'
import type { Entry, Override, Rule, RuleBook } from './rule.js'
import { NAMESPACE, parseTime, readValue, SCOPE, TIER } from './words.js'

/** What a document may hold. */
export const DOCUMENT_FIELDS = [
  'version',
  'namespace',
  'timezone',
  'defaults',
  'normalize',
  'scopes',
  'default_rule',
  'tiers',
  'rules',
  'overrides',
  'costs',
  'exemptions',
  'blocks',
]

class DocumentReader implements ReadContext {
  readonly faults: Fault[] = new Faults()
  readonly warnings: string[] = []
  timezone = 'UTC'
  failureMode: FailureMode = 'local'
  normalize: Normalize = NORMALIZE_DEFAULTS
  order = 0

  object(value: unknown, path: string, what: string): [string, unknown][] | undefined {
    if (value === undefined) return undefined
    const reader = FieldReader.of(value, path, what, this.faults)
    return reader === undefined ? undefined : Object.entries(value as Fields)
  }

  array(value: unknown, path: string, what: string): [string, unknown][] {
    if (value === undefined) return []
    if (Array.isArray(value)) return value.map((item, i) => [`${path}[${i}]`, item])
    this.faults.push({ path, message: `${quote(value)} is not a list of ${what}` })
    return []
  }

  read(document: unknown): RuleBook | undefined {
    const reader = FieldReader.of(document, '', 'a rules document', this.faults)
    if (reader === undefined) return undefined
    reader.refuseUnknown(DOCUMENT_FIELDS)
    if (reader.has('version') && reader.get('version') !== 1)
      reader.fault('version', `${quote(reader.get('version'))} is not a version known here`, {
        expected: '1',
      })
    const namespace = reader.text('namespace') ?? 'default'
    if (!NAMESPACE.test(namespace))
      reader.fault('namespace', `${quote(namespace)} is not a namespace's name`)
    this.timezone = readTimeZone(reader) ?? 'UTC'
    const ipv6Prefix = this.#readDefaults(reader)
    this.normalize = readNormalize(reader)
    const rules = this.#readRules(reader)
    const defaultRule = this.#readDefaultRule(reader)
    return {
      namespace,
      ipv6Prefix,
      normalize: this.normalize,
      scopes: this.#readScopes(reader),
      rules,
      defaultRule,
      tiers: this.#readTiers(reader),
      overrides: this.#readOverrides(reader, [...rules, defaultRule]),
      costs: readCosts(this.object(reader.get('costs'), 'costs', 'costs by resource') ?? [], this),
      exemptions: this.#readEntries(reader, 'exemptions'),
      blocks: this.#readEntries(reader, 'blocks'),
      warnings: this.warnings,
    }
  }

  #readDefaults(reader: FieldReader): number {
    const written = reader.get('defaults')
    if (written === undefined) return 64
    const defaults = FieldReader.of(written, 'defaults', 'an object', this.faults)
    if (defaults === undefined) return 64
    defaults.refuseUnknown(['failure_mode', 'ipv6_prefix'], 'defaults')
    this.failureMode = defaults.oneOf('failure_mode', ['open', 'closed', 'local']) ?? 'local'
    const prefix = defaults.get('ipv6_prefix') ?? 64
    if (isAmount(prefix) && prefix <= 128) return prefix
    defaults.fault('ipv6_prefix', `${quote(prefix)} is not a whole number from 1 to 128`)
    return 64
  }

  #readScopes(reader: FieldReader): string[] {
    return this.array(reader.get('scopes'), 'scopes', 'scopes').flatMap(([path, scope]) => {
      if (typeof scope === 'string' && SCOPE.test(scope)) return [scope]
      this.faults.push({ path, message: `${quote(scope)} is not a scope's name` })
      return []
    })
  }

  #readRules(reader: FieldReader): Rule[] {
    const rules = this.object(reader.get('rules'), 'rules', 'rules by name') ?? []
    const read = rules.flatMap(([name, fields]) => {
      const path = `rules.${name}`
      const rule = FieldReader.of(fields, path, 'a rule', this.faults)
      if (name.split('@')[0] === DEFAULT_RULE)
        this.faults.push({ path, message: `the name ${quote(name)} belongs to default_rule` })
      return rule === undefined ? [] : readRule(name, rule, this)
    })
    this.#refuseTwins(read)
    return read
  }

  /**
   * One rule per scope, value, tier, resource and methods, unless additive; one name each; one kind per
   * family. Shadow rules contest only among themselves, disabled ones never.
   */
  #refuseTwins(rules: readonly Rule[]): void {
    const byName = new Map<string, Rule>()
    const byPlace = new Map<string, Rule>()
    const families = new Map<string, Rule>()
    for (const rule of rules) {
      const path = `rules.${rule.name}`
      if (byName.has(rule.name))
        this.faults.push({ path, message: 'this name is taken by a tier of another rule' })
      byName.set(rule.name, rule)
      if (rule.scope === '') continue
      const kin = families.get(rule.family) ?? rule
      families.set(rule.family, kin)
      if (
        kin.scope !== rule.scope ||
        kin.unit !== rule.unit ||
        kin.shadow !== rule.shadow ||
        kin.additive !== rule.additive ||
        kin.shards !== rule.shards
      ) {
        this.faults.push({
          path,
          message: `shares its counters with ${kin.name}, so scope, unit, shadow, additive and shards must be the same`,
        })
      }
      if (rule.additive || !rule.enabled || rule.scope === '' || rule.pattern.length === 0) continue
      const value = typeof rule.value === 'object' ? JSON.stringify(rule.value) : rule.value
      const place = JSON.stringify([
        rule.scope,
        value,
        rule.tier,
        patternKey(rule.normalPattern ?? rule.pattern),
        rule.methods,
        rule.shadow,
      ])
      const twin = byPlace.get(place)
      if (twin !== undefined) {
        const message = `governs the same requests as ${twin.name}${whenNormalized(rule, twin)}; put the limits into one rule, or make one additive`
        this.faults.push({ path, message })
      }
      byPlace.set(place, rule)
    }
  }

  #readDefaultRule(reader: FieldReader): Rule | null {
    const written = reader.get('default_rule')
    if (written === undefined) return null
    const fields = FieldReader.of(written, 'default_rule', 'a rule', this.faults)
    if (fields === undefined) return null
    for (const field of ['additive', 'value', 'tier', 'tiers', 'resource', 'methods']) {
      if (fields.has(field)) fields.fault(field, 'does not go with the default rule')
    }
    const [rule] = readRule(DEFAULT_RULE, fields, this)
    if (rule!.scope === 'global') fields.fault('scope', 'the default rule cannot be global')
    return rule!
  }

  #readTiers(reader: FieldReader): Map<string, Map<string, string>> {
    const tiers = new Map<string, Map<string, string>>()
    for (const [tier, members] of this.object(reader.get('tiers'), 'tiers', 'subjects by tier') ??
      []) {
      const path = `tiers.${tier}`
      if (!TIER.test(tier))
        this.faults.push({ path, message: `${quote(tier)} is not a tier's name` })
      for (const [at, member] of this.array(members, path, 'scope:value')) {
        const entry = this.#readScopedValue(member, at)
        if (entry === undefined) continue
        if (typeof entry.value !== 'string') {
          this.faults.push({
            path: at,
            message: 'a tier is given to single addresses, not to networks',
          })
          continue
        }
        const values = tiers.get(entry.scope) ?? new Map<string, string>()
        tiers.set(entry.scope, values)
        const other = values.get(entry.value)
        if (other !== undefined && other !== tier)
          this.faults.push({ path: at, message: `${quote(member)} is in tier ${other} already` })
        values.set(entry.value, tier)
      }
    }
    return tiers
  }

  #readScopedValue(written: unknown, path: string): Pick<Entry, 'scope' | 'value'> | undefined {
    const match =
      typeof written === 'string' ? /^([a-z][a-z0-9_]{0,31}):(.*)$/s.exec(written) : null
    if (match === null) {
      this.faults.push({ path, message: `${quote(written)} is not a scope:value` })
      return undefined
    }
    return this.#scoped(match[1]!, match[2]!, path)
  }

  #scoped(scope: string, text: string, path: string): Pick<Entry, 'scope' | 'value'> | undefined {
    const value = readValue(scope, text)
    if (scope === 'global') this.faults.push({ path, message: 'the scope global has no values' })
    else if (typeof value === 'string' || 'bits' in value) return { scope, value }
    else this.faults.push({ path, message: value.fault })
    return undefined
  }

  #readEntries(reader: FieldReader, field: string): Entry[] {
    return this.array(reader.get(field), field, 'subjects').flatMap(([path, written]) => {
      if (typeof written === 'string') {
        const entry = this.#readScopedValue(written, path)
        return entry === undefined
          ? []
          : [{ ...entry, until: Number.POSITIVE_INFINITY, reason: null }]
      }
      const fields = FieldReader.of(written, path, 'scope:value, or an object', this.faults)
      if (fields === undefined) return []
      const scopes = Object.keys(written as Fields).filter(
        (key) => key !== 'until' && key !== 'reason',
      )
      if (scopes.length !== 1 || !SCOPE.test(scopes[0]!)) {
        fields.fault('', 'expected one scope with its value, and until and reason if need be')
        return []
      }
      const text = fields.text(scopes[0]!)
      const entry = text === undefined ? undefined : this.#scoped(scopes[0]!, text, path)
      const end = this.#readEnd(fields)
      return entry === undefined || end === undefined ? [] : [{ ...entry, ...end }]
    })
  }

  #readEnd(fields: FieldReader): Pick<Entry, 'until' | 'reason'> | undefined {
    const until = fields.get('until')
    const reason = fields.text('reason') ?? null
    if (until === undefined) return { until: Number.POSITIVE_INFINITY, reason }
    const ms = until instanceof Date ? until.getTime() : parseTime(until)
    if (Number.isFinite(ms)) return { until: ms * 1000, reason }
    const example = '2026-12-31 or 2026-12-31T12:00:00Z'
    return fields.fault('until', `${quote(until)} is not a time such as ${example}`)
  }

  #readOverrides(reader: FieldReader, all: readonly (Rule | null)[]): Override[] {
    const list = this.array(reader.get('overrides'), 'overrides', 'overrides')
    const rules = byName(list.length === 0 ? [] : all)
    return list.flatMap(([path, written]) => {
      const fields = FieldReader.of(written, path, 'an override', this.faults)
      if (fields === undefined) return []
      fields.refuseUnknown(['scope', 'value', 'rule', 'limits', 'until', 'reason'], 'an override')
      for (const field of ['scope', 'value', 'rule'])
        if (!fields.has(field))
          fields.fault(field, 'is missing', { expected: `the ${WANTED[field]}` })
      const [scope, value, rule] = [fields.text('scope'), fields.text('value'), fields.text('rule')]
      const limits = readLimits(fields, 'limits', this.timezone)
      const end = this.#readEnd(fields)
      if (scope === undefined || value === undefined || rule === undefined || end === undefined)
        return []
      this.#refuseStranger(fields, scope, rule, rules)
      refuseSplit(fields, fields.pathOf('limits'), limits, rules.get(rule)?.shards ?? 1)
      const entry = this.#scoped(scope, value, path)
      if (entry === undefined) return []
      if (typeof entry.value === 'string')
        return [{ scope, value: entry.value, rule, limits, ...end }]
      fields.fault('value', 'an override is for a single address, not for a network')
      return []
    })
  }

  /** An override of a rule that does not exist, or counts another scope, would do nothing. */
  #refuseStranger(
    fields: FieldReader,
    scope: string,
    name: string,
    rules: ReadonlyMap<string, Rule>,
  ): void {
    const named = rules.get(name)
    if (named === undefined)
      fields.fault(
        'rule',
        `${quote(name)} is not the name of a rule${didYouMean(name, rules.keys())}`,
      )
    else if (named.scope !== scope)
      fields.fault('scope', `is ${quote(scope)}, and ${name} counts by ${named.scope}`)
  }
}

/** Says why two rules are the same that are written differently. */
function whenNormalized({ pattern, resource }: Rule, twin: Rule): string {
  if (patternKey(pattern) === patternKey(twin.pattern)) return ''
  return ` once resources are normalised: ${quote(resource)} and ${quote(twin.resource)} are one`
}

/** By name and by family; of a family the first. */
function byName(rules: readonly (Rule | null)[]): Map<string, Rule> {
  const named = new Map<string, Rule>()
  for (const rule of rules) {
    if (rule === null) continue
    named.set(rule.name, rule)
    if (!named.has(rule.family)) named.set(rule.family, rule)
  }
  return named
}

const WANTED: Record<string, string> = {
  scope: 'scope that the rule counts by',
  value: 'value that the limits are for',
  rule: 'name of a rule',
}

/** The checked document, or all its faults, of which no more than 100,000 are looked for. */
export function readDocument(document: unknown): RuleBook | Fault[] {
  const reader = new DocumentReader()
  try {
    const book = reader.read(document)
    return book === undefined || reader.faults.length > 0 ? reader.faults : book
  } catch (error) {
    if (error instanceof TooManyFaults) return reader.faults
    throw error
  }
}
