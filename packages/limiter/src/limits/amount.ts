/** Whole numbers as people write them: `1000`, `1_000`, `20k`, `1.5M`. */

const MOST = 1_000_000_000

/** The number, or undefined where the text is none, or not a whole one. */
export function parseAmount(text: string): number | undefined {
  const match = /^([0-9][0-9_]{0,31})(?:\.([0-9]{1,6}))?([kM])?$/.exec(text)
  if (match === null) return undefined
  const zeros = match[3] === 'M' ? 6 : match[3] === 'k' ? 3 : 0
  const fraction = match[2] ?? ''
  if (fraction.length > zeros) return undefined
  return Number(match[1]!.replaceAll('_', '') + fraction.padEnd(zeros, '0'))
}

export function isAmount(n: unknown): n is number {
  return typeof n === 'number' && Number.isInteger(n) && n >= 1 && n <= MOST
}

export const AMOUNT_RANGE = 'a whole number from 1 to 1_000_000_000'
