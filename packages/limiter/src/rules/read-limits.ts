/** Reads the limits of a rule, a tier or an override. */
import type { FieldReader } from '../field-reader.js'
import { isFault, parseLimit } from '../limits/grammar.js'
import type { Limit } from '../limits/limit.js'
import { readLongForm } from '../limits/long-form.js'
import { splitFault } from '../limits/split.js'

const MOST_LIMITS = 16

/** One or more limits, each as a line (`10/s`) or an object. Faults are noted; faulty limits are left out. */
export function readLimits(reader: FieldReader, field: string, timezone: string): Limit[] {
  if (!reader.has(field)) {
    reader.fault(field, 'is missing', { expected: 'one or more, such as 10/s' })
    return []
  }
  return readLimitList(reader.get(field), reader.pathOf(field), reader, timezone)
}

/** The same for a value that is not a field of its own, such as the limits of a tier. */
export function readLimitList(
  value: unknown,
  path: string,
  owner: FieldReader,
  timezone: string,
): Limit[] {
  const list = Array.isArray(value) ? value : [value]
  const expected = 'one or more limits, such as 10/s'
  if (list.length === 0) owner.note({ path, message: 'is empty', expected })
  if (list.length > MOST_LIMITS)
    owner.note({ path, message: `has ${list.length} limits; at most ${MOST_LIMITS}` })
  const limits: Limit[] = []
  for (const [i, item] of list.slice(0, MOST_LIMITS).entries()) {
    const at = Array.isArray(value) ? `${path}[${i}]` : path
    const limit = readLimit(item, at, owner, timezone)
    if (limit !== undefined) limits.push(limit)
  }
  return limits
}

function readLimit(
  item: unknown,
  path: string,
  owner: FieldReader,
  timezone: string,
): Limit | undefined {
  if (typeof item !== 'string') {
    const reader = owner.child(item, path, 'a limit such as 10/s')
    return reader === undefined ? undefined : readLongForm(reader, timezone)
  }
  const limit = parseLimit(item, timezone)
  if (!isFault(limit)) return limit
  owner.note({ ...limit, path })
  return undefined
}

/** Notes every limit that cannot be divided over so many shards. */
export function refuseSplit(
  reader: FieldReader,
  path: string,
  limits: readonly Limit[],
  shards: number,
): void {
  for (const limit of limits) {
    const message = splitFault(limit, shards)
    if (message !== undefined) reader.note({ path, message })
  }
}
