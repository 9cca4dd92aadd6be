/** Time as a parameter: milliseconds since the epoch outside, integer microseconds inside. */
import { SluiceError } from './errors.js'

/** Milliseconds since the epoch; fractions count to the microsecond. */
export type Clock = () => number

/** The arithmetic is exact up to here: the year 2255. */
const LAST_MS = 9e12

export function microseconds(ms: number): number {
  if (ms >= 0 && ms <= LAST_MS) return Math.round(ms * 1000)
  throw new SluiceError(
    'invalid_options',
    `the clock says ${ms}; expected milliseconds since 1970, before 2255`,
    {
      field: 'clock',
    },
  )
}
