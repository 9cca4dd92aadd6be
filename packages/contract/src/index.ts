export * from './rules/document-schema.js'
export { AMOUNT_PATTERN, DURATION_PATTERN, LIMIT_PATTERN } from './rules/limit-pattern.js'
export * from './rules/print-rule.js'
export * from './rules/rule-fields.js'
