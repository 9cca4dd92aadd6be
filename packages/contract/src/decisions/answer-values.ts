/** How names and times of the library are written in answers. */

/** `resetAtMs` is `reset_at`, and `windowSeconds` is `window_seconds`. */
export type AnswerName<Name extends string> = SnakeCase<
  Name extends `${infer Stem}Ms` ? Stem : Name
>

type SnakeCase<Name extends string> = Name extends `${infer First}${infer Rest}`
  ? `${First extends Lowercase<First> ? First : `_${Lowercase<First>}`}${SnakeCase<Rest>}`
  : Name

/** ISO 8601 with milliseconds. */
export const isoTime = (ms: number): string => new Date(ms).toISOString()
export const timeOrNull = (ms: number | null) => (ms === null ? null : isoTime(ms))
export const secondsOrNull = (ms: number | null) => (ms === null ? null : ms / 1000)
