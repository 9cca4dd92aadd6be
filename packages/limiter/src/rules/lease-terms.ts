/** What a rule says of leases: `on`, `off`, or how far ahead and how much at most. */
import { quote } from '../faults.js'
import type { FieldReader } from '../field-reader.js'
import { parseDuration, printDuration, UNITS } from '../limits/duration.js'
import type { Algorithm, Limit } from '../limits/limit.js'

/** As a document states it. */
export type LeaseInput = boolean | 'on' | 'off' | LeaseSizes

export interface LeaseSizes {
  /** How much time's worth of the local rate is leased: `10ms` to `400ms`. */
  readonly ahead?: `${number}ms`
  /** The largest lease. */
  readonly most?: number
}

export interface LeaseTerms {
  readonly isOn: boolean
  /** How much time's worth of the local rate is leased, in microseconds; null: as is usual. */
  readonly ahead: number | null
  /** The largest lease; null: no other bound than the protocol's. */
  readonly most: number | null
}

const LEAST_AHEAD = 10 * UNITS.ms
const MOST_AHEAD = 400 * UNITS.ms
const LARGEST = 1_000_000_000
const NEVER_LEASED = new Set<Algorithm>(['gcra', 'leaky_bucket', 'concurrency'])

/** Null where the rule says nothing: as the instance does. */
export function readLease(reader: FieldReader): LeaseTerms | null {
  const written = reader.get('lease')
  if (written === undefined) return null
  if (written === true || written === 'on') return { isOn: true, ahead: null, most: null }
  if (written === false || written === 'off') return { isOn: false, ahead: null, most: null }
  const what = 'on, off or an object such as { ahead: 50ms, most: 1000 }'
  const fields = reader.child(written, reader.pathOf('lease'), what)
  if (fields === undefined) return null
  fields.refuseUnknown(['ahead', 'most'], 'a lease')
  return { isOn: true, ahead: readAhead(fields), most: readMost(fields) }
}

function readAhead(fields: FieldReader): number | null {
  const written = fields.get('ahead')
  if (written === undefined) return null
  const ahead = typeof written === 'string' ? parseDuration(written) : undefined
  if (typeof ahead === 'number' && ahead >= LEAST_AHEAD && ahead <= MOST_AHEAD) return ahead
  fields.fault('ahead', `${quote(written)} is not a duration from 10ms to 400ms`)
  return null
}

function readMost(fields: FieldReader): number | null {
  const most = fields.get('most')
  if (most === undefined) return null
  if (Number.isInteger(most) && (most as number) >= 2 && (most as number) <= LARGEST)
    return most as number
  fields.fault('most', `${quote(most)} is not a whole number from 2 to 1_000_000_000`)
  return null
}

/** What keeps a rule from being leased that asks for it; undefined if nothing does. */
export function strictBecause(
  lease: LeaseTerms | null,
  limits: readonly Limit[],
): string | undefined {
  if (lease?.isOn !== true) return undefined
  const strict = limits.find(({ algorithm }) => NEVER_LEASED.has(algorithm))
  return strict && `stays strict, because ${strict.algorithm} is never leased`
}

/** As a document says it. */
export function writeLease({ isOn, ahead, most }: LeaseTerms): LeaseInput {
  if (!isOn || (ahead === null && most === null)) return isOn
  return {
    ...(ahead === null ? {} : { ahead: printDuration(ahead) as LeaseSizes['ahead'] & string }),
    ...(most === null ? {} : { most }),
  }
}
