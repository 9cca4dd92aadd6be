/** How deep values may be within values: reading and printing what is much deeper ends in a full stack. */

/** Nothing that is meant is nested deeper. */
export const DEEPEST = 64

/** Whether it is nested further than anybody means. */
export function isDeep(value: unknown, levels = DEEPEST): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (levels === 0) return true
  return Object.values(value).some((inner) => isDeep(inner, levels - 1))
}
