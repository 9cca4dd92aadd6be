/** The text of a template: what never changes, and places for the numbers of a decision. */
import type { Slot } from '@sluice/contract'
import type { Answer } from '@sluice/limiter/transport'
import type { BytesOut } from './bytes-out.js'

const TIME = '2000-01-01T00:00:00.000Z'

/** A number that is written over spaces. */
export interface NumberPlace {
  readonly kind: Slot
  /** Where in the text. */
  readonly at: number
  /** What a full counter of the limit holds, and the digits of that: no number of a plain yes is larger. */
  readonly burst: number
  readonly width: number
  /** The limit's number in the answer. */
  readonly limit: number
}

/** A text with places for numbers. */
export class TemplateText {
  text = ''
  readonly places: NumberPlace[] = []

  add(text: string): number {
    const at = this.text.length
    this.text += text
    return at
  }

  /** Room for a number of a limit that holds `burst`; `limit` is its number in the answer. */
  addPlace(kind: Slot, burst: number, limit: number): void {
    const { text, skipped, width } = blankOf(kind, burst)
    const at = this.add(text) + skipped
    this.places.push({ kind, at, burst, width, limit })
  }
}

/** The text that a number is written over, how much of it comes before, and the width. */
function blankOf(kind: Slot, burst: number): { text: string; skipped: number; width: number } {
  switch (kind) {
    case 'reset_at':
      return { text: `"${TIME}"`, skipped: 1, width: TIME.length }
    case 'used':
    case 'remaining': {
      const width = String(burst).length
      return { text: ' '.repeat(width), skipped: 0, width }
    }
  }
}

/** Writes a decision's numbers over their places in a text that begins at `start`. */
export function writeNumbers(
  out: BytesOut,
  start: number,
  places: readonly NumberPlace[],
  answer: Answer,
): void {
  for (let i = 0; i < places.length; i++) {
    const { kind, at, width, burst, limit } = places[i]!
    switch (kind) {
      case 'reset_at':
        out.time(start + at, Math.ceil(answer.resetAt(limit) / 1000))
        break
      case 'used':
        out.digits(start + at, width, burst - answer.difference(limit))
        break
      case 'remaining':
        out.digits(start + at, width, answer.difference(limit))
        break
      default:
        kind satisfies never
    }
  }
}
