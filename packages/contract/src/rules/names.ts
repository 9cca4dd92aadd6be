/** The patterns of names, for schemas: as texts, since JSON Schema has them so. */
export const NAME_PATTERN = '[A-Za-z0-9][A-Za-z0-9_.-]{0,99}'
export const TIER_PATTERN = '[A-Za-z0-9][A-Za-z0-9_.-]{0,63}'
export const SCOPE_PATTERN = '[a-z][a-z0-9_]{0,31}'
export const METHOD_PATTERN = '[A-Za-z][A-Za-z-]{0,31}'

export const whole = (pattern: string): string => `^(?:${pattern})$`
