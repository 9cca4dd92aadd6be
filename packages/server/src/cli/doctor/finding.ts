/** One line of `sluice doctor`: how it is with one thing, and what to do about it. */
export interface Finding {
  readonly level: 'ok' | 'warn' | 'FAIL'
  readonly what: string
  readonly fix?: string
}

export const ok = (what: string): Finding => ({ level: 'ok', what })
export const warn = (what: string, fix?: string): Finding =>
  fix === undefined ? { level: 'warn', what } : { level: 'warn', what, fix }
export const fail = (what: string, fix: string): Finding => ({ level: 'FAIL', what, fix })

/** `8,112 rules`, `1 rule` */
export function countOf(number: number, noun: string): string {
  return number === 1 ? `1 ${noun}` : `${number.toLocaleString('en-US')} ${noun}s`
}
