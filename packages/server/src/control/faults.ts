/** What the library's reader found wrong, as the wire says it. */
import type { Fault, Warning } from '@sluice/limiter'
import { ServiceError, type WireFault } from '../error-codes.js'

/** `within` is where in the document the body stands; its own faults are named by `whole`. */
export function wireFaults(faults: readonly Fault[], within: string, whole: string): WireFault[] {
  return faults.map((fault) => ({
    field: fieldOf(fault, within, whole),
    message: messageOf(fault),
  }))
}

/** What was accepted and is in doubt, as the wire says it. */
export interface WireWarning {
  readonly code: string
  readonly field: string
  readonly message: string
}

/** Those of a part of the document, as fields of an answer; none where there are no warnings. */
export function wireWarnings(
  warnings: readonly Warning[],
  within: string,
): { warnings?: readonly WireWarning[] } {
  const own = warnings.filter(({ path }) => within === '' || path.startsWith(`${within}.`))
  if (own.length === 0) return {}
  return {
    warnings: own.map(({ code, path, message }) => ({
      code,
      field: fieldOf({ path, message }, within, within),
      message,
    })),
  }
}

function fieldOf({ path, key }: Fault, within: string, whole: string): string {
  const isInside = path === within || path.startsWith(`${within}.`) || path.startsWith(`${within}[`)
  const rest = isInside ? path.slice(within.length).replace(/^\./, '') : path
  if (key !== undefined) return rest === '' ? key : `${rest}.${key}`
  return rest === '' ? whole : rest
}

function messageOf({ message, expected, hint }: Fault): string {
  const wanted = expected === undefined ? '' : `; expected ${expected}`
  return `${message}${wanted}${hint === undefined ? '' : ` (${hint})`}`
}

/** How many an answer has; of the others it has the number. */
export const MOST_FAULTS = 100

/** 422, with what is wrong; `others` were found besides. */
export function invalid(faults: readonly WireFault[], others = 0): ServiceError {
  const [first] = faults
  const shown = faults.slice(0, MOST_FAULTS)
  const count = faults.length + others
  const more = count > 1 ? ` and ${count - 1} more` : ''
  const cut = count > shown.length ? ` (the first ${shown.length} are listed)` : ''
  const words =
    first === undefined ? 'it cannot be' : `${first.field} ${first.message}${more}${cut}`
  return new ServiceError('invalid_rules', words, { faults: shown })
}

/** 400, with the first. */
export function badInput([fault]: readonly WireFault[]): ServiceError {
  const { field, message } = fault!
  return new ServiceError('bad_request', `${field} ${message}`, { field })
}
