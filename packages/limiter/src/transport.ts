/**
 * @sluice/limiter/transport: for servers that carry decisions abroad. What is here follows the library's
 * insides, so it changes with them: use it at the same version.
 */
export { REASONS, STATES } from './decision.js'
export { DecisionRecord } from './decision-record.js'
export { denialMessage, explainDenial, printValue, printWait } from './describe.js'
export { didYouMean, list, nearest, quote } from './faults.js'
export { policyName } from './http/headers.js'
export { DAY_MS, HOUR_MS, MINUTE_MS } from './limits/duration.js'
export { ALGORITHMS, limitIdentity } from './limits/limit.js'
export { printHold, printReceipt, readHold, readReceipt, shortId } from './receipt-text.js'
export {
  LONGEST_KEY,
  MOST_COST,
  MOST_SCOPES,
  MOST_UNIT_COST,
  MOST_UNITS,
  readUnits,
  wholeNumber,
} from './request.js'
export type { CompiledLimit, CompiledRule } from './rules/compiled-rule.js'
export {
  DOCUMENT_PARTS,
  type DocumentPart,
  type NamespaceSettings,
  partsOf,
  SETTING_PARTS,
  type SettingPart,
} from './rules/document-parts.js'
export {
  type Cidr,
  isPlainIpv4,
  maskWords,
  parseIp,
  printCidr,
  printIp,
} from './rules/ip-address.js'
export { hasLabel, LABEL_KEY, LONGEST_LABEL, MOST_LABELS, splitLabel } from './rules/labels.js'
export { writeLease } from './rules/lease-terms.js'
export { normalPatternKey, pathAmbiguity } from './rules/normalize.js'
export { LONGEST_RESOURCE, patternKey } from './rules/pattern.js'
export { DEFAULTS_FIELDS } from './rules/read-defaults.js'
export { readDocument } from './rules/read-document.js'
export { NORMALIZE_FIELDS } from './rules/read-normalize.js'
export { LONGEST_MESSAGE } from './rules/read-rule-fields.js'
export { ENDING_FIELDS, OVERRIDE_FIELDS } from './rules/read-subjects.js'
export {
  differingFields,
  FAILURE_MODES,
  fieldOf,
  OWN_FIELDS,
  type OwnField,
  PRIORITIES,
  REACHES,
  RULE_FIELD_NAMES,
  RULE_FIELDS,
  type RuleFieldValue,
  type RuleFieldValues,
} from './rules/rule-fields.js'
export { ByRule } from './rules/rule-numbers.js'
export {
  BUILT_IN_SCOPES,
  hasControlCharacters,
  LONGEST_VALUE,
  lengthOf,
  METHOD,
  NAME,
  NAMESPACE,
  parseTime,
  readValue,
  SCOPE,
  TIER,
} from './rules/words.js'
export { type Answer, DEGRADED_REASONS } from './stores/answer.js'
export { canBeLeased } from './stores/leased/leased-rows.js'
export type { NotConfirmed } from './stores/operation.js'
export type { Awaitable, Store } from './stores/store.js'
