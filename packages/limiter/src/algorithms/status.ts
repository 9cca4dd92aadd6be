/** What a limit answers to a request. */
export const YES = 0
export const NOT_NOW = 1
export const NEVER = 2
/** A calendar window whose boundaries do not cover `now`: nothing was decided, ask again with others. */
export const OTHER_BOUNDS = 3
/** The store could not be asked, and the rule lets through, or refuses, what it cannot count. */
export const UNCOUNTED = 4
export const SHUT = 5
