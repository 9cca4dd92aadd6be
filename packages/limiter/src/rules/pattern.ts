/**
 * Resource patterns, compared segment by segment: a literal before `:param` before a final `*`.
 * `*` takes one segment or more, `:param` exactly one that is not empty. A name without slashes is
 * exact, or `*`, which matches everything. Nothing is decoded or folded.
 */
import { hasControlCharacters } from './words.js'

export const LONGEST_RESOURCE = 2048

/** Segments of a pattern, parameters all alike, so that patterns of one meaning are equal. */
export type Pattern = readonly Segment[]
type Segment = { readonly literal: string } | 'param' | 'rest'

export function parsePattern(text: string): Pattern | string {
  if (text === '') return 'is empty; expected a path, a name or *'
  if (text.length > LONGEST_RESOURCE) return `is longer than ${LONGEST_RESOURCE} characters`
  if (hasControlCharacters(text)) return 'holds control characters'
  if (text.includes('?')) return 'holds a query, which is never compared'
  const parts = text.split('/')
  const pattern: Segment[] = []
  for (const [i, part] of parts.entries()) {
    if (part === '*') {
      if (i < parts.length - 1) return 'has a * before its end; only the last segment may be *'
      pattern.push('rest')
    } else if (part.includes('*')) {
      return `has ${JSON.stringify(part)}; a * stands alone in the last segment`
    } else if (part.startsWith(':')) {
      if (parts.length === 1) return 'is a parameter without a path; a name is exact or *'
      if (!/^:[A-Za-z_][A-Za-z0-9_]*$/.test(part))
        return `has ${JSON.stringify(part)}; a parameter is : and a name`
      pattern.push('param')
    } else pattern.push({ literal: part })
  }
  return pattern
}

/** Equal for patterns that match the same resources. */
export function patternKey(pattern: Pattern): string {
  return pattern
    .map((segment) =>
      segment === 'param' ? ':' : segment === 'rest' ? '*' : `=${segment.literal}`,
    )
    .join('/')
}

/** What is compared of a resource: all before the query. */
export function withoutQuery(resource: string): string {
  const query = resource.indexOf('?')
  return query < 0 ? resource : resource.slice(0, query)
}

/** Stands for a segment that no pattern spells out; requests cannot hold it. */
const ANYTHING = '\u0000'
const MANY = 64

/** Resources that both patterns match, and others only by a parameter or `*`; none if there are none. */
export function commonExamples(a: Pattern, b: Pattern): string[] {
  const segments: string[] = []
  for (let i = 0; ; i++) {
    const [x, y] = [a[i], b[i]]
    if (x === undefined && y === undefined) return [segments.join('/')]
    if (x === 'rest' || y === 'rest') {
      const longer = x === 'rest' ? b : a
      return longer[i] === undefined ? [] : withRest(segments, longer.slice(i))
    }
    if (x === undefined || y === undefined) return []
    if (typeof x === 'object' && typeof y === 'object' && x.literal !== y.literal) return []
    const literal = typeof x === 'object' ? x : y
    if (typeof literal === 'object' && literal.literal === '' && (x === 'param' || y === 'param'))
      return []
    segments.push(spelled(literal))
  }
}

/** Where the pattern ends with `*`, also a resource with more segments than any parameters take. */
function withRest(before: readonly string[], pattern: Pattern): string[] {
  const one = [...before, ...pattern.map(spelled)]
  if (pattern.at(-1) !== 'rest') return [one.join('/')]
  const more = Array.from({ length: MANY }, () => ANYTHING)
  return [one.join('/'), [...one, ...more].join('/')]
}

function spelled(segment: Segment): string {
  return typeof segment === 'object' ? segment.literal : ANYTHING
}
