/**
 * One spelling for resources that are URL paths, so that `/api/%6cogin`, `//api/login` and
 * `/x/../api/login` are all `/api/login`. Patterns are brought into the same spelling. Pure functions, in
 * time that grows with the length of the text.
 *
 * Only a resource that begins with `/` is a path. Any other is a name such as `api.search`: it is never
 * changed.
 */
import { type Pattern, parsePattern, patternKey, withoutQuery } from './pattern.js'

/** What a document says under `normalize`. */
export interface Normalize {
  /** Also the resources of checks, not only those of requests that a gateway passes on. */
  readonly checks: boolean
  readonly trailingSlash: 'drop' | 'keep'
  /** The letters A to Z are compared as a to z. */
  readonly foldCase: boolean
}

export const NORMALIZE_DEFAULTS: Normalize = {
  checks: false,
  trailingSlash: 'drop',
  foldCase: false,
}

/** Paths that need no work: no encodings, no empty segments, none that begins with a dot. */
const PLAIN = /^(?:\/[A-Za-z0-9_~!$&'()*+,;=:@-][A-Za-z0-9_.~!$&'()*+,;=:@-]*)+$/
const HAS_UPPER_CASE = /[A-Z]/

/**
 * The one spelling of a resource, without its query and fragment. Normalising the result again changes
 * nothing.
 */
export function normalizeResource(resource: string, settings: Normalize): string {
  if (!resource.startsWith('/')) return withoutQuery(resource)
  const path = withoutFragment(withoutQuery(resource))
  if (PLAIN.test(path) && !(settings.foldCase && HAS_UPPER_CASE.test(path))) return path
  const segments = normalizeSegments(path.split('/').slice(1), settings)
  return `/${segments.join('/')}`
}

/**
 * Why servers disagree about which path this is; undefined where they do not. Such a path must not be
 * taken from a client: the API behind may serve another resource than the one that was counted.
 */
export function pathAmbiguity(resource: string): string | undefined {
  if (!resource.startsWith('/')) return undefined
  const path = withoutQuery(resource)
  if (path.includes('#'))
    return 'holds a #, which ends the path for some servers and not for others; it must be encoded'
  if (path.includes('\\'))
    return 'holds a backslash, which some servers take for a slash; it must be encoded'
  if (!path.includes('//')) return undefined
  // RFC 3986 and WHATWG resolve dot segments first: `..` takes an empty segment there.
  const segments: string[] = []
  for (const written of path.split('/').slice(1)) {
    const segment = normalizeSegment(written, false)
    if (segment === '..') segments.pop()
    else if (segment !== '.') segments.push(segment)
  }
  const other = `/${segments.filter((segment) => segment !== '').join('/')}`
  if (other === normalizeResource(path, NORMALIZE_DEFAULTS)) return undefined
  return 'has .. after repeated slashes, which servers resolve differently'
}

/** The pattern in the one spelling; null where it is in it already. Parameters and a final `*` stay. */
export function normalizePattern(pattern: Pattern, settings: Normalize): Pattern | null {
  const [first, ...rest] = pattern
  if (first === undefined || rest.length === 0) return null
  if (typeof first !== 'object' || first.literal !== '') return null
  const written = rest.map((segment) => (typeof segment === 'object' ? segment.literal : segment))
  const normal = normalizeSegments<string | Wildcard>(
    rest.map((segment) => (typeof segment === 'object' ? segment.literal : WILDCARDS[segment])),
    settings,
  ).map((segment) => (typeof segment === 'string' ? { literal: segment } : segment.kind))
  const isSame =
    normal.length === rest.length &&
    normal.every((segment, i) =>
      typeof segment === 'object' ? segment.literal === written[i] : segment === rest[i],
    )
  return isSame ? null : [first, ...normal]
}

/** Equal for texts of patterns that match the same normalised resources. The text must be a pattern. */
export function normalPatternKey(text: string, settings: Normalize): string {
  const pattern = parsePattern(text) as Pattern
  return patternKey(normalizePattern(pattern, settings) ?? pattern)
}

/** A segment of a pattern that stands for others. */
interface Wildcard {
  readonly kind: 'param' | 'rest'
}
const WILDCARDS = { param: { kind: 'param' }, rest: { kind: 'rest' } } as const

/**
 * Repeated slashes first, then dot segments: `/a//../b` is `/b`, as nginx, Go and Node's `path` read it.
 * A last segment that is empty stands for a slash at the end; `/` itself always has one.
 */
function normalizeSegments<S extends string | Wildcard>(
  written: readonly S[],
  settings: Normalize,
): S[] {
  const segments: S[] = []
  let endsWithSlash = false
  for (const one of written) {
    const segment = typeof one === 'string' ? (normalizeSegment(one, settings.foldCase) as S) : one
    endsWithSlash = segment === '' || segment === '.' || segment === '..'
    if (segment === '..') segments.pop()
    else if (!endsWithSlash) segments.push(segment)
  }
  const keepsSlash = endsWithSlash && settings.trailingSlash === 'keep'
  if (segments.length === 0 || keepsSlash) segments.push('' as S)
  return segments
}

/** An encoding, or a character that must be encoded to stand in a path. `u`: whole characters. */
const SPECIAL = /%[0-9A-Fa-f]{2}|[^A-Za-z0-9_.~!$&'()*+,;=:@-]/gu
const UNRESERVED = /[A-Za-z0-9_.~-]/
const LETTERS_OR_ENCODING = /%[0-9A-F]{2}|[A-Z]+/g

function normalizeSegment(segment: string, foldCase: boolean): string {
  const spelled = segment.replace(SPECIAL, respell)
  if (!foldCase) return spelled
  return spelled.replace(LETTERS_OR_ENCODING, (part) =>
    part.startsWith('%') ? part : part.toLowerCase(),
  )
}

/**
 * Encodings of unreserved characters are decoded, the others get upper-case digits. A `%` that begins no
 * encoding becomes `%25`: if it stayed, what follows could become an encoding by being decoded.
 */
function respell(part: string): string {
  if (part.length === 3 && part.startsWith('%')) {
    const character = String.fromCharCode(Number.parseInt(part.slice(1), 16))
    return UNRESERVED.test(character) ? character : part.toUpperCase()
  }
  return encodeURIComponent(part.toWellFormed())
}

function withoutFragment(path: string): string {
  const hash = path.indexOf('#')
  return hash < 0 ? path : path.slice(0, hash)
}
