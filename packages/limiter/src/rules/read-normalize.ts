/** Reads what a document says under `normalize`. */
import { quote } from '../faults.js'
import type { FieldReader } from '../field-reader.js'
import { NORMALIZE_DEFAULTS, type Normalize } from './normalize.js'

/** Stated `checks` wins; else `fold_case: on` or a stated `trailing_slash` turns it on for checks too. */
export function readNormalize(document: FieldReader): Normalize {
  const written = document.get('normalize')
  if (written === undefined) return NORMALIZE_DEFAULTS
  const what = 'an object such as { checks: on, trailing_slash: keep }'
  const fields = document.child(written, 'normalize', what)
  if (fields === undefined) return NORMALIZE_DEFAULTS
  fields.refuseUnknown(['checks', 'trailing_slash', 'fold_case'], 'normalize')
  const trailingSlash = fields.oneOf('trailing_slash', ['drop', 'keep'])
  const foldCase = readSwitch(fields, 'fold_case') ?? false
  return {
    checks: readSwitch(fields, 'checks') ?? (foldCase || trailingSlash !== undefined),
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
