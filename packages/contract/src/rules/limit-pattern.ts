/** The one-line form of a limit as regular expressions, for the schema: what the grammar reads, it matches. */

/** `1000`, `1_000`, `20k`, `1.5M`. */
export const AMOUNT_PATTERN = '[0-9][0-9_]{0,31}(?:|k|M|\\.[0-9]{1,3}k|\\.[0-9]{1,6}M)'

/** `30s`, `5m`; a bare unit is one of it. */
export const DURATION_PATTERN = '(?:[0-9][0-9_]{0,15})?(?:ms|s|m|min|h|d|w)'

const MODIFIER = `sliding|exact|fixed|burst\\s+${AMOUNT_PATTERN}|(?:smooth|queue)(?:\\s+${AMOUNT_PATTERN})?`
const RATE = `${AMOUNT_PATTERN}(?:/(?:s|m|min|h|d|w)|\\s+per\\s+${DURATION_PATTERN})`
const CALENDAR = `${AMOUNT_PATTERN}\\s+per\\s+calendar\\s+(?:day|week|month)(?:\\s+in\\s+\\S+)?`
const CONCURRENT = `${AMOUNT_PATTERN}\\s+concurrent\\s+for\\s+${DURATION_PATTERN}`

export const LIMIT_PATTERN = `^\\s*(?:${RATE}(?:\\s+(?:${MODIFIER}))?|${CALENDAR}|${CONCURRENT})\\s*$`
