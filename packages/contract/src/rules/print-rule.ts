/** A rule in its written forms: stored, answered by the API, and in a document. */
import type { FailureMode, RuleInput } from '@sluice/limiter'
import { OWN_FIELDS, type OwnField, type RuleFieldValues } from '@sluice/limiter/transport'
import { type AnsweredFields, isStoredAsWritten, printDefault, printField } from './rule-fields.js'

/** Every field of a rule that was read. */
export function printRule(rule: RuleFieldValues): AnsweredFields {
  return Object.fromEntries(
    OWN_FIELDS.map((name) => [name, printField(rule, name)]),
  ) as AnsweredFields
}

/** A rule as it is stored: the fields of a document, without default values. `written` is what its author wrote. */
export function storedRule(rule: RuleFieldValues, written: RuleInput): RuleInput {
  const fields: Record<string, unknown> = {}
  for (const name of OWN_FIELDS) {
    const value = isStoredAsWritten(name) ? written[name] : printField(rule, name)
    if (value !== undefined && !isDefault(name, value)) fields[name] = value
  }
  return fields as unknown as RuleInput
}

/** An author who states a default means it, where the default may be another one elsewhere. */
function isDefault(name: OwnField, value: unknown): boolean {
  return !isStoredAsWritten(name) && JSON.stringify(value) === JSON.stringify(printDefault(name))
}

/** Every field of a stored rule. `failureMode` is the default of its namespace. */
export function printStored(stored: RuleInput, failureMode: FailureMode | null): AnsweredFields {
  const defaults = { failure_mode: failureMode ?? printDefault('failure_mode') }
  const valueOf = (name: OwnField) =>
    stored[name] ?? (name === 'failure_mode' ? defaults[name] : printDefault(name))
  return Object.fromEntries(OWN_FIELDS.map((name) => [name, valueOf(name)])) as AnsweredFields
}
