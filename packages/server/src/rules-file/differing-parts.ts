/**
 * Which parts of two rule books differ. The comparison walks the values themselves and knows no field by
 * name, so a field that is added later is compared without a change here.
 */
import type { RuleBook, Slices } from '@sluice/limiter'

/** How many items are compared between two yields. */
const STEP = 100

export type BookPart = keyof RuleBook

/** The parts that differ, order of lists included; every part where there is no book before. */
export function* differingParts(before: RuleBook | null, after: RuleBook): Slices<Set<BookPart>> {
  const parts = new Set(Object.keys(after)) as Set<BookPart>
  for (const part of Object.keys(before ?? {}) as BookPart[]) parts.add(part)
  if (before === null) return parts
  for (const part of parts)
    if (yield* isEqualInSlices(before[part], after[part])) parts.delete(part)
  return parts
}

/** The same as `isEqual`, for lists and maps of very many items. */
function* isEqualInSlices(a: unknown, b: unknown): Slices<boolean> {
  const [left, right] = [itemsOf(a), itemsOf(b)]
  if (left === undefined || right === undefined || left.size !== right.size) return isEqual(a, b)
  let compared = 0
  for (const [key, value] of left.entries) {
    if (++compared % STEP === 0) yield
    const other = right.get(key)
    const isSame =
      value instanceof Map ? yield* isEqualInSlices(value, other) : isEqual(value, other)
    if (!isSame) return false
  }
  return true
}

function itemsOf(value: unknown) {
  if (Array.isArray(value))
    return {
      size: value.length,
      entries: value.entries() as Iterable<[unknown, unknown]>,
      get: (key: unknown): unknown => value[key as number],
    }
  if (value instanceof Map)
    return { size: value.size, entries: value.entries(), get: (key: unknown) => value.get(key) }
  return undefined
}

/** Whether two plain values (primitives, lists, maps, objects) hold the same. */
function isEqual(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false
  if (a instanceof Map || b instanceof Map) {
    if (!(a instanceof Map && b instanceof Map) || a.size !== b.size) return false
    for (const [key, value] of a) if (!b.has(key) || !isEqual(value, b.get(key))) return false
    return true
  }
  if (Array.isArray(a) !== Array.isArray(b)) return false
  const [left, right] = [a as Record<string, unknown>, b as Record<string, unknown>]
  for (const key in left) if (!(key in right && isEqual(left[key], right[key]))) return false
  for (const key in right) if (!(key in left)) return false
  return true
}
