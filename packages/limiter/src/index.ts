/** @sluice/limiter: rate limiting in this process, or over a store that others share. */
export type { Clock } from './clock.js'
export { createLimiter, type LimiterOptions } from './create-limiter.js'
export type {
  Allowed,
  Decision,
  DecisionField,
  Denied,
  LimitDecision,
  Reason,
  State,
} from './decision.js'
export { ERROR_CODES, type ErrorCode, SluiceError } from './errors.js'
export { type Fault, printFault, type Warning } from './faults.js'
export type { Hold } from './hold.js'
export type { HoldTicket } from './hold-ticket.js'
export { HEADER_FAMILIES, type HeaderFamily } from './http/headers.js'
export type { Explanation, Limiter, RateLimiter, Refunded, RulesChange } from './limiter.js'
export { isFault, parseLimit } from './limits/grammar.js'
export { type Algorithm, type CalendarUnit, type Limit, printLimit } from './limits/limit.js'
export type { LimitText } from './limits/limit-text.js'
export type { LimitInput, LimitObject } from './limits/long-form.js'
export type { Receipt, Units } from './receipt.js'
export type { Request, Subject } from './request.js'
export type { Reservation, Settlement } from './reservation.js'
export type {
  DefaultsInput,
  Ending,
  ListEntry,
  NormalizeInput,
  OverrideInput,
  RulesDocument,
} from './rules/document.js'
export type { AppliedRule, MatchExplanation, SetAsideRule } from './rules/explain.js'
export type { LeaseInput, LeaseTerms } from './rules/lease-terms.js'
export type { Normalize } from './rules/normalize.js'
export type { Cost, Entry, Override, Rule, RuleBook } from './rules/rule.js'
export type {
  FailureMode,
  LimitsInput,
  OneOrMore,
  Priority,
  Reach,
  RuleField,
  RuleInput,
} from './rules/rule-fields.js'
export { RuleSet } from './rules/rule-set.js'
export { inSlices, type Pace, type Slices } from './slices.js'
export { MemoryStore, type MemoryStoreOptions, memoryStore } from './stores/memory/store.js'
