/** What server, command line, client and dashboard share. */
export * from './body-sizes.js'
export { isoTime } from './decisions/answer-values.js'
export * from './decisions/decision-fields.js'
export * from './decisions/limit-fields.js'
export * from './decisions/request-fields.js'
export {
  AUTH_HEADERS,
  type AuthHeader,
  fieldsInHeaders,
  REQUEST_HEADERS,
} from './decisions/request-headers.js'
export * from './errors.js'
export type { ErrorBody } from './errors-schema.js'
export * from './openapi.js'
export * from './roles.js'
export { MOST_HOT_ROWS } from './routes/hot.js'
export * from './routes/index.js'
export * from './routes/route.js'
export { FIXED_RULE_FIELDS, type RuleBody } from './routes/rules.js'
export * from './rules/document-schema.js'
export { LIMIT_PATTERN } from './rules/limit-pattern.js'
export * from './rules/print-rule.js'
export * from './rules/rule-fields.js'
export { propertiesOf, type Static, type TSchema } from './schema.js'
export * from './validate.js'
