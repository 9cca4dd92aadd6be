/** Reads a rules document and notes everything that is wrong with it, not only the first fault. */

import { type Fault, Faults, quote, TooManyFaults, type Warning } from '../faults.js'
import { FieldReader } from '../field-reader.js'
import { readTimeZone } from '../limits/long-form.js'
import { DEFAULT_NAMESPACE } from './document.js'
import { DOCUMENT_PARTS } from './document-parts.js'
import { readCosts } from './read-costs.js'
import { readDefaults } from './read-defaults.js'
import { readNormalize } from './read-normalize.js'
import { DEFAULT_RULE, type ReadContext, readRule } from './read-rule.js'
import { readEntries, readOverrides, readTierMembers } from './read-subjects.js'
import { refuseTwins } from './refuse-twins.js'
import type { Rule, RuleBook } from './rule.js'
import { RULE_FIELD_NAMES, RULE_FIELDS } from './rule-fields.js'
import { NAMESPACE, SCOPE } from './words.js'

/** The checked document, or all its faults, of which no more than 100,000 are looked for. */
export function readDocument(document: unknown): RuleBook | Fault[] {
  const faults = new Faults()
  try {
    const reader = FieldReader.of(document, '', 'a rules document', faults)
    const book = reader === undefined ? undefined : readBook(reader)
    return book === undefined || faults.length > 0 ? faults : book
  } catch (error) {
    if (error instanceof TooManyFaults) return faults
    throw error
  }
}

function readBook(reader: FieldReader): RuleBook {
  reader.refuseUnknown(Object.keys(DOCUMENT_PARTS))
  readVersion(reader)
  const namespace = readNamespace(reader)
  const timezone = readTimeZone(reader) ?? 'UTC'
  const { failureMode, ipv6Prefix } = readDefaults(reader)
  const normalize = readNormalize(reader)
  const warnings: Warning[] = []
  const context: ReadContext = { name: '', timezone, failureMode, normalize, warnings, order: 0 }
  const rules = readRules(reader, context)
  const defaultRule = readDefaultRule(reader, context)
  return {
    namespace,
    ipv6Prefix,
    normalize,
    scopes: readScopes(reader),
    rules,
    defaultRule,
    tiers: readTierMembers(reader),
    overrides: readOverrides(reader, [...rules, defaultRule], timezone),
    costs: readCosts(reader, context),
    exemptions: readEntries(reader, 'exemptions'),
    blocks: readEntries(reader, 'blocks'),
    warnings,
  }
}

function readVersion(reader: FieldReader): void {
  if (reader.has('version') && reader.get('version') !== 1)
    reader.fault('version', `${quote(reader.get('version'))} is not a version known here`, {
      expected: '1',
    })
}

function readNamespace(reader: FieldReader): string {
  const namespace = reader.text('namespace') ?? DEFAULT_NAMESPACE
  if (!NAMESPACE.test(namespace))
    reader.fault('namespace', `${quote(namespace)} is not a namespace's name`)
  return namespace
}

function readScopes(reader: FieldReader): string[] {
  return reader.list(reader.get('scopes'), 'scopes', 'scopes').flatMap(([path, scope]) => {
    if (typeof scope === 'string' && SCOPE.test(scope)) return [scope]
    reader.note({ path, message: `${quote(scope)} is not a scope's name` })
    return []
  })
}

function readRules(reader: FieldReader, context: ReadContext): Rule[] {
  const rules = reader.entries('rules', 'rules by name') ?? []
  const read = rules.flatMap(([name, fields]) => {
    const path = `rules.${name}`
    const rule = reader.child(fields, path, 'a rule')
    if (name.split('@')[0] === DEFAULT_RULE)
      reader.note({ path, message: `the name ${quote(name)} belongs to default_rule` })
    return rule === undefined ? [] : readRule(name, rule, context)
  })
  refuseTwins(reader, read)
  return read
}

function readDefaultRule(reader: FieldReader, context: ReadContext): Rule | null {
  const fields = reader.object('default_rule', 'a rule')
  if (fields === undefined) return null
  for (const name of RULE_FIELD_NAMES) {
    if (!RULE_FIELDS[name].inDefaultRule && fields.has(name))
      fields.fault(name, 'does not go with the default rule')
  }
  const [rule] = readRule(DEFAULT_RULE, fields, context)
  if (rule!.scope === 'global') fields.fault('scope', 'the default rule cannot be global')
  return rule!
}
