/** The patterns of names, for schemas: as texts, since JSON Schema has them so. */
import { LABEL_KEY, METHOD, NAME, SCOPE, TIER } from '@sluice/limiter/transport'

/** Without the marks of beginning and end. */
const within = ({ source }: RegExp): string => source.slice(1, -1)

/** Of a rule, with its tier. */
export const NAME_PATTERN = within(NAME)
export const TIER_PATTERN = within(TIER)
export const SCOPE_PATTERN = within(SCOPE)
export const METHOD_PATTERN = within(METHOD)
export const LABEL_PATTERN = within(LABEL_KEY)

export const whole = (pattern: string): string => `^(?:${pattern})$`
