/** Reads what a document says under `defaults`: what holds for rules and addresses that say nothing else. */
import { quote } from '../faults.js'
import type { FieldReader } from '../field-reader.js'
import { isAmount } from '../limits/limit.js'
import type { DefaultsInput } from './document.js'
import { FAILURE_MODES, type FailureMode, RULE_FIELDS } from './rule-fields.js'

export interface Defaults {
  readonly failureMode: FailureMode
  readonly ipv6Prefix: number
}

const STANDARD: Defaults = { failureMode: RULE_FIELDS.failure_mode.default, ipv6Prefix: 64 }

export const DEFAULTS_FIELDS = {
  failure_mode: (fields: FieldReader): FailureMode =>
    fields.oneOf('failure_mode', FAILURE_MODES) ?? STANDARD.failureMode,
  ipv6_prefix: readPrefix,
} satisfies Record<keyof DefaultsInput, unknown>

export function readDefaults(document: FieldReader): Defaults {
  const fields = document.object('defaults', 'an object', Object.keys(DEFAULTS_FIELDS))
  if (fields === undefined) return STANDARD
  return {
    failureMode: DEFAULTS_FIELDS.failure_mode(fields),
    ipv6Prefix: DEFAULTS_FIELDS.ipv6_prefix(fields),
  }
}

function readPrefix(fields: FieldReader): number {
  const prefix = fields.get('ipv6_prefix') ?? STANDARD.ipv6Prefix
  if (isAmount(prefix) && prefix <= 128) return prefix
  fields.fault('ipv6_prefix', `${quote(prefix)} is not a whole number from 1 to 128`)
  return STANDARD.ipv6Prefix
}
