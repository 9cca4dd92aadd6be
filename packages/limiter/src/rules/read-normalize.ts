/** Reads what a document says under `normalize`. */
import { quote } from '../faults.js'
import type { FieldReader } from '../field-reader.js'
import type { NormalizeInput } from './document.js'
import { NORMALIZE_DEFAULTS, type Normalize } from './normalize.js'

/** The fields of `normalize`; each answers undefined where nothing is stated. */
export const NORMALIZE_FIELDS = {
  checks: (fields: FieldReader) => readSwitch(fields, 'checks'),
  trailing_slash: (fields: FieldReader) => fields.oneOf('trailing_slash', ['drop', 'keep']),
  fold_case: (fields: FieldReader) => readSwitch(fields, 'fold_case'),
} satisfies Record<keyof NormalizeInput, unknown>

/** Stated `checks` wins; else `fold_case: on` or a stated `trailing_slash` turns it on for checks too. */
export function readNormalize(document: FieldReader): Normalize {
  const what = 'an object such as { checks: on, trailing_slash: keep }'
  const fields = document.object('normalize', what, Object.keys(NORMALIZE_FIELDS))
  if (fields === undefined) return NORMALIZE_DEFAULTS
  const trailingSlash = NORMALIZE_FIELDS.trailing_slash(fields)
  const foldCase = NORMALIZE_FIELDS.fold_case(fields) ?? false
  return {
    checks: NORMALIZE_FIELDS.checks(fields) ?? (foldCase || trailingSlash !== undefined),
    trailingSlash: trailingSlash ?? 'drop',
    foldCase,
  }
}

function readSwitch(fields: FieldReader, field: string): boolean | undefined {
  const written = fields.get(field)
  if (written === undefined) return undefined
  if (written === true || written === 'on') return true
  if (written === false || written === 'off') return false
  return fields.fault(field, `${quote(written)} is not on or off`)
}
